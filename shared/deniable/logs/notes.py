"""Notes: signed texts (C2SP signed-note), their keys, and their signature lines.

Keys are Ed25519 only, under the algorithm numbers of logs and of cosigners. The larger ML-DSA-44 is
omitted: older versions of cryptography, which devices accept, lack it. A note that also has such
signatures can still be read, since signatures by unknown keys are ignored.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from deniable.messages.ed25519 import check_public_key
from deniable.messages.refusals import Refusal

LOG: Final = 1
"""The algorithm of a log's own signatures."""

COSIGNER: Final = 4
"""The algorithm of witnesses' cosignatures, which include a time."""

KEY_ID_BYTES: Final = 4
_NAME: Final = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")
_MARK: Final = "— "
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")  # and newlines, which end lines


def printable(text: str) -> str:
    """Return untrusted text in printable form: in one line, without hidden characters."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in text)


class TransparencyLogError(ValueError):
    """A text that is not from a log, or an invalid proof; the message is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))  # names in it may contain terminal control characters


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
                f"a key's algorithm must be {LOG} for a log or {COSIGNER} for a cosigner"
            )
        try:
            check_public_key(self.public_key)
        except Refusal as refusal:
            raise TransparencyLogError(f"the key of {self.name} is not an Ed25519 key") from refusal

    @property
    def key_id(self) -> bytes:
        """The four bytes that identify a signature line's key, together with its name."""
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
            TransparencyLogError: for the wrong form, or an id that does not match name and key.
        """
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        typed = decode_base64(encoded)
        key = cls(name, typed[0], typed[1:])
        if key.key_id.hex() != key_id:
            raise TransparencyLogError(
                f"the verifier key of {name} contains the id of a different key"
            )
        return key


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """A signature line of a note: a key's name and id, and the signature, not yet verified."""

    name: str
    key_id: bytes
    signature: bytes

    @classmethod
    def parse(cls, line: str) -> "NoteSignature":
        """Read a line, with or without its newline."""
        name, _, encoded = line.removesuffix("\n").removeprefix(_MARK).partition(" ")
        if not line.startswith(_MARK):
            raise TransparencyLogError("a signature line must begin with an em dash and a space")
        check_key_name(name)
        signed = decode_base64(encoded)
        if len(signed) <= KEY_ID_BYTES:
            raise TransparencyLogError(f"the signature of {name} is cut off")
        return cls(name, signed[:KEY_ID_BYTES], signed[KEY_ID_BYTES:])

    @property
    def line(self) -> str:
        """The line, with its newline."""
        encoded = base64.b64encode(self.key_id + self.signature).decode()
        return f"{_MARK}{self.name} {encoded}\n"

    def is_of(self, key: VerifierKey) -> bool:
        """Return whether the line claims to be this key's signature, which must then verify."""
        return self.name == key.name and self.key_id == key.key_id


def note_text(text: str | bytes, max_bytes: int) -> str:
    """Return a valid text of a note: UTF-8 of limited length, no controls except newlines."""
    try:
        encoded = text.encode() if isinstance(text, str) else text
        if len(encoded) > max_bytes:
            raise TransparencyLogError(f"must not be longer than {max_bytes} bytes")
        text = encoded.decode()
    except UnicodeError as error:
        raise TransparencyLogError("must be UTF-8") from error
    if _CONTROL.search(text):
        raise TransparencyLogError("must not contain control characters")
    return text


def check_key_name(name: str) -> None:
    """Check that a note's signature line can have this name."""
    if not _NAME.fullmatch(name):
        raise TransparencyLogError(
            "a key's name must not contain spaces, plus signs or control characters"
        )


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text in canonical Base64.

    Raises:
        TransparencyLogError: for any other text.
    """
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded or base64.b64encode(decoded).decode() != text:
        raise TransparencyLogError("must be in canonical Base64")
    return decoded
