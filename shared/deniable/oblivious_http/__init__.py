"""Oblivious HTTP: messages that a relay forwards and that only a gateway can open.

RFC 9458 in its mandatory form: HPKE base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM,
over known-length binary messages (RFC 9292). It knows nothing about surveys.
"""

from deniable.oblivious_http.binary_http import (
    BinaryRequest as BinaryRequest,
    BinaryResponse as BinaryResponse,
    ObliviousHttpError as ObliviousHttpError,
)
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM as KEY_PROBLEM,
    KEYS_TYPE as KEYS_TYPE,
    REQUEST_OVERHEAD_BYTES as REQUEST_OVERHEAD_BYTES,
    REQUEST_TYPE as REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES as RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE as RESPONSE_TYPE,
    KeyConfiguration as KeyConfiguration,
    PrivateKey as PrivateKey,
    ResponseOpener as ResponseOpener,
    seal_request as seal_request,
)
