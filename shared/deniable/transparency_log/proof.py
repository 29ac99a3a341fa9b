"""Proofs that a log has an entry, complete in themselves (C2SP tlog-proof)."""

import base64
from dataclasses import dataclass
from typing import Final

from deniable.transparency_log.checkpoint import (
    MAX_CHECKPOINT_BYTES,
    SignedCheckpoint,
    note_text,
    read_hash,
    read_size,
)
from deniable.transparency_log.errors import TransparencyLogError
from deniable.transparency_log.merkle import MAX_PATH, check_inclusion, leaf_hash
from deniable.transparency_log.verifier_key import decode_base64

_MAX_BYTES: Final = MAX_CHECKPOINT_BYTES + 65_536
"""The most that a proof's text has; ours have about 1 kB."""

_FORM: Final = "c2sp.org/tlog-proof@v1"
_EXTRA: Final = "extra "
_INDEX: Final = "index "


@dataclass(frozen=True, slots=True)
class LogProof:
    """An entry's index, its path to the root, and the checkpoint that has this root."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: SignedCheckpoint
    extra: bytes = b""
    """Data that came along and that nobody signed. We write none and use none."""

    @classmethod
    def parse(cls, text: str | bytes) -> "LogProof":
        """Read a proof; what ``parse`` took, ``text`` returns.

        Raises:
            TransparencyLogError: if it has another form, or more than 192 KiB.
        """
        head, gap, checkpoint = note_text(text, _MAX_BYTES).partition("\n\n")
        form, *lines = head.split("\n")
        if form != _FORM or not gap:
            raise TransparencyLogError(f"a log proof begins with {_FORM}")
        extra = b""
        if lines and lines[0].startswith(_EXTRA):
            extra = decode_base64(lines.pop(0).removeprefix(_EXTRA))
        if not lines or not lines[0].startswith(_INDEX):
            raise TransparencyLogError("a log proof names the entry's index")
        if len(lines) > 1 + MAX_PATH:
            raise TransparencyLogError(f"a log proof has at most {MAX_PATH} hashes")
        index = read_size(lines[0].removeprefix(_INDEX))
        path = tuple(map(read_hash, lines[1:]))
        return cls(index, path, SignedCheckpoint.parse(checkpoint), extra)

    @property
    def text(self) -> str:
        """The proof."""
        extra = (_EXTRA + base64.b64encode(self.extra).decode(),) if self.extra else ()
        hashes = (base64.b64encode(hash_).decode() for hash_ in self.path)
        head = "\n".join((_FORM, *extra, f"{_INDEX}{self.index}", *hashes))
        return f"{head}\n\n{self.checkpoint.text}"

    def check_entry(self, entry: bytes) -> None:
        """Check that the checkpoint's log has the entry; whose the checkpoint is, others check."""
        signed = self.checkpoint.checkpoint
        check_inclusion(leaf_hash(entry), self.index, signed.size, self.path, signed.root)
