"""Encapsulation: requests that only a gateway can open, and answers that only the client can open.

RFC 9458: the gateway's keys according to section 3, requests and answers to sections 4.3 and 4.4.
Each request has its own ephemeral key, so two with the same message have nothing in common.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniable.oblivious_http.binary_http import ObliviousHttpError
from deniable.oblivious_http.hpke import (
    AEAD_ID,
    AEAD_KEY_BYTES,
    AEAD_NONCE_BYTES,
    AEAD_TAG_BYTES,
    KDF_ID,
    KEM_ID,
    KEY_BYTES,
    Context,
    PrivateKey,
    Sender,
    expand,
    extract,
    open_sealed,
)

REQUEST_TYPE: Final = "message/ohttp-req"
"""The media type of an encapsulated request."""
RESPONSE_TYPE: Final = "message/ohttp-res"
"""The media type of an encapsulated answer."""
KEY_PROBLEM: Final = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""The problem type of a gateway that cannot open a request (RFC 9458, section 5.3)."""

ALGORITHMS: Final = b"".join(number.to_bytes(2, "big") for number in (KEM_ID, KDF_ID, AEAD_ID))
HEADER_BYTES: Final = 1 + len(ALGORITHMS)
REQUEST_LABEL: Final = b"message/bhttp request\0"
_RESPONSE_LABEL: Final = b"message/bhttp response"
RESPONSE_NONCE_BYTES: Final = max(AEAD_KEY_BYTES, AEAD_NONCE_BYTES)

REQUEST_OVERHEAD_BYTES: Final = HEADER_BYTES + KEY_BYTES + AEAD_TAG_BYTES
"""The bytes by which an encapsulated request exceeds the binary message in it."""
RESPONSE_OVERHEAD_BYTES: Final = RESPONSE_NONCE_BYTES + AEAD_TAG_BYTES
"""The bytes by which an encapsulated answer exceeds the binary message in it."""

KEYS_TYPE: Final = "application/ohttp-keys"
"""The media type of a list of configurations."""

MAX_LIST_BYTES: Final = 4_096

_SYMMETRIC: Final = KDF_ID.to_bytes(2, "big") + AEAD_ID.to_bytes(2, "big")
_LENGTH_BYTES: Final = 2
_LEAST_BYTES: Final = 3 + 1 + _LENGTH_BYTES + len(_SYMMETRIC)  # whatever the size of its KEM's keys


class OtherAlgorithms(ObliviousHttpError):
    """A key configuration with algorithms for other clients."""


@dataclass(frozen=True, slots=True)
class KeyConfiguration:
    """A gateway's X25519 public key of 32 bytes, and its identifier from 0 to 255."""

    key_id: int
    public_key: bytes

    def __post_init__(self) -> None:
        if type(self.key_id) is not int or not 0 <= self.key_id <= 255:
            raise ObliviousHttpError("a key's identifier must fit in one byte")
        if len(self.public_key) != KEY_BYTES:
            raise ObliviousHttpError(f"a public key must be {KEY_BYTES} bytes long")

    def encode(self) -> bytes:
        """Return the bytes of RFC 9458, section 3.1, with only HKDF-SHA256 and AES-128-GCM."""
        head = bytes((self.key_id,)) + KEM_ID.to_bytes(2, "big") + self.public_key
        return head + len(_SYMMETRIC).to_bytes(_LENGTH_BYTES, "big") + _SYMMETRIC

    @classmethod
    def decode(cls, encoded: bytes) -> "KeyConfiguration":
        """Read one configuration, which may list other symmetric algorithms as well.

        Raises:
            OtherAlgorithms: for a different KEM, or without our symmetric algorithms.
            ObliviousHttpError: if the bytes have the wrong form.
        """
        start = 3 + KEY_BYTES
        suites = encoded[start + _LENGTH_BYTES :]
        if len(encoded) < _LEAST_BYTES:
            raise ObliviousHttpError("a key configuration is cut off")
        if encoded[1:3] != KEM_ID.to_bytes(2, "big"):
            raise OtherAlgorithms("a key configuration does not use X25519 with HKDF-SHA256")
        if (
            not suites
            or encoded[start : start + _LENGTH_BYTES] != len(suites).to_bytes(_LENGTH_BYTES, "big")
            or len(suites) % len(_SYMMETRIC)
        ):
            raise ObliviousHttpError("a key configuration is not as long as it states")
        if _SYMMETRIC not in (suites[at : at + 4] for at in range(0, len(suites), len(_SYMMETRIC))):
            raise OtherAlgorithms("a key configuration does not offer HKDF-SHA256 with AES-128-GCM")
        return cls(encoded[0], encoded[3:start])


