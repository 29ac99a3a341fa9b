"""The audit of a public log: its whole history, its changes, and whether anybody was deceived.

The checks are pure (``history``, ``checks``): bytes, keys and a time in, findings out. Only
``visiting`` uses files and sockets.
"""
