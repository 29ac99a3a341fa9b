"""Oblivious HTTP: messages that a relay passes on, and that a gateway alone can open.

RFC 9458 in its mandatory form: HPKE base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM,
over known-length binary messages (RFC 9292). It knows nothing of surveys.
"""

from deniable.oblivious_http.binary_http import BinaryRequest, BinaryResponse, ObliviousHttpError
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM,
    KEYS_TYPE,
    REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
    KeyConfiguration,
    ResponseOpener,
    ResponseSealer,
    open_request,
    seal_request,
)
from deniable.oblivious_http.hpke import PrivateKey

__all__ = [
    "KEYS_TYPE",
    "KEY_PROBLEM",
    "REQUEST_OVERHEAD_BYTES",
    "REQUEST_TYPE",
    "RESPONSE_OVERHEAD_BYTES",
    "RESPONSE_TYPE",
    "BinaryRequest",
    "BinaryResponse",
    "KeyConfiguration",
    "ObliviousHttpError",
    "PrivateKey",
    "ResponseOpener",
    "ResponseSealer",
    "open_request",
    "seal_request",
]