def encode_list(configurations: Iterable[KeyConfiguration]) -> bytes:
    """Return ``application/ohttp-keys``: each configuration after its length (section 3.2)."""
    encoded = [configuration.encode() for configuration in configurations]
    return b"".join(len(one).to_bytes(_LENGTH_BYTES, "big") + one for one in encoded)


def decode_list(encoded: bytes) -> tuple[KeyConfiguration, ...]:
    """Read the configurations of a list in order, omitting those with other algorithms.

    One with the wrong form invalidates all of them (section 3.2): the part that a client recovers
    from such a list could distinguish it from others.

    Raises:
        ObliviousHttpError: for that, and if the list is truncated, longer than 4 KiB, or has no
            usable configuration.
    """
    if len(encoded) > MAX_LIST_BYTES:
        raise ObliviousHttpError("too many key configurations")
    configurations = []
    while encoded:
        length = int.from_bytes(encoded[:_LENGTH_BYTES], "big")
        one, rest = encoded[_LENGTH_BYTES:][:length], encoded[_LENGTH_BYTES + length :]
        if len(encoded) < _LENGTH_BYTES + length:
            raise ObliviousHttpError("a list of key configurations is cut off")
        encoded = rest
        try:
            configurations.append(KeyConfiguration.decode(one))
        except OtherAlgorithms:
            continue  # with a different algorithm, for other clients
    if not configurations:
        raise ObliviousHttpError("there is no usable key configuration")
    return tuple(configurations)


class Exchange:
    """The secrets of one request, from which its response's keys are derived (section 4.4)."""

    __slots__ = ("_encapsulated", "_secret")

    def __init__(self, context: Context, encapsulated: bytes) -> None:
        self._secret = context.export(_RESPONSE_LABEL, RESPONSE_NONCE_BYTES)
        self._encapsulated = encapsulated

    def _keys(self, response_nonce: bytes) -> tuple[AESGCM, bytes]:
        key = extract(self._encapsulated + response_nonce, self._secret)
        return AESGCM(expand(key, b"key", AEAD_KEY_BYTES)), expand(key, b"nonce", AEAD_NONCE_BYTES)


class ResponseOpener(Exchange):
    """A client that sealed a request, and opens its response."""

    __slots__ = ()

    def open(self, encapsulated: bytes) -> bytes:
        """Return the binary response.

        Raises:
            ObliviousHttpError: if the gateway did not seal these bytes for this request.
        """
        nonce, sealed = encapsulated[:RESPONSE_NONCE_BYTES], encapsulated[RESPONSE_NONCE_BYTES:]
        aead, aead_nonce = self._keys(nonce)
        return open_sealed(aead, aead_nonce, sealed)


def seal_request(
    configuration: KeyConfiguration, request: bytes, *, ephemeral: PrivateKey | None = None
) -> tuple[bytes, ResponseOpener]:
    """Return the encapsulated request, which is 55 bytes longer, and the client for its response.

    The ephemeral key is new for each call, except in tests.
    """
    header = bytes((configuration.key_id,)) + ALGORITHMS
    ephemeral = PrivateKey.generate() if ephemeral is None else ephemeral
    sender = Sender(configuration.public_key, REQUEST_LABEL + header, ephemeral)
    sealed = header + sender.encapsulated + sender.seal(request)
    return sealed, ResponseOpener(sender, sender.encapsulated)
