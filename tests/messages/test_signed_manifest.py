"""The manifest's envelope: verified before anything is decoded; several of them in one answer."""

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.counterparts.bodies import pack_logged, pack_manifests
from deniable.counterparts.signing import sign_manifest
from deniable.messages import (
    MAX_MANIFESTS_BYTES,
    Refusal,
    SigningKey,
    codec,
    open_manifest,
    open_manifest_of_chain,
    split_manifests,
)
from deniable.messages.logged import MAX_PROOF_BYTES
from deniable.messages.manifest import MAX_MANIFEST_BYTES, MAX_MANIFESTS
from tests.support.effort import effort
from tests.vectors.scene import AUTHORITY, OPEN_PAYLOAD, OPEN_SURVEY, manifest_envelope, pack, seed

KEYS = [SigningKey(seed(f"key {number}")) for number in range(4)]
CHAIN = [key.public_key for key in KEYS]
PROPERTY = settings(max_examples=effort(200))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the lengths of all that is decoded from now on."""
    lengths: list[int] = []
    decode = codec.decode

    def counting(data: bytes) -> object:
        lengths.append(len(data))
        return decode(data)

    monkeypatch.setattr(codec, "decode", counting)
    return lengths


def test_what_nobody_signed_is_not_decoded(decoded: list[int]) -> None:
    costly = pack([[]] * (MAX_MANIFEST_BYTES - 5))  # 1 MiB that takes many times its size
    envelope = pack([costly, bytes(31) + b"\x02" + bytes(32)])
    with pytest.raises(Refusal, match="bad-signature"):
        open_manifest(envelope, CHAIN[0])
    with pytest.raises(Refusal, match="bad-signature"):
        open_manifest_of_chain(envelope, CHAIN)
    assert decoded == []


@pytest.mark.parametrize("signer", range(len(KEYS)))
def test_a_chain_of_keys_decodes_once(decoded: list[int], signer: int) -> None:
    envelope = sign_manifest(OPEN_SURVEY, KEYS[signer])
    assert open_manifest_of_chain(envelope, CHAIN) == (OPEN_SURVEY, CHAIN[signer])
    assert decoded == [len(OPEN_PAYLOAD)]


@pytest.mark.parametrize("length", [0, 23, 255, 256, 300, 65_535, 65_536, 65_700])
def test_the_envelope_is_split_where_a_decoder_would(length: int) -> None:
    # Whatever the payload's length, what msgpack writes is verified, and then found malformed.
    envelope = manifest_envelope(bytes([0xC1]) * length)
    with pytest.raises(Refusal, match="malformed"):
        open_manifest(envelope, AUTHORITY.public_key)
    with pytest.raises(Refusal, match="bad-signature"):
        open_manifest(envelope, CHAIN[0])


@PROPERTY
@given(st.integers(0, 90), st.binary(max_size=3), st.integers(0, 3))
def test_what_is_verified_is_canonical(where: int, what: bytes, removed: int) -> None:
    good = manifest_envelope(OPEN_PAYLOAD)
    where = where if where < 10 else len(good) - 90 + where
    envelope = good[:where] + what + good[where + removed :]
    try:
        open_manifest(envelope, AUTHORITY.public_key)
    except Refusal:
        return
    assert envelope == good


def test_what_is_packed_is_split() -> None:
    several = [sign_manifest(OPEN_SURVEY, key) for key in KEYS]
    proofs = [b"a proof", b"", bytes(MAX_PROOF_BYTES), b"another"]
    body = pack_manifests(several, proofs)
    assert split_manifests(body) == list(zip(several, proofs, strict=True))
    pairs = [[msgpack.unpackb(one), proof] for one, proof in zip(several, proofs, strict=True)]
    assert body == msgpack.packb(pairs)
    assert split_manifests(pack_manifests(several)) == [(one, b"") for one in several]


@pytest.mark.parametrize(
    ("sizes", "fitting"),
    [
        ([10] * MAX_MANIFESTS, MAX_MANIFESTS),
        ([10] * (MAX_MANIFESTS + 1), MAX_MANIFESTS),
        ([MAX_MANIFEST_BYTES] * 2, 1),
        ([MAX_MANIFEST_BYTES, MAX_MANIFEST_BYTES - 1_224], 2),
        # The first that does not fit ends the list: what is offered has no gaps.
        ([MAX_MANIFEST_BYTES, MAX_MANIFEST_BYTES, 10], 1),
    ],
)
def test_older_manifests_are_left_out_of_an_answer_that_is_full(
    sizes: list[int], fitting: int
) -> None:
    offered = [pack([bytes(size), bytes(64)]) for size in sizes]
    body = pack_manifests(offered)
    assert len(body) <= MAX_MANIFESTS_BYTES
    assert split_manifests(body) == [(envelope, b"") for envelope in offered[:fitting]]


@pytest.mark.parametrize("length", [0, MAX_PROOF_BYTES, MAX_PROOF_BYTES + 1, 100_000])
def test_a_proof_that_is_too_long_counts_as_none(length: int) -> None:
    envelope, proof = sign_manifest(OPEN_SURVEY, KEYS[0]), bytes(length)
    expected = proof if length <= MAX_PROOF_BYTES else b""
    assert split_manifests(b"\x91" + pack_logged(envelope, proof)) == [(envelope, expected)]


@pytest.mark.parametrize(
    "element",
    [
        *(None, 7, [b"", b""], [[]] * 1000, {"a": 1}),
        msgpack.unpackb(sign_manifest(OPEN_SURVEY, KEYS[0])),  # without a place for a proof
        [msgpack.unpackb(sign_manifest(OPEN_SURVEY, KEYS[0])), "text"],
    ],
)
def test_one_bad_element_leaves_the_others_alone(element: Any, decoded: list[int]) -> None:
    good = sign_manifest(OPEN_SURVEY, KEYS[0])
    first, second = split_manifests(b"\x92" + pack(element) + pack_logged(good, b"proof"))
    assert second == (good, b"proof")
    assert len(good) not in decoded  # proofs alone are
    with pytest.raises(Refusal):
        open_manifest(first.envelope, CHAIN[0])
