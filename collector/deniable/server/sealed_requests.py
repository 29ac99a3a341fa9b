"""A gateway's half of Oblivious HTTP: requests opened, and answers sealed (RFC 9458, RFC 9180)."""

import os
import re
from collections.abc import Mapping
from typing import Final

from deniable.oblivious_http import BinaryRequest, ObliviousHttpError, PrivateKey
from deniable.oblivious_http.binary_http import REQUEST, Reader
from deniable.oblivious_http.encapsulation import (
    ALGORITHMS,
    HEADER_BYTES,
    KEY_BYTES,
    REQUEST_LABEL,
    REQUEST_OVERHEAD_BYTES,
    RESPONSE_NONCE_BYTES,
    Exchange,
    open_sealed,
)

_CONTROL: Final = re.compile(rb"[!-~]*")


def decode_request(encoded: bytes) -> BinaryRequest:
    """Read a binary request; ObliviousHttpError if it is invalid."""
    reader = Reader(encoded)
    if reader.integer() != REQUEST:
        raise ObliviousHttpError("this is not a request of known length")
    method, scheme, authority, path = (reader.text(_CONTROL) for _ in range(4))
    if not (method and scheme and path):
        raise ObliviousHttpError("a request must have a method, a scheme and a path")
    return BinaryRequest(method, scheme, authority, path, *reader.sections())


class ResponseSealer(Exchange):
    """A gateway that opened a request, and seals its response."""

    __slots__ = ()

    def seal(self, response: bytes, *, nonce: bytes | None = None) -> bytes:
        """Return the encapsulated response, 32 bytes longer; its nonce is random outside tests."""
        nonce = os.urandom(RESPONSE_NONCE_BYTES) if nonce is None else nonce
        aead, aead_nonce = self._response_keys(nonce)
        return nonce + aead.encrypt(aead_nonce, response, None)


def open_request(
    keys: Mapping[int, PrivateKey], encapsulated: bytes
) -> tuple[bytes, ResponseSealer]:
    """Return the binary request, and the sealer of its response.

    Args:
        keys: The private keys by their identifiers.
        encapsulated: The bytes from the relay.

    Raises:
        ObliviousHttpError: if it is not an encapsulated request, is for a different key or
            different algorithms, or was altered.
    """
    header = encapsulated[:HEADER_BYTES]
    enc = encapsulated[HEADER_BYTES : HEADER_BYTES + KEY_BYTES]
    if len(encapsulated) < REQUEST_OVERHEAD_BYTES or header[1:] != ALGORITHMS:
        raise ObliviousHttpError(
            "this is not an encapsulated request with this gateway's algorithms"
        )
    key = keys.get(header[0])
    if key is None:
        raise ObliviousHttpError("the request is sealed for a key that this gateway does not have")
    sealer = ResponseSealer(key.agree(enc), enc, key.public_key, REQUEST_LABEL + header)
    sealed = encapsulated[HEADER_BYTES + KEY_BYTES :]
    return open_sealed(sealer.aead, sealer.nonce, sealed), sealer
