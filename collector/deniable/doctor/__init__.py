"""Checks of an existing collector: settings, files, machine, store, surveys and server.

``deniable doctor`` shows what they find; ``deniable serve`` warns when it starts.
"""
