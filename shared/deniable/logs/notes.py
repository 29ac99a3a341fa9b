"""Notes: signed texts (C2SP signed-note), their keys and signature lines; and checkpoints.

Keys are Ed25519 only, under the algorithm numbers of logs and of cosigners. The larger ML-DSA-44 is
omitted: older versions of cryptography, which devices accept, lack it. A note that also has such
signatures can still be read, since signatures by unknown keys are ignored.

A checkpoint is the state of a log at one time, signed and cosigned: a note (C2SP tlog-checkpoint)
with a body, an empty line, and signatures. A signature that has the name and id of a known key and
is invalid invalidates the whole note. Reading is strict: ``text`` returns what ``parse`` read.
"""

import base64
import binascii
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from deniable.messages.ed25519 import SIGNATURE_BYTES, check_public_key, verify
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
    """Return the bytes of a text in canonical Base64; TransparencyLogError for any other text."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded or base64.b64encode(decoded).decode() != text:
        raise TransparencyLogError("must be in canonical Base64")
    return decoded


HASH_BYTES: Final = 32
"""The length of a hash (SHA-256)."""

MAX_CHECKPOINT_BYTES: Final = 131_072
"""More than the size of sixteen of the largest foreign signatures, which must be accepted."""

MAX_SIGNATURES: Final = 100
"""The most signature lines of a note."""

BEYOND: Final = 2**63  # upper limit of sizes and times
TIME_BYTES: Final = 8
_DECIMAL: Final = re.compile("0|[1-9][0-9]{0,18}")
_LINE: Final = re.compile(r"[^\x00-\x1f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A log's name, the number of its entries and the root of their tree."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()
    """Further lines that a log may sign, which are meaningless here."""

    def __post_init__(self) -> None:
        if not all(map(_LINE.fullmatch, (self.origin, *self.extensions))):
            raise TransparencyLogError(
                "a checkpoint's origin and extra lines must not be empty or contain line breaks"
            )

    @property
    def body(self) -> str:
        """The signed text."""
        root = base64.b64encode(self.root).decode()
        lines = (self.origin, str(self.size), root, *self.extensions)
        return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint with signature lines, which may be false until they are verified."""

    checkpoint: Checkpoint
    signatures: tuple[NoteSignature, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.signatures) <= MAX_SIGNATURES:
            raise TransparencyLogError(f"a checkpoint must have 1 to {MAX_SIGNATURES} signatures")

    @classmethod
    def parse(cls, text: str | bytes) -> "SignedCheckpoint":
        """Read a signed checkpoint.

        Raises:
            TransparencyLogError: if the text has the wrong form, or more than 128 KiB.
        """
        text = note_text(text, MAX_CHECKPOINT_BYTES)
        body, gap, signatures = text.rpartition("\n\n")
        if not gap or not signatures.endswith("\n"):
            raise TransparencyLogError("a checkpoint must be signed and end with a newline")
        origin, *rest = body.split("\n")
        if len(rest) < 2:
            raise TransparencyLogError("a checkpoint must have an origin, a size and a root")
        checkpoint = Checkpoint(origin, read_size(rest[0]), read_hash(rest[1]), tuple(rest[2:]))
        lines = signatures[:-1].split("\n")
        return cls(checkpoint, tuple(map(NoteSignature.parse, lines)))

    @property
    def text(self) -> str:
        """The note."""
        signatures = "".join(signature.line for signature in self.signatures)
        return f"{self.checkpoint.body}\n{signatures}"

    def with_signatures(self, lines: Iterable[str]) -> "SignedCheckpoint":
        """Return the checkpoint with these signature lines, which replace a key's older ones."""
        merged = {(one.name, one.key_id): one for one in self.signatures}
        merged |= {(one.name, one.key_id): one for one in map(NoteSignature.parse, lines)}
        return replace(self, signatures=tuple(merged.values()))

    def verify(self, *log_keys: VerifierKey) -> None:
        """Check that a log signed it with one of these keys, all with the origin's name.

        Raises:
            TransparencyLogError: if no key signed, or a signature is invalid.
        """
        body = self.checkpoint.body.encode()
        signed = False
        for key in log_keys:
            if key.algorithm != LOG or key.name != self.checkpoint.origin:
                raise TransparencyLogError(
                    f"the checkpoint is from {self.checkpoint.origin}, not from the log {key.name}"
                )
            for signature in self._of(key):
                _verify(key, body, signature.signature)
                signed = True
        if not signed:
            raise TransparencyLogError(
                f"the checkpoint is not signed by the log {self.checkpoint.origin}"
            )

    def cosigning_times(self, witnesses: Iterable[VerifierKey]) -> dict[VerifierKey, int]:
        """Return the witnesses that cosigned the checkpoint, each with its latest Unix seconds.

        Raises:
            TransparencyLogError: if a cosignature is invalid.
        """
        times: dict[VerifierKey, int] = {}
        for key in witnesses:
            if key.algorithm != COSIGNER:
                raise TransparencyLogError(f"the key of {key.name} is not a cosigner's key")
            for signature in self._of(key):
                timestamp = int.from_bytes(signature.signature[:TIME_BYTES], "big")
                if timestamp >= BEYOND:
                    raise TransparencyLogError(
                        f"the cosignature by {key.name} has an invalid timestamp"
                    )
                message = cosigned_message(self.checkpoint, timestamp)
                _verify(key, message, signature.signature[TIME_BYTES:])
                times[key] = max(timestamp, times.get(key, 0))
        return times

    def _of(self, key: VerifierKey) -> Collection[NoteSignature]:
        # Duplicate lines cost nothing.
        return {signature for signature in self.signatures if signature.is_of(key)}


def log_origin(collector_origin: str) -> str:
    """Return the name of a collector's log: its address without the scheme."""
    return collector_origin.partition("://")[2] + "/log"


def read_size(text: str) -> int:
    """Return a decimal number below 2^63 without leading zeros."""
    if not _DECIMAL.fullmatch(text) or int(text) >= BEYOND:
        raise TransparencyLogError("a size must be a decimal number below 2^63")
    return int(text)


def read_hash(text: str) -> bytes:
    """Return a hash of 32 bytes in Base64."""
    decoded = decode_base64(text)
    if len(decoded) != HASH_BYTES:
        raise TransparencyLogError(f"a hash must be {HASH_BYTES} bytes long")
    return decoded


def cosigned_message(checkpoint: Checkpoint, timestamp: int) -> bytes:
    """Return the message of a cosignature."""
    return f"cosignature/v1\ntime {timestamp}\n{checkpoint.body}".encode()


def _verify(key: VerifierKey, message: bytes, signature: bytes) -> None:
    if len(signature) != SIGNATURE_BYTES:
        raise TransparencyLogError(f"the signature of {key.name} has the wrong length")
    try:
        verify(key.public_key, b"", message, signature)
    except Refusal as refusal:
        raise TransparencyLogError(f"the signature of {key.name} is invalid") from refusal
