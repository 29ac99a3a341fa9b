"""Publishing: survey files, the next manifest of a name, and how devices treat it.

These rules need no command line; ``deniable.cli`` calls them and prints. A survey that cannot be
published is an InvalidManifest, which names the invalid field.
"""
