"""Encapsulation: requests that only a gateway opens, answers that only their client opens.

RFC 9458, sections 4.3 and 4.4. Each request has an ephemeral key of its own, so that two of the
same message share nothing.
"""

import os
from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniable.oblivious_http.errors import ObliviousHttpError
from deniable.oblivious_http.hpke import (
    AEAD_ID,
    AEAD_KEY_BYTES,
    AEAD_NONCE_BYTES,
    AEAD_TAG_BYTES,
    KDF_ID,
    KEM_ID,
    KEY_BYTES,
    PrivateKey,
    Receiver,
    Sender,
    expand,
    extract,
    open_sealed,
)
from deniable.oblivious_http.key_configuration import KeyConfiguration

REQUEST_TYPE: Final = "message/ohttp-req"
"""The media type of an encapsulated request."""
RESPONSE_TYPE: Final = "message/ohttp-res"
"""The media type of an encapsulated answer."""
KEY_PROBLEM: Final = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""The type of the problem that a gateway cannot open a request (RFC 9458, section 5.3)."""

_ALGORITHMS: Final = b"".join(number.to_bytes(2, "big") for number in (KEM_ID, KDF_ID, AEAD_ID))
_HEADER_BYTES: Final = 1 + len(_ALGORITHMS)
_REQUEST_LABEL: Final = b"message/bhttp request\0"
_RESPONSE_LABEL: Final = b"message/bhttp response"
_RESPONSE_NONCE_BYTES: Final = max(AEAD_KEY_BYTES, AEAD_NONCE_BYTES)

REQUEST_OVERHEAD_BYTES: Final = _HEADER_BYTES + KEY_BYTES + AEAD_TAG_BYTES
"""How much longer an encapsulated request is than the binary message in it."""
RESPONSE_OVERHEAD_BYTES: Final = _RESPONSE_NONCE_BYTES + AEAD_TAG_BYTES
"""The same of an answer."""


class _Exchange:
    """The secrets of one request, from which its response's keys are derived (section 4.4)."""

    __slots__ = ("_encapsulated", "_secret")

    def __init__(self, context: Sender | Receiver, encapsulated: bytes) -> None:
        self._secret = context.export(_RESPONSE_LABEL, _RESPONSE_NONCE_BYTES)
        self._encapsulated = encapsulated

    def _keys(self, response_nonce: bytes) -> tuple[AESGCM, bytes]:
        key = extract(self._encapsulated + response_nonce, self._secret)
        return AESGCM(expand(key, b"key", AEAD_KEY_BYTES)), expand(key, b"nonce", AEAD_NONCE_BYTES)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<secret>)"

    def __reduce__(self) -> str:
        raise TypeError("a request's secrets are not pickled")


class ResponseOpener(_Exchange):
    """A client that sealed a request, and opens its response."""

    __slots__ = ()

    def open(self, encapsulated: bytes) -> bytes:
        """Return the binary response.

        Raises:
            ObliviousHttpError: if the gateway did not seal these bytes for this request.
        """
        nonce, sealed = encapsulated[:_RESPONSE_NONCE_BYTES], encapsulated[_RESPONSE_NONCE_BYTES:]
        aead, aead_nonce = self._keys(nonce)
        return open_sealed(aead, aead_nonce, sealed)


class ResponseSealer(_Exchange):
    """A gateway that opened a request, and seals its response."""

    __slots__ = ()

    def seal(self, response: bytes, *, nonce: bytes | None = None) -> bytes:
        """Return the encapsulated response, of 32 bytes more; the nonce is random, but in tests."""
        nonce = os.urandom(_RESPONSE_NONCE_BYTES) if nonce is None else nonce
        aead, aead_nonce = self._keys(nonce)
        return nonce + aead.encrypt(aead_nonce, response, None)


def seal_request(
    configuration: KeyConfiguration, request: bytes, *, ephemeral: PrivateKey | None = None
) -> tuple[bytes, ResponseOpener]:
    """Return the encapsulated request, of 55 bytes more, and who opens its response.

    The ephemeral key is a new one for each call, but in tests.
    """
    header = bytes((configuration.key_id,)) + _ALGORITHMS
    ephemeral = PrivateKey.generate() if ephemeral is None else ephemeral
    sender = Sender(configuration.public_key, _REQUEST_LABEL + header, ephemeral)
    sealed = header + sender.encapsulated + sender.seal(request)
    return sealed, ResponseOpener(sender, sender.encapsulated)


def open_request(
    keys: Mapping[int, PrivateKey], encapsulated: bytes
) -> tuple[bytes, ResponseSealer]:
    """Return the binary request, and who seals its response.

    Args:
        keys: The private keys by their identifiers.
        encapsulated: What the relay passed on.

    Raises:
        ObliviousHttpError: if it is no encapsulated request, is for another key or other
            algorithms, or was altered.
    """
    header = encapsulated[:_HEADER_BYTES]
    enc = encapsulated[_HEADER_BYTES : _HEADER_BYTES + KEY_BYTES]
    if len(encapsulated) < REQUEST_OVERHEAD_BYTES or header[1:] != _ALGORITHMS:
        raise ObliviousHttpError("not an encapsulated request with these algorithms")
    key = keys.get(header[0])
    if key is None:
        raise ObliviousHttpError("sealed for a key that is not here")
    receiver = Receiver(key, enc, _REQUEST_LABEL + header)
    request = receiver.open(encapsulated[_HEADER_BYTES + KEY_BYTES :])
    return request, ResponseSealer(receiver, enc)
