"""The surveys that this device follows, its decisions, and what it may still spend."""
