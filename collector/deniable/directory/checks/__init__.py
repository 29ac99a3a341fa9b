"""Checks of a collector: its directory, machine, store and surveys, and what to do."""
