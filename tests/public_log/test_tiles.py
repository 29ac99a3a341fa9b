"""Tiles and bundles: their paths, and contents from which the tree is made again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.logs import TransparencyLogError, leaf_hash
from deniable.public_log.publish.tree import (
    MAX_ENTRY_BYTES,
    entry_bundle,
    entry_bundle_path,
    hash_tile,
    read_entry_bundle,
    read_tile_path,
    root_hash,
    tile_path,
    tiles_of,
)
from tests.support.effort import effort

LEAVES = [leaf_hash(b"%d" % number) for number in range(66_000)]


def test_the_texts_examples_of_paths_and_tiles() -> None:
    assert tile_path(0, 1_234_067) == "tile/0/x001/x234/067"
    assert entry_bundle_path(0, 7) == "tile/entries/000.p/7"
    assert tile_path(63, 999, 255) == "tile/63/999.p/255"
    tiles = list(tiles_of(70_000))
    assert tiles[:273] == [(0, index, 256) for index in range(273)]
    assert tiles[273:] == [(0, 273, 112), (1, 0, 256), (1, 1, 17), (2, 0, 1)]
    assert list(tiles_of(256)) == [(0, 0, 256), (1, 0, 1)]
    assert list(tiles_of(0)) == []


@given(st.none() | st.integers(0, 63), st.integers(0, 10**15), st.integers(1, 256))
def test_a_path_is_read_back(level: int | None, index: int, width: int) -> None:
    path = entry_bundle_path(index, width) if level is None else tile_path(level, index, width)
    assert read_tile_path(path) == (level, index, width)


@pytest.mark.parametrize(
    "path",
    [
        *("", "checkpoint", "/tile/0/000", "tile/0/000/", "tile/00/000"),
        *("tile/-1/000", "tile/0/0", "tile/0/0000", "tile/0/001/000", "tile/0/x000/000"),
        *("tile/0/x001/x000", "tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/07"),
        *("tile/0/000.p/", "tile/0/\u0660\u0660\u0660", "tile/entries/../000"),
    ],
)
def test_no_other_path_is_a_tiles(path: str) -> None:
    with pytest.raises(KeyError):
        read_tile_path(path)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 66_000])
def test_the_tree_is_made_again_of_its_tiles(size: int) -> None:
    leaves = LEAVES[:size]
    rows: dict[int, list[bytes]] = {}
    for level, index, width in tiles_of(size):
        tile = hash_tile(leaves, level, index, width)
        assert len(tile) == 32 * width
        rows.setdefault(level, []).extend(tile[at : at + 32] for at in range(0, len(tile), 32))
    assert rows[0] == leaves
    for level, row in rows.items():
        assert len(row) == size >> 8 * level
        for index in range(len(rows.get(level + 1, []))):
            assert rows[level + 1][index] == root_hash(row[index * 256 :][:256])
    for wrong in ((0, 0, size + 1), (3, 0, 1)):
        with pytest.raises(KeyError, match="does not have this tile"):
            hash_tile(leaves, *wrong)


@settings(max_examples=effort(100))
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20), st.data())
def test_bundles_are_read_back_whole_or_not_at_all(
    entries: list[bytes], data: st.DataObject
) -> None:
    content = entry_bundle(entries)
    assert read_entry_bundle(content, len(entries)) == tuple(entries)
    cut = data.draw(st.integers(0, len(content) - 1))
    for wrong, width in (
        (content[:cut], len(entries)),
        (content + b"\0", len(entries)),
        (content, len(entries) - 1),
        (content, len(entries) + 1),
    ):
        with pytest.raises(TransparencyLogError):
            read_entry_bundle(wrong, width)


def test_an_entry_has_a_length_of_two_bytes() -> None:
    longest = bytes(MAX_ENTRY_BYTES)
    assert read_entry_bundle(entry_bundle([longest]), 1) == (longest,)
