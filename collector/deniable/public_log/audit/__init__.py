"""Auditing a public log: its history whole, what changed, and whether anybody was deceived.

What is checked is pure (``entries``, ``checks``): bytes, keys and a time in, findings out. Files
and sockets are at the rim (``visiting``).
"""
