"""Verifier keys: whose signature stands under a note (C2SP signed-note, "Verifier keys").

Ed25519 alone, under the two algorithm numbers that a log and its cosigners have. The larger
ML-DSA-44 is left out: the standard library and what devices depend on have none, and a note with
such signatures beside ours is read all the same, since signatures of unknown keys are ignored.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from deniable.messages.ed25519 import check_public_key
from deniable.messages.refusals import Refusal
from deniable.transparency_log.errors import TransparencyLogError

LOG: Final = 1
"""The algorithm of a log's own signatures."""

COSIGNER: Final = 4
"""The algorithm of cosignatures with a time, which witnesses make."""

KEY_ID_BYTES: Final = 4
_NAME: Final = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public key of a log or cosigner, with its name and algorithm."""

    name: str
    algorithm: int
    public_key: bytes

    def __post_init__(self) -> None:
        check_key_name(self.name)
        if self.algorithm not in {LOG, COSIGNER}:
            raise TransparencyLogError(
                f"a key's algorithm is {LOG} (a log's) or {COSIGNER} (a cosigner's Ed25519)"
            )
        try:
            check_public_key(self.public_key)
        except Refusal as refusal:
            raise TransparencyLogError(f"the key of {self.name} is no Ed25519 key") from refusal

    @property
    def key_id(self) -> bytes:
        """The four bytes that a signature line has, beside the name, to tell whose it is."""
        named = f"{self.name}\n".encode() + self._typed_key
        return sha256(named).digest()[:KEY_ID_BYTES]

    @property
    def _typed_key(self) -> bytes:
        return bytes((self.algorithm,)) + self.public_key

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(self._typed_key).decode()}"

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read ``name+id+key``, the id in hexadecimal digits, the key in Base64.

        Raises:
            TransparencyLogError: if it has another form, or the id is not that of name and key.
        """
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        typed = decode_base64(encoded)
        key = cls(name, typed[0], typed[1:])
        if key.key_id.hex() != key_id:
            raise TransparencyLogError(f"the verifier key of {name} has the id of another key")
        return key


def check_key_name(name: str) -> None:
    """Check that a note's signature line can have this name."""
    if not _NAME.fullmatch(name):
        raise TransparencyLogError(
            "a key's name is a text without spaces, + and control characters"
        )


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text in the one Base64 form that encodes them.

    Raises:
        TransparencyLogError: for any other form, or none at all.
    """
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded or base64.b64encode(decoded).decode() != text:
        raise TransparencyLogError("must be in canonical Base64")
    return decoded
