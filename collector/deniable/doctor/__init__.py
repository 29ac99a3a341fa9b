"""Checks of a collector that is set up: settings, files, machine, store, surveys and server.

``deniable doctor`` shows what they find; ``deniable serve`` warns when it starts.
"""
