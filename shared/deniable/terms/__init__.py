"""The terms of a survey: facts, sentences about them, and plain text; loaded when asked for."""
