"""HPKE in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM (RFC 9180).

``cryptography`` has its own HPKE, but cannot export from a context, which responses require.
"""

import hmac
import os
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
    """An X25519 private key."""

    __slots__ = ("_key", "public_key")

    def __init__(self, private_bytes: bytes) -> None:
        if len(private_bytes) != KEY_BYTES:
            raise ObliviousHttpError(f"a private key must be {KEY_BYTES} bytes long")
        self._key = X25519PrivateKey.from_private_bytes(private_bytes)
        self.public_key: Final = self._key.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> "PrivateKey":
        """Return a new key from the operating system's randomness."""
        return cls(os.urandom(KEY_BYTES))

    def agree(self, public_key: bytes) -> bytes:
        """Return the 32 bytes shared with another key (RFC 7748, section 6.1).

        Raises:
            ObliviousHttpError: if the bytes are all zeros, as for a key of small order.
        """
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(public_key))
        except ValueError as error:
            raise ObliviousHttpError("key agreement cannot use this public key") from error


class Context:
    """One direction of a session, whose messages are numbered from 0 (RFC 9180, section 5.2)."""

    __slots__ = ("_aead", "_base_nonce", "_exporter_secret", "_sequence")

    def __init__(self, shared_secret: bytes, info: bytes) -> None:
        # RFC 9180, section 5.1: KeySchedule, without a pre-shared key.
        schedule = _schedule_context(info)
        secret = _labeled_extract(_SUITE, shared_secret, b"secret", b"")
        key = _labeled_expand(_SUITE, secret, b"key", schedule, AEAD_KEY_BYTES)
        nonce = _labeled_expand(_SUITE, secret, b"base_nonce", schedule, AEAD_NONCE_BYTES)
        self._aead = AESGCM(key)
        self._base_nonce = int.from_bytes(nonce, "big")
        self._exporter_secret = _labeled_expand(_SUITE, secret, b"exp", schedule, _SECRET_BYTES)
        self._sequence = 0

    def export(self, context: bytes, length: int) -> bytes:
        """Return a secret of at most 32 bytes for a purpose (RFC 9180, section 5.3)."""
        return _labeled_expand(_SUITE, self._exporter_secret, b"sec", context, length)

    def _nonce(self) -> bytes:
        return (self._base_nonce ^ self._sequence).to_bytes(AEAD_NONCE_BYTES, "big")


class Sender(Context):
    """The context of the sender to a public key; ``encapsulated`` is sent with its messages."""

    __slots__ = ("encapsulated",)

    def __init__(self, public_key: bytes, info: bytes, ephemeral: PrivateKey) -> None:
        self.encapsulated: Final = ephemeral.public_key
        agreed = ephemeral.agree(public_key)
        super().__init__(derive_shared_secret(agreed, self.encapsulated, public_key), info)

    def seal(self, message: bytes, associated: bytes = b"") -> bytes:
        """Return the next message, sealed: 16 bytes longer."""
        sealed = self._aead.encrypt(self._nonce(), message, associated)
        self._sequence += 1
        return sealed


def open_sealed(aead: AESGCM, nonce: bytes, sealed: bytes, associated: bytes = b"") -> bytes:
    """Return the sealed message; ObliviousHttpError if the bytes are invalid."""
    try:
        return aead.decrypt(nonce, sealed, associated)
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


def derive_shared_secret(agreed: bytes, encapsulated: bytes, public_key: bytes) -> bytes:
    """Return ExtractAndExpand of RFC 9180, section 4.1."""
    key = _labeled_extract(_KEM_SUITE, b"", b"eae_prk", agreed)
    context = encapsulated + public_key
    return _labeled_expand(_KEM_SUITE, key, b"shared_secret", context, _SECRET_BYTES)


@lru_cache(maxsize=8)
def _schedule_context(info: bytes) -> bytes:
    """Return key_schedule_context of RFC 9180, section 5.1: it is the same for every request."""
    psk_id_hash = _labeled_extract(_SUITE, b"", b"psk_id_hash", b"")
    return _BASE_MODE + psk_id_hash + _labeled_extract(_SUITE, b"", b"info_hash", info)
