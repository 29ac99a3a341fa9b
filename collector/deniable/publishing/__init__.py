"""Publishing: survey files, what is published next under a name, and what devices make of it.

These rules need no command line; ``deniable.cli`` calls them and prints.
"""
