"""Proofs that a log has an entry: paths in the Merkle tree of RFC 6962, section 2.1.

A proof is complete in itself (C2SP tlog-proof): index, path, and the checkpoint with the root.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from deniable.logs.notes import (
    MAX_CHECKPOINT_BYTES,
    SignedCheckpoint,
    TransparencyLogError,
    decode_base64,
    note_text,
    read_hash,
    read_size,
)

MAX_PATH: Final = 63
"""The most hashes of a path, since a tree has fewer than 2^63 leaves."""

_MAX_PROOF_BYTES: Final = MAX_CHECKPOINT_BYTES + 65_536
"""The most bytes of a proof's text; typical proofs have about 1 kB."""

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
    """Additional unsigned data. It is never written or used here."""

    @classmethod
    def parse(cls, text: str | bytes) -> "LogProof":
        """Read a proof; ``text`` returns the same text.

        Raises:
            TransparencyLogError: if the text has the wrong form, or more than 192 KiB.
        """
        head, gap, checkpoint = note_text(text, _MAX_PROOF_BYTES).partition("\n\n")
        form, *lines = head.split("\n")
        if form != _FORM or not gap:
            raise TransparencyLogError(f"a log proof must begin with {_FORM}")
        extra = b""
        if lines and lines[0].startswith(_EXTRA):
            extra = decode_base64(lines.pop(0).removeprefix(_EXTRA))
        if not lines or not lines[0].startswith(_INDEX):
            raise TransparencyLogError("a log proof must state the entry's index")
        if len(lines) > 1 + MAX_PATH:
            raise TransparencyLogError(f"a log proof must have at most {MAX_PATH} hashes")
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
        """Check that the checkpoint's log has the entry; the signatures are for others to check."""
        signed = self.checkpoint.checkpoint
        check_inclusion(leaf_hash(entry), self.index, signed.size, self.path, signed.root)


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of an entry as a leaf."""
    return sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node above two others."""
    # Its prefix differs from a leaf's, so no entry can pass for a node.
    return sha256(b"\1" + left + right).digest()


def check_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Raise TransparencyLogError unless a path proves that a tree has a leaf's hash at an index."""
    if not 0 <= index < size:
        raise TransparencyLogError(f"a log of {size} entries has no entry {index}")
    hashes, new = iter(path), leaf
    while size > 1:
        if index ^ 1 < size:
            if (sibling := next(hashes, None)) is None:
                raise TransparencyLogError("the path has too few hashes for its tree")
            new = node_hash(sibling, new) if index & 1 else node_hash(new, sibling)
        index, size = index >> 1, (size + 1) >> 1
    if next(hashes, None) is not None:
        raise TransparencyLogError("the path has too many hashes for its tree")
    if new != root:
        raise TransparencyLogError("the path does not lead from this entry to the log's root")
