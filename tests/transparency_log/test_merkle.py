"""The Merkle tree against the definitions of RFC 6962, and forged paths."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.transparency_log import (
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_hash,
)

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
        check_consistency(old, root_hash(leaves[:old]), size, root, path)
        if old < size:
            path = inclusion_path(leaves, old)
            assert path == naive_path(old, leaves)
            check_inclusion(leaves[old], old, size, path, root)


@pytest.mark.parametrize("size", range(71))
def test_small_trees_are_those_of_the_rfc(size: int) -> None:
    check_all(size, range(size + 1))


@given(st.integers(71, len(LEAVES)).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_larger_trees_are_those_of_the_rfc(sizes: tuple[int, int]) -> None:
    check_all(sizes[0], [sizes[1]])
