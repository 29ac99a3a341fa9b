"""Encapsulation: requests that only a gateway can open, and answers that only the client can open.

RFC 9458: the gateway's keys according to section 3, requests and answers to sections 4.3 and 4.4.
Each request has its own ephemeral key, so two with the same message have nothing in common.

HPKE is in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM (RFC 9180).
``cryptography`` has its own, but cannot export from a context, which responses require.
"""

import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniable.oblivious_http.binary_http import ObliviousHttpError

KEM_ID: Final = 0x0020
KDF_ID: Final = 0x0001
AEAD_ID: Final = 0x0001

KEY_BYTES: Final = 32
"""The bytes of a public, private or encapsulated key (Npk, Nsk, Nenc)."""
AEAD_KEY_BYTES: Final = 16
AEAD_NONCE_BYTES: Final = 12
AEAD_TAG_BYTES: Final = 16

_SECRET_BYTES: Final = 32
_VERSION: Final = b"HPKE-v1"
_KEM_SUITE: Final = b"KEM" + KEM_ID.to_bytes(2, "big")
_SUITE: Final = b"HPKE" + b"".join(
    number.to_bytes(2, "big") for number in (KEM_ID, KDF_ID, AEAD_ID)
)
_BASE_MODE: Final = b"\x00"


class PrivateKey:
    """An X25519 private key, of 32 bytes; ValueError for another number."""

    __slots__ = ("_key", "public_key")

    def __init__(self, private_bytes: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private_bytes)
        self.public_key: Final = self._key.public_key().public_bytes_raw()

    def agree(self, public_key: bytes) -> bytes:
        """Return the 32 bytes shared with another key (RFC 7748, section 6.1).

        Raises:
            ObliviousHttpError: if the bytes are all zeros, as for a key of small order.
        """
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(public_key))
        except ValueError as error:
            raise ObliviousHttpError("key agreement cannot use this public key") from error


class Exchange:
    """The secrets of a request and its response: ``aead`` and ``nonce`` are those of the request.

    It is a session for one message: number 0 of RFC 9180, section 5.2.

    Args:
        agreed: the bytes on which the ephemeral key and the receiver's agree.
        encapsulated: the public half of the ephemeral key.
        public_key: that of the receiver's key.
        info: the purpose of the session.
    """

    __slots__ = ("_encapsulated", "_exporter_secret", "aead", "nonce")

    def __init__(self, agreed: bytes, encapsulated: bytes, public_key: bytes, info: bytes) -> None:
        # RFC 9180, section 4.1: ExtractAndExpand.
        secret = _labeled_extract(_KEM_SUITE, b"", b"eae_prk", agreed)
        keys = encapsulated + public_key
        shared = _labeled_expand(_KEM_SUITE, secret, b"shared_secret", keys, _SECRET_BYTES)
        # Section 5.1: KeySchedule, without a pre-shared key.
        schedule = _schedule_context(info)
        secret = _labeled_extract(_SUITE, shared, b"secret", b"")
        self.aead = AESGCM(_labeled_expand(_SUITE, secret, b"key", schedule, AEAD_KEY_BYTES))
        self.nonce = _labeled_expand(_SUITE, secret, b"base_nonce", schedule, AEAD_NONCE_BYTES)
        self._exporter_secret = _labeled_expand(_SUITE, secret, b"exp", schedule, _SECRET_BYTES)
        self._encapsulated = encapsulated

    def export(self, context: bytes, length: int) -> bytes:
        """Return a secret of at most 32 bytes for a purpose (RFC 9180, section 5.3)."""
        return _labeled_expand(_SUITE, self._exporter_secret, b"sec", context, length)

    def _response_keys(self, response_nonce: bytes) -> tuple[AESGCM, bytes]:
        # RFC 9458, section 4.4.
        secret = self.export(_RESPONSE_LABEL, RESPONSE_NONCE_BYTES)
        key = extract(self._encapsulated + response_nonce, secret)
        return AESGCM(expand(key, b"key", AEAD_KEY_BYTES)), expand(key, b"nonce", AEAD_NONCE_BYTES)


def open_sealed(aead: AESGCM, nonce: bytes, sealed: bytes) -> bytes:
    """Return the sealed message; ObliviousHttpError if the bytes are invalid."""
    try:
        return aead.decrypt(nonce, sealed, None)
    except (InvalidTag, ValueError) as error:
        raise ObliviousHttpError(
            "the message was not sealed for this key, or was altered afterwards"
        ) from error


def extract(salt: bytes, secret: bytes) -> bytes:
    """Return HKDF-Extract of RFC 5869, which is HMAC-SHA256."""
    return hmac.digest(salt, secret, "sha256")


def expand(key: bytes, info: bytes, length: int) -> bytes:
    """Return HKDF-Expand of RFC 5869 for one block: at most 32 bytes."""
    assert length <= _SECRET_BYTES
    return extract(key, info + b"\x01")[:length]


def _labeled_extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    # RFC 9180, section 4, as for the next function.
    return extract(salt, _VERSION + suite + label + secret)


def _labeled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return expand(key, length.to_bytes(2, "big") + _VERSION + suite + label + info, length)


@lru_cache(maxsize=8)
def _schedule_context(info: bytes) -> bytes:
    """Return key_schedule_context of RFC 9180, section 5.1: it is the same for every request."""
    psk_id_hash = _labeled_extract(_SUITE, b"", b"psk_id_hash", b"")
    return _BASE_MODE + psk_id_hash + _labeled_extract(_SUITE, b"", b"info_hash", info)


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


class ResponseOpener(Exchange):
    """A client that sealed a request, and opens its response."""

    __slots__ = ()

    def open(self, encapsulated: bytes) -> bytes:
        """Return the binary response.

        Raises:
            ObliviousHttpError: if the gateway did not seal these bytes for this request.
        """
        nonce, sealed = encapsulated[:RESPONSE_NONCE_BYTES], encapsulated[RESPONSE_NONCE_BYTES:]
        aead, aead_nonce = self._response_keys(nonce)
        return open_sealed(aead, aead_nonce, sealed)


def seal_request(
    configuration: KeyConfiguration, request: bytes, *, ephemeral: PrivateKey | None = None
) -> tuple[bytes, ResponseOpener]:
    """Return the encapsulated request, which is 55 bytes longer, and the client for its response.

    The ephemeral key is new for each call, except in tests.
    """
    header = bytes((configuration.key_id,)) + ALGORITHMS
    ephemeral = PrivateKey(os.urandom(KEY_BYTES)) if ephemeral is None else ephemeral
    encapsulated, public_key = ephemeral.public_key, configuration.public_key
    agreed = ephemeral.agree(public_key)
    opener = ResponseOpener(agreed, encapsulated, public_key, REQUEST_LABEL + header)
    return header + encapsulated + opener.aead.encrypt(opener.nonce, request, None), opener
