"""The Merkle tree of RFC 6962, section 2.1: its root, its paths, and its tiles (C2SP tlog-tiles).

The tree is represented by levels. Level 0 is the hashes of the leaves. Each further level has the
hashes of pairs of neighbours from the level below; a last node without a neighbour moves up
unchanged. This is the tree of RFC 6962: it splits at the largest power of two below the size, so
that all but the nodes at the right edge are complete. A log consists of tiles, static files.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from deniable.logs import TransparencyLogError
from deniable.logs.proofs import node_hash

EMPTY_ROOT: Final = sha256(b"").digest()
"""The root of a tree without leaves."""

TILE_WIDTH: Final = 256
"""The hashes of a full tile, and the entries of a full bundle."""

TILE_HEIGHT: Final = 8
MAX_ENTRY_BYTES: Final = 65_535
"""The greatest length of an entry in a bundle."""

_PATH: Final = re.compile(
    "tile/(?P<level>entries|[0-9]{1,2})/(?P<index>(x[0-9]{3}/){0,6}[0-9]{3})(\\.p/(?P<width>[0-9]{1,3}))?"
)


def tree_levels(leaf_hashes: Sequence[bytes]) -> list[list[bytes]]:
    """Return the levels of a tree, from the leaves to the root; none for an empty tree."""
    levels = [list(leaf_hashes)]
    while len(level := levels[-1]) > 1:
        above = [node_hash(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        levels.append(above + level[-1:] if len(level) % 2 else above)
    return levels


def root_hash(leaf_hashes: Sequence[bytes]) -> bytes:
    """Return the root of the tree of these leaves."""
    return tree_levels(leaf_hashes)[-1][0] if leaf_hashes else EMPTY_ROOT


def siblings(levels: Sequence[Sequence[bytes]], level: int, index: int) -> tuple[bytes, ...]:
    """Return the siblings of a node and of its ancestors, which lead from it to the root."""
    path = []
    for hashes in levels[level:]:
        if index ^ 1 < len(hashes):
            path.append(hashes[index ^ 1])
        index >>= 1
    return tuple(path)


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a tile of hashes below the log's URL, without a leading slash."""
    return f"tile/{level}/{_numbered(index, width)}"


def entry_bundle_path(index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a bundle of entries below the log's URL, without a leading slash."""
    return f"tile/entries/{_numbered(index, width)}"


def read_tile_path(path: str) -> tuple[int | None, int, int]:
    """Return level, index and width from a tile's path; the level is None for a bundle of entries.

    Raises:
        KeyError: if the path is not the canonical path of a tile or a bundle.
    """
    if match := _PATH.fullmatch(path):
        level = None if match["level"] == "entries" else int(match["level"])
        index = int(match["index"].replace("x", "").replace("/", ""))
        width = int(match["width"] or TILE_WIDTH)
        form = entry_bundle_path(index, width) if level is None else tile_path(level, index, width)
        if form == path and 1 <= width <= TILE_WIDTH:
            return level, index, width
    raise KeyError(path)


def tiles_of(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield level, index and width of each tile of a log with this many entries, the leaves' first.

    The log's bundles of entries have the indices and widths of the tiles of level 0.
    """
    level = 0
    while size:
        for index in range(-(-size // TILE_WIDTH)):
            yield level, index, min(TILE_WIDTH, size - index * TILE_WIDTH)
        level, size = level + 1, size >> TILE_HEIGHT


def hash_tile(
    leaf_hashes: Sequence[bytes], level: int, index: int, width: int = TILE_WIDTH
) -> bytes:
    """Return a tile's content, the roots of adjacent complete subtrees; KeyError without them."""
    leaves = 1 << level * TILE_HEIGHT  # of each subtree
    start = index * TILE_WIDTH * leaves
    end = start + width * leaves
    if not start < end <= len(leaf_hashes):
        raise KeyError(f"a log of {len(leaf_hashes)} entries does not have this tile")
    return b"".join(root_hash(leaf_hashes[at : at + leaves]) for at in range(start, end, leaves))


def entry_bundle(entries: Sequence[bytes]) -> bytes:
    """Return a bundle's content: each entry after its length."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def read_entry_bundle(content: bytes, width: int) -> tuple[bytes, ...]:
    """Return the entries of a bundle of this width; TransparencyLogError if it has another."""
    entries: list[bytes] = []
    at = 0
    while at < len(content) and len(entries) <= width:
        start = at + 2
        at = start + int.from_bytes(content[at:start], "big")
        entries.append(content[start:at])
    if at != len(content) or len(entries) != width:
        raise TransparencyLogError(
            f"a bundle must have {width} entries, each preceded by its length"
        )
    return tuple(entries)


def _numbered(index: int, width: int) -> str:
    *front, last = f"{index:,}".split(",")
    groups = [f"x{group:0>3}" for group in front] + [f"{last:0>3}"]
    return "/".join(groups) + ("" if width == TILE_WIDTH else f".p/{width}")
