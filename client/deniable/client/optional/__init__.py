"""Optional parts, each loaded only if an app asks for it: see :mod:`..parts`."""
