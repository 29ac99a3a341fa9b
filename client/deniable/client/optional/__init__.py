"""Optional parts, each of which is loaded where an app asks for it: see :mod:`..parts`."""
