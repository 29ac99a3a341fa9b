"""The Merkle tree against the definitions of RFC 6962, and forged paths."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.logs import TransparencyLogError, leaf_hash
from deniable.logs.proofs import check_inclusion
from deniable.public_log.publish.tree import EMPTY_ROOT, root_hash
from deniable.public_log.publish.witnesses import consistency_path
from tests.support.effort import every
from tests.support.fake_witness import extends
from tests.support.public_logs import inclusion_path

LEAVES = [leaf_hash(b"entry %d" % number) for number in range(600)]


def split(size: int) -> int:
    """Return the largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """Return MTH(D[n]), section 2.1."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256().digest()
    k = split(len(leaves))
    return node(naive_root(leaves[:k]), naive_root(leaves[k:]))


def naive_path(index: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return PATH(m, D[n]), section 2.1.1."""
    if len(leaves) == 1:
        return ()
    k = split(len(leaves))
    if index < k:
        return (*naive_path(index, leaves[:k]), naive_root(leaves[k:]))
    return (*naive_path(index - k, leaves[k:]), naive_root(leaves[:k]))


def naive_proof(size: int, leaves: Sequence[bytes], *, known: bool = True) -> tuple[bytes, ...]:
    """Return SUBPROOF(m, D[n], b), section 2.1.2."""
    if size == len(leaves):
        return () if known else (naive_root(leaves),)
    k = split(len(leaves))
    if size <= k:
        return (*naive_proof(size, leaves[:k], known=known), naive_root(leaves[k:]))
    return (*naive_proof(size - k, leaves[k:], known=False), naive_root(leaves[:k]))


def check_all(size: int, old_sizes: Sequence[int]) -> None:
    leaves = LEAVES[:size]
    root = root_hash(leaves)
    assert root == naive_root(leaves)
    for old in old_sizes:
        path = consistency_path(leaves, old)
        assert path == (naive_proof(old, leaves) if old else ())
        assert extends(old, root_hash(leaves[:old]), size, root, path)
        assert not any(
            extends(old, root_hash(leaves[:old]), size, root, wrong) for wrong in misshapen(path)
        )
        if old < size:
            path = inclusion_path(leaves, old)
            assert path == naive_path(old, leaves)
            check_inclusion(leaves[old], old, size, path, root)


@pytest.mark.parametrize("size", every(71))
def test_small_trees_are_those_of_the_rfc(size: int) -> None:
    check_all(size, range(size + 1))


@given(st.integers(71, len(LEAVES)).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_larger_trees_are_those_of_the_rfc(sizes: tuple[int, int]) -> None:
    check_all(sizes[0], [sizes[1]])


# The inputs and roots with which implementations of Certificate Transparency are tested.
INPUTS = [
    bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")
] + [bytes(range(0x60, 0x70))]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def test_known_roots() -> None:
    leaves = [leaf_hash(entry) for entry in INPUTS]
    assert [root_hash(leaves[:size]).hex() for size in range(9)] == ROOTS
    assert EMPTY_ROOT.hex() == ROOTS[0]


def refused(check: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(TransparencyLogError):
        check(*arguments)


@pytest.mark.parametrize("size", range(1, 20))
def test_a_path_shows_one_leaf_at_one_index_of_one_size(size: int) -> None:
    leaves = LEAVES[:size]
    root = root_hash(leaves)
    for index, leaf in enumerate(leaves):
        path = inclusion_path(leaves, index)
        for other in range(-1, size + 2):
            if other != index:
                refused(check_inclusion, leaf, other, size, path, root)
                refused(check_inclusion, LEAVES[other], index, size, path, root)
            if other != size:
                other_root = root_hash(LEAVES[: max(other, 0)])
                refused(check_inclusion, leaf, index, other, path, other_root)
        for wrong in misshapen(path):
            refused(check_inclusion, leaf, index, size, wrong, root)
        refused(check_inclusion, leaf[1:], index, size, path, root)


def misshapen(path: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    """Yield paths near to one, none of which is it."""
    yield (*path, LEAVES[-1])
    yield (LEAVES[-1], *path)
    for at, hash_ in enumerate(path):
        yield (*path[:at], *path[at + 1 :])
        yield (*path[:at], bytes([hash_[0] ^ 1]) + hash_[1:], *path[at + 1 :])
        yield (*path[:at], hash_[:-1], *path[at + 1 :])
        yield (*path[:at], hash_ + b"\0", *path[at + 1 :])
    if len(path) > 1:
        yield (path[1], path[0], *path[2:])


def test_no_entry_stands_for_a_node() -> None:
    """The second preimage of a tree whose leaves and nodes are hashed alike."""
    root = root_hash(LEAVES[:4])
    inner = node(LEAVES[0], LEAVES[1])
    path = inclusion_path(LEAVES[:4], 0)[1:]
    check_inclusion(inner, 0, 2, path, root)  # a leaf's hash is what a caller must make itself
    for entry in (LEAVES[0] + LEAVES[1], b"\1" + LEAVES[0] + LEAVES[1]):
        refused(check_inclusion, leaf_hash(entry), 0, 2, path, root)


def test_the_largest_trees_are_checked_in_as_many_steps_as_they_are_high() -> None:
    size = 2**63 - 1
    leaf, path = LEAVES[0], tuple(LEAVES[1:64])
    root = leaf
    for sibling in path:
        root = node(root, sibling)
    check_inclusion(leaf, 0, size, path, root)
    refused(check_inclusion, leaf, 0, size, path[:-1], root)
