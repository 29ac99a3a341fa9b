"""Oblivious HTTP: messages that a relay forwards and that only a gateway can open.

RFC 9458 in its mandatory form: HPKE base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM,
over known-length binary messages (RFC 9292). It knows nothing about surveys.
"""

from deniable.oblivious_http.binary_http import BinaryRequest as BinaryRequest
from deniable.oblivious_http.binary_http import BinaryResponse as BinaryResponse
from deniable.oblivious_http.binary_http import ObliviousHttpError as ObliviousHttpError
from deniable.oblivious_http.encapsulation import KEY_PROBLEM as KEY_PROBLEM
from deniable.oblivious_http.encapsulation import KEYS_TYPE as KEYS_TYPE
from deniable.oblivious_http.encapsulation import REQUEST_OVERHEAD_BYTES as REQUEST_OVERHEAD_BYTES
from deniable.oblivious_http.encapsulation import REQUEST_TYPE as REQUEST_TYPE
from deniable.oblivious_http.encapsulation import RESPONSE_OVERHEAD_BYTES as RESPONSE_OVERHEAD_BYTES
from deniable.oblivious_http.encapsulation import RESPONSE_TYPE as RESPONSE_TYPE
from deniable.oblivious_http.encapsulation import KeyConfiguration as KeyConfiguration
from deniable.oblivious_http.encapsulation import ResponseOpener as ResponseOpener
from deniable.oblivious_http.encapsulation import seal_request as seal_request
from deniable.oblivious_http.hpke import PrivateKey as PrivateKey
