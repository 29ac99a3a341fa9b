"""The rules of what a store keeps, once for all databases (:mod:`deniable.stores.statements`).

Each is done in one transaction; those that change something, in one that writes.
"""
