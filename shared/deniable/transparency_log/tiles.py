"""Tiles: the static files of which a log consists (C2SP tlog-tiles)."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from deniable.transparency_log.errors import TransparencyLogError
from deniable.transparency_log.merkle import root_hash

TILE_WIDTH: Final = 256
"""The hashes of a full tile, and the entries of a full bundle."""

TILE_HEIGHT: Final = 8
MAX_ENTRY_BYTES: Final = 65_535
"""The most that an entry's length in a bundle can say."""

_MAX_LEVEL: Final = 63
_PATH: Final = re.compile(
    "tile/(?P<level>entries|[0-9]{1,2})/(?P<index>(x[0-9]{3}/){0,6}[0-9]{3})(\\.p/(?P<width>[0-9]{1,3}))?"
)


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a tile of hashes below the log's URL, without a slash in front."""
    if not 0 <= level <= _MAX_LEVEL:
        raise TransparencyLogError(f"a tile has a level of 0 to {_MAX_LEVEL}")
    return f"tile/{level}/{_numbered(index, width)}"


def entry_bundle_path(index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a bundle of entries below the log's URL, without a slash in front."""
    return f"tile/entries/{_numbered(index, width)}"


def read_tile_path(path: str) -> tuple[int | None, int, int]:
    """Return level, index and width of a tile's path, the level of a bundle of entries as None.

    Raises:
        TransparencyLogError: if it is no path of a tile or bundle, in the one form that each has.
    """
    if match := _PATH.fullmatch(path):
        level = None if match["level"] == "entries" else int(match["level"])
        index = int(match["index"].replace("x", "").replace("/", ""))
        width = int(match["width"] or TILE_WIDTH)
        form = entry_bundle_path(index, width) if level is None else tile_path(level, index, width)
        if form == path:
            return level, index, width
    raise TransparencyLogError("no path of a tile")


def tiles_of(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield level, index and width of each tile of a log of so many entries, the leaves' first.

    Its bundles of entries have the indices and widths of the tiles of level 0.
    """
    level = 0
    while size:
        for index in range(-(-size // TILE_WIDTH)):
            yield level, index, min(TILE_WIDTH, size - index * TILE_WIDTH)
        level, size = level + 1, size >> TILE_HEIGHT


def hash_tile(
    leaf_hashes: Sequence[bytes], level: int, index: int, width: int = TILE_WIDTH
) -> bytes:
    """Return a tile's content: the roots of so many complete subtrees beside each other.

    Raises:
        TransparencyLogError: if the log of these leaves is too small for it.
    """
    leaves = 1 << level * TILE_HEIGHT  # of each subtree
    start = index * TILE_WIDTH * leaves
    end = start + width * leaves
    if not start < end <= len(leaf_hashes):
        raise TransparencyLogError(f"a log of {len(leaf_hashes)} entries has no such tile")
    return b"".join(root_hash(leaf_hashes[at : at + leaves]) for at in range(start, end, leaves))


def entry_bundle(entries: Sequence[bytes]) -> bytes:
    """Return a bundle's content: each entry behind its length.

    Raises:
        TransparencyLogError: if an entry has more than 65,535 bytes.
    """
    if any(len(entry) > MAX_ENTRY_BYTES for entry in entries):
        raise TransparencyLogError(f"an entry of a log has at most {MAX_ENTRY_BYTES} bytes")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def read_entry_bundle(content: bytes, width: int) -> tuple[bytes, ...]:
    """Return the entries of a bundle of this width.

    Raises:
        TransparencyLogError: if it has more or fewer, or is cut off.
    """
    entries: list[bytes] = []
    at = 0
    while at < len(content) and len(entries) <= width:
        start = at + 2
        at = start + int.from_bytes(content[at:start], "big")
        entries.append(content[start:at])
    if at != len(content) or len(entries) != width:
        raise TransparencyLogError(f"a bundle has {width} entries, each behind its length")
    return tuple(entries)


def _numbered(index: int, width: int) -> str:
    if index < 0 or not 1 <= width <= TILE_WIDTH:
        raise TransparencyLogError(f"a tile has an index, and 1 to {TILE_WIDTH} hashes")
    *front, last = f"{index:,}".split(",")
    groups = [f"x{group:0>3}" for group in front] + [f"{last:0>3}"]
    return "/".join(groups) + ("" if width == TILE_WIDTH else f".p/{width}")
