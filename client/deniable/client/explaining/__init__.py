"""The texts for the user: possible questions, their terms, and everything stored and sent."""
