"""Checkpoints: the state of a log at one time, signed and cosigned.

A checkpoint is a note (C2SP tlog-checkpoint): a body, an empty line, and signatures. Signatures by
unknown keys are ignored; one that has the name and id of a known key and is invalid
invalidates the whole note. Reading is strict: ``text`` returns what ``parse`` read.
"""

import base64
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from deniable.logs.notes import (
    COSIGNER,
    LOG,
    NoteSignature,
    TransparencyLogError,
    VerifierKey,
    decode_base64,
    note_text,
)
from deniable.messages.ed25519 import SIGNATURE_BYTES, verify
from deniable.messages.refusals import Refusal

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
        if not 0 <= self.size < BEYOND or len(self.root) != HASH_BYTES:
            raise TransparencyLogError("a checkpoint must state a size below 2^63 and a root hash")

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
        lines = signatures[:-1].split("\n")
        return cls(_read_body(body), tuple(map(NoteSignature.parse, lines)))

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

    def cosigned_by(self, witnesses: Iterable[VerifierKey]) -> frozenset[VerifierKey]:
        """Return the keys of the witnesses that cosigned the checkpoint.

        Raises:
            TransparencyLogError: if a cosignature is invalid.
        """
        return frozenset(self.cosigning_times(witnesses))

    def cosigning_times(self, witnesses: Iterable[VerifierKey]) -> dict[VerifierKey, int]:
        """Return the same cosigners as :meth:`cosigned_by`, with their latest Unix seconds."""
        times: dict[VerifierKey, int] = {}
        for key in witnesses:
            if key.algorithm != COSIGNER:
                raise TransparencyLogError(f"the key of {key.name} is not a cosigner's key")
            for signature in self._of(key):
                timestamp = int.from_bytes(signature.signature[:TIME_BYTES], "big")
                if timestamp >= BEYOND:
                    raise TransparencyLogError(f"the cosignature of {key.name} states no time")
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


def _read_body(body: str) -> Checkpoint:
    origin, *rest = body.split("\n")
    if len(rest) < 2:
        raise TransparencyLogError("a checkpoint must have an origin, a size and a root")
    return Checkpoint(origin, read_size(rest[0]), read_hash(rest[1]), tuple(rest[2:]))


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
