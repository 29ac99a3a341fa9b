"""Key configurations: under which public key a gateway opens requests (RFC 9458, section 3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from deniable.oblivious_http.errors import ObliviousHttpError
from deniable.oblivious_http.hpke import AEAD_ID, KDF_ID, KEM_ID, KEY_BYTES

KEYS_TYPE: Final = "application/ohttp-keys"
"""The media type of a list of configurations."""

MAX_LIST_BYTES: Final = 4_096

_SUITE: Final = KDF_ID.to_bytes(2, "big") + AEAD_ID.to_bytes(2, "big")
_LENGTH_BYTES: Final = 2
_LEAST_BYTES: Final = 3 + 1 + _LENGTH_BYTES + len(_SUITE)  # whatever its KEM's keys are


class OtherAlgorithms(ObliviousHttpError):
    """A key configuration is another client's."""


@dataclass(frozen=True, slots=True)
class KeyConfiguration:
    """A gateway's X25519 public key of 32 bytes, and its identifier in 0 to 255."""

    key_id: int
    public_key: bytes

    def __post_init__(self) -> None:
        if type(self.key_id) is not int or not 0 <= self.key_id <= 255:
            raise ObliviousHttpError("a key's identifier is a byte")
        if len(self.public_key) != KEY_BYTES:
            raise ObliviousHttpError(f"a public key has {KEY_BYTES} bytes")

    def encode(self) -> bytes:
        """Return the bytes of RFC 9458, section 3.1, with HKDF-SHA256 and AES-128-GCM alone."""
        head = bytes((self.key_id,)) + KEM_ID.to_bytes(2, "big") + self.public_key
        return head + len(_SUITE).to_bytes(_LENGTH_BYTES, "big") + _SUITE

    @classmethod
    def decode(cls, encoded: bytes) -> "KeyConfiguration":
        """Read one configuration, which may name other symmetric algorithms beside ours.

        Raises:
            OtherAlgorithms: for another KEM, or without our symmetric algorithms.
            ObliviousHttpError: if it has another form.
        """
        start = 3 + KEY_BYTES
        suites = encoded[start + _LENGTH_BYTES :]
        if len(encoded) < _LEAST_BYTES:
            raise ObliviousHttpError("a key configuration that is cut off")
        if encoded[1:3] != KEM_ID.to_bytes(2, "big"):
            raise OtherAlgorithms("a key configuration without X25519 and HKDF-SHA256")
        if (
            not suites
            or encoded[start : start + _LENGTH_BYTES] != len(suites).to_bytes(_LENGTH_BYTES, "big")
            or len(suites) % len(_SUITE)
        ):
            raise ObliviousHttpError("a key configuration of another length than it says")
        if _SUITE not in (suites[at : at + 4] for at in range(0, len(suites), len(_SUITE))):
            raise OtherAlgorithms("a key configuration without HKDF-SHA256 and AES-128-GCM")
        return cls(encoded[0], encoded[3:start])


def encode_list(configurations: Iterable[KeyConfiguration]) -> bytes:
    """Return ``application/ohttp-keys``: each configuration behind its length (section 3.2)."""
    encoded = [configuration.encode() for configuration in configurations]
    return b"".join(len(one).to_bytes(_LENGTH_BYTES, "big") + one for one in encoded)


def decode_list(encoded: bytes) -> tuple[KeyConfiguration, ...]:
    """Read the configurations of a list in order, leaving out those of other algorithms.

    One that has another form makes all of them useless (section 3.2): what a client recovers of
    such a list could tell it from others.

    Raises:
        ObliviousHttpError: for that, and if it is cut off, longer than 4 KiB, or has none that can
            be used.
    """
    if len(encoded) > MAX_LIST_BYTES:
        raise ObliviousHttpError("too many key configurations")
    configurations = []
    while encoded:
        length = int.from_bytes(encoded[:_LENGTH_BYTES], "big")
        one, rest = encoded[_LENGTH_BYTES:][:length], encoded[_LENGTH_BYTES + length :]
        if len(encoded) < _LENGTH_BYTES + length:
            raise ObliviousHttpError("a list of key configurations that is cut off")
        encoded = rest
        try:
            configurations.append(KeyConfiguration.decode(one))
        except OtherAlgorithms:
            continue  # of another algorithm: another client's
    if not configurations:
        raise ObliviousHttpError("no key configuration that can be used")
    return tuple(configurations)
