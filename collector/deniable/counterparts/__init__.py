"""Counterparts of a device: its authority, collector, gateway and issuer, and its log's witnesses.

Authorities, logs and witnesses sign; collectors and issuers use bodies; gateways open requests.
"""
