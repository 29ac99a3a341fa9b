"""Counterparts of a device: its authority, collector and issuer, and its public log.

Authorities and logs sign; collectors and issuers use bodies; those of tests have a server.
"""
