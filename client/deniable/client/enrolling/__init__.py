"""Asking an issuer to vouch for this device, before there is an answer."""
