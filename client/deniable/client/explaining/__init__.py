"""The texts for the user: what may be asked, on what terms, and all that was stored and sent."""
