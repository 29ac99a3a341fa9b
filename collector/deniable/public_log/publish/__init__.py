"""The public log of a collector: everything that its authority ever signed, in order."""
