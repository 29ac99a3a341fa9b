"""A device's counterparts: what the other parties of the protocol do, beside what devices do.

Authorities, logs and witnesses sign, collectors and issuers read and write bodies, gateways open.
"""
