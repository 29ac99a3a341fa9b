"""Checks of an existing collector: settings, files, machine, store, surveys and server.

``deniable doctor`` shows their findings.
"""
