"""Oblivious HTTP: messages that a relay forwards and that only a gateway can open.

RFC 9458 in its mandatory form: HPKE base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM,
over known-length binary messages (RFC 9292). It knows nothing about surveys.
"""

from deniable.oblivious_http.binary_http import (
    BinaryRequest as BinaryRequest,
    ObliviousHttpError as ObliviousHttpError,
)
from deniable.oblivious_http.encapsulation import (
    KeyConfiguration as KeyConfiguration,
    PrivateKey as PrivateKey,
)
