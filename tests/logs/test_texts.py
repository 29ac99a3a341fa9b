"""Whatever text a stranger gives, it is read as it stands or refused by the one error."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.logs import (
    LogPolicy,
    LogProof,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
)
from deniable.public_log.publish.tree import read_entry_bundle, read_tile_path, tile_path
from tests.fuzz.mutations import mutated_bytes
from tests.logs.test_policies import PROOF, policy_log, policy_text


def key_text(data: bytes) -> bytes:
    return str(VerifierKey.parse(data.decode(errors="replace"))).encode()


def policy(data: bytes) -> bytes:
    LogPolicy.parse(data.decode(errors="surrogateescape"))
    return data  # it has many texts


def path(data: bytes) -> bytes:
    level, index, width = read_tile_path(data.decode(errors="replace"))
    assert level is not None
    return tile_path(level, index, width).encode()


def bundle(data: bytes) -> bytes:
    return b"".join(len(one).to_bytes(2, "big") + one for one in read_entry_bundle(data, 2))


READERS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "checkpoint": (
        PROOF.checkpoint.text.encode(),
        lambda data: SignedCheckpoint.parse(data).text.encode(),
    ),
    "proof": (PROOF.text.encode(), lambda data: LogProof.parse(data).text.encode()),
    "verifier key": (str(policy_log()).encode(), key_text),
    "policy": (policy_text().encode(), policy),
    "path": (b"tile/12/x001/x234/067.p/255", path),
    "bundle": (b"\0\3abc\0\2de", bundle),
}


@pytest.mark.parametrize("kind", READERS)
@given(st.randoms(use_true_random=False))
def test_what_is_read_is_what_stands_there(kind: str, chance: Random) -> None:
    text, read = READERS[kind]
    assert read(text) == text
    changed = mutated_bytes(chance, text)
    try:
        again = read(changed)
    except TransparencyLogError:
        return
    assert again == changed
