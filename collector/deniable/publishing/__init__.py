"""Publishing: a collector's directory, its authority's keys, and what surveys are published next.

These rules need no command line; ``deniable.cli`` calls them and prints.
"""
