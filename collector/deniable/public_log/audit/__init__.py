"""The audit of a public log: its whole history, its changes, and whether anybody was deceived.

What is checked is pure (``entries``, ``checks``): bytes, keys and a time in, findings out. Files
and sockets are at the rim (``visiting``).
"""
