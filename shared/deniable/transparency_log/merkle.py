"""The Merkle tree of RFC 6962, section 2.1: its root, its paths, and the checks of paths.

The tree is seen by levels. Level 0 is the hashes of the leaves; on each further level stand the
hashes of neighbours of the one below, two by two, and a last node without a neighbour rises as it
is. That is the tree of RFC 6962: it splits at the largest power of two below the size, so that all
but the nodes at the right edge are complete.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from deniable.transparency_log.errors import TransparencyLogError

HASH_BYTES: Final = 32
"""The length of a hash, which is SHA-256's."""

EMPTY_ROOT: Final = sha256(b"").digest()
"""The root of a tree without leaves."""

MAX_PATH: Final = 63
"""The most hashes of a path, since a tree has fewer than 2^63 leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of an entry as a leaf."""
    return sha256(b"\0" + entry).digest()


def _node_hash(left: bytes, right: bytes) -> bytes:
    # Its prefix is another than a leaf's, so that no entry can stand for a node.
    return sha256(b"\1" + left + right).digest()


def tree_levels(leaf_hashes: Sequence[bytes]) -> list[list[bytes]]:
    """Return the levels of a tree, from the leaves to the root; of an empty tree, one without."""
    levels = [list(leaf_hashes)]
    while len(level := levels[-1]) > 1:
        above = [_node_hash(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        levels.append(above + level[-1:] if len(level) % 2 else above)
    return levels


def root_hash(leaf_hashes: Sequence[bytes]) -> bytes:
    """Return the root of the tree of these leaves."""
    return tree_levels(leaf_hashes)[-1][0] if leaf_hashes else EMPTY_ROOT


def siblings(levels: Sequence[Sequence[bytes]], level: int, index: int) -> tuple[bytes, ...]:
    """Return the siblings of a node and of those above it, which lead from it to the root."""
    path = []
    for hashes in levels[level:]:
        if index ^ 1 < len(hashes):
            path.append(hashes[index ^ 1])
        index >>= 1
    return tuple(path)


def inclusion_path(leaf_hashes: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return the path from a leaf to the root: its siblings, from the leaf's upwards."""
    if not 0 <= index < len(leaf_hashes):
        raise TransparencyLogError(f"a log of {len(leaf_hashes)} entries has none of index {index}")
    return siblings(tree_levels(leaf_hashes), 0, index)


def consistency_path(leaf_hashes: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """Return the path that shows the tree of the first ``old_size`` leaves to be its beginning.

    It is empty for an empty old tree and for one of the same size.
    """
    if not 0 <= old_size <= len(leaf_hashes):
        raise TransparencyLogError(f"a log of {len(leaf_hashes)} entries never had {old_size}")
    if old_size in {0, len(leaf_hashes)}:
        return ()
    levels = tree_levels(leaf_hashes)
    level, index = _last_complete(old_size)
    # The old root itself, if its tree is complete, is known to whoever checks.
    return ((levels[level][index],) if index else ()) + siblings(levels, level, index)


def check_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Check that a leaf's hash is that of an index in the tree of this size and root.

    Raises:
        TransparencyLogError: if the path does not show it.
    """
    if not 0 <= index < size:
        raise TransparencyLogError(f"a log of {size} entries has none of index {index}")
    hashes = _PathHashes(path)
    new = _check_length(leaf)
    while size > 1:
        if index ^ 1 < size:
            sibling = hashes.take()
            new = _node_hash(sibling, new) if index & 1 else _node_hash(new, sibling)
        index, size = index >> 1, (size + 1) >> 1
    hashes.end()
    if new != root:
        raise TransparencyLogError("the path does not lead from this entry to the log's root")


def check_consistency(
    old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]
) -> None:
    """Check that the tree of the old size and root is the beginning of that of the new.

    Raises:
        TransparencyLogError: if the path does not show it.
    """
    if not 0 <= old_size <= size:
        raise TransparencyLogError(f"a log of {old_size} entries cannot have shrunk to {size}")
    hashes = _PathHashes(path)
    if old_size == 0:
        old, new = EMPTY_ROOT, _check_length(root) if size else EMPTY_ROOT
    elif old_size == size:
        old, new = root, root
    else:
        level, index = _last_complete(old_size)
        size = ((size - 1) >> level) + 1
        old = new = hashes.take() if index else _check_length(old_root)
        while size > 1:
            if index ^ 1 < size:
                sibling = hashes.take()
                new = _node_hash(sibling, new) if index & 1 else _node_hash(new, sibling)
                # What stands to the right of the old tree's last node is new.
                old = _node_hash(sibling, old) if index & 1 else old
            index, size = index >> 1, (size + 1) >> 1
    hashes.end()
    if old != old_root or new != root:
        raise TransparencyLogError("the path does not lead from the older root to the newer one")


def _last_complete(size: int) -> tuple[int, int]:
    # Level and index of the last complete subtree, where the old tree's right edge begins.
    index, level = size - 1, 0
    while index & 1:
        index, level = index >> 1, level + 1
    return level, index


class _PathHashes:
    """The hashes of a path, each taken once, none left over."""

    def __init__(self, path: Sequence[bytes]) -> None:
        self._hashes = iter(path)

    def take(self) -> bytes:
        hash_ = next(self._hashes, None)
        if hash_ is None:
            raise TransparencyLogError("the path has too few hashes for its tree")
        return _check_length(hash_)

    def end(self) -> None:
        if next(self._hashes, None) is not None:
            raise TransparencyLogError("the path has too many hashes for its tree")


def _check_length(hash_: bytes) -> bytes:
    if len(hash_) != HASH_BYTES:
        raise TransparencyLogError(f"a hash has {HASH_BYTES} bytes")
    return hash_
