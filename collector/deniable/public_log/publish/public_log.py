"""The public log as served: its files and its proofs, from the store's content.

A log consists of static files (C2SP tlog-tiles), which follow entirely from its entries and its
newest checkpoint. So all collectors that share a store serve the same files.
"""

from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from typing import Final

from deniable.logs import LogProof, SignedCheckpoint, TransparencyLogError, leaf_hash
from deniable.logs.notes import printable
from deniable.messages import log_entry
from deniable.messages.logged import DIGEST, MAX_PROOF_BYTES
from deniable.public_log.publish.tree import (
    EMPTY_ROOT,
    TILE_WIDTH,
    entry_bundle,
    entry_bundle_path,
    hash_tile,
    read_tile_path,
    siblings,
    tile_path,
    tiles_of,
    tree_levels,
)
from deniable.stores import StoredLog


class PublicLogError(TransparencyLogError):
    """Nothing was signed; the message states the remedy."""


class LogKeyMissing(PublicLogError):
    """The private key that signed the log's newest checkpoint is not beside the authority's."""


class WitnessingError(Exception):
    """A checkpoint was not cosigned; the message gives the reason, in one printable line.

    A witness that refuses has a status (C2SP tlog-witness) and, with 409, the size that it has
    seen. Without an answer of the protocol, the status is 0.
    """

    def __init__(self, reason: str, status: int = 0, size: int | None = None) -> None:
        super().__init__(printable(reason))
        self.status = status
        self.size = size


#: The path of the newest checkpoint under a log's address.
CHECKPOINT_PATH: Final = "checkpoint"
_LARGE: Final = "large/"


class PublicLog:
    """Entries, and the checkpoints that cover them; ``newest`` is None while there is no log.

    Raises:
        TransparencyLogError: if a checkpoint does not match these entries.
    """

    def __init__(self, stored: StoredLog) -> None:
        self.stored = stored
        self.newest = _opened(stored.newest)
        self.witnessed = _opened(stored.witnessed)
        size = 0 if self.newest is None else self.newest.checkpoint.size
        self.envelopes = stored.entries[:size]
        self.entries = tuple(map(log_entry, self.envelopes))
        self.leaf_hashes = tuple(map(leaf_hash, self.entries))
        self._trees: dict[int, list[list[bytes]]] = {}
        for signed in (self.newest, self.witnessed):
            if signed is not None and not self.extends(signed):
                raise TransparencyLogError("the stored log does not match its own checkpoint")
        self._places = {envelope: place for place, envelope in enumerate(self.envelopes)}

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return len(self.envelopes)

    def __contains__(self, envelope: object) -> bool:
        return envelope in self._places

    def extends(self, signed: SignedCheckpoint) -> bool:
        """Return whether this log extends that of a checkpoint."""
        checkpoint = signed.checkpoint
        if not 0 < checkpoint.size <= self.size:
            return checkpoint.size == 0 and checkpoint.root == EMPTY_ROOT
        return self._tree(checkpoint.size)[-1] == [checkpoint.root]

    def _tree(self, size: int) -> list[list[bytes]]:
        """Return the levels of the tree of the first ``size`` entries, computed once."""
        if size not in self._trees:
            self._trees[size] = tree_levels(self.leaf_hashes[:size])
        return self._trees[size]

    def proof(self, envelope: bytes) -> bytes:
        """Return the proof that the log contains an envelope; empty if it does not.

        The proof is also empty if it would be longer than devices accept.

        It uses the newest checkpoint that a quorum of witnesses cosigned, if that covers the entry.
        """
        place = self._places.get(envelope)
        if place is None or self.newest is None:
            return b""
        signed, witnessed = self.newest, self.witnessed
        # Apps that pin the log's name reject cosignatures under its former name.
        if (
            witnessed is not None
            and witnessed.checkpoint.origin == signed.checkpoint.origin
            and place < witnessed.checkpoint.size
        ):
            signed = witnessed
        path = siblings(self._tree(signed.checkpoint.size), 0, place)
        proof = LogProof(place, path, signed).text.encode()
        return proof if len(proof) <= MAX_PROOF_BYTES else b""

    def file(self, path: str) -> bytes:
        """Return the content of a file by its path below ``/log/``; KeyError if there is none."""
        if path == CHECKPOINT_PATH and self.newest is not None:
            return self.newest.text.encode()
        if path.startswith(_LARGE):
            return self._large[path]
        level, index, width = read_tile_path(path)
        if level is not None:
            return hash_tile(self.leaf_hashes, level, index, width)
        entries = self.entries[index * TILE_WIDTH :][:width]
        if len(entries) < width:
            raise KeyError(path)
        return entry_bundle(entries)

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files, the checkpoint last."""
        yield from self._large
        for level, index, width in tiles_of(self.size):
            if level == 0:
                yield entry_bundle_path(index, width)
            yield tile_path(level, index, width)
        if self.newest is not None:
            yield CHECKPOINT_PATH

    @cached_property
    def _large(self) -> dict[str, bytes]:
        """The envelopes that are too long to be entries themselves, by their paths."""
        return {
            large_path(sha256(envelope).digest()): envelope
            for envelope, entry in zip(self.envelopes, self.entries, strict=True)
            if entry is not envelope
        }


def entries_text(entries: int) -> str:
    """Return a number of entries in words."""
    return "1 entry" if entries == 1 else f"{entries:,} entries"


def large_digest(entry: bytes) -> bytes:
    """Return the digest of the envelope that an entry represents; empty if both are the same."""
    digest = entry.removeprefix(DIGEST)
    return digest if len(entry) == len(DIGEST) + len(digest) == 35 else b""


def large_path(digest: bytes) -> str:
    """Return the path of an envelope whose digest is the log's entry."""
    return f"{_LARGE}{digest.hex()}"


def _opened(text: str) -> SignedCheckpoint | None:
    return SignedCheckpoint.parse(text) if text else None
