"""libsodium, which the collector verifies with, and our checks before OpenSSL answer alike."""

import random
from typing import Any

import pytest

from deniable.intake import judge_report
from deniable.messages import Refusal, SigningKey
from deniable.messages.ed25519 import CONTEXT_ENROL, CONTEXT_REPORT, Verify, verify
from deniable.server.routes.uploads import verify_by_libsodium
from tests.support.effort import effort
from tests.vectors import edwards25519 as curve
from tests.vectors.stored import BAD_REPORTS, BY_ID, name_of

TORSION = curve.small_order_points()
MESSAGE = b"deniable"


def accepts(check: Verify, key: bytes, signature: bytes, context: bytes = CONTEXT_REPORT) -> bool:
    try:
        check(key, context, MESSAGE, signature)
    except Refusal:
        return False
    return True


def accepted(key: bytes, signature: bytes, context: bytes = CONTEXT_REPORT) -> bool:
    """Return what both libraries say."""
    by_us = accepts(verify, key, signature, context)
    assert accepts(verify_by_libsodium, key, signature, context) is by_us
    return by_us


@pytest.mark.parametrize("vector", BAD_REPORTS, ids=name_of)
def test_every_bad_vector_has_its_code_by_both(vector: dict[str, Any]) -> None:
    for check in (verify, verify_by_libsodium):
        with pytest.raises(Refusal) as refused:
            judge_report(bytes.fromhex(vector["envelope"]), vector["now"], BY_ID.get, check)
        assert refused.value.code.value == vector["code"]


@pytest.mark.parametrize("number", range(effort(40)))
def test_keys_and_signatures_with_torsion_components(number: int) -> None:
    """A + T and R + T', for each pair of orders, with the S that suits their honest parts."""
    chance = random.Random(number)
    scalar = curve.secret_scalar(chance.randbytes(32))
    r = chance.randrange(curve.L)
    key = curve.add(curve.multiply(scalar, curve.BASE), TORSION[number % 8])
    commitment = curve.add(curve.multiply(r, curve.BASE), TORSION[chance.randrange(8)])
    key_bytes, r_bytes = curve.encode(key), curve.encode(commitment)
    h = curve.challenge(r_bytes, key_bytes, CONTEXT_REPORT + MESSAGE)
    signature = curve.signature_bytes(r_bytes, (r + h * scalar) % curve.L)
    exact = curve.equation_holds(key, key_bytes, CONTEXT_REPORT + MESSAGE, commitment, signature)
    # The equation without cofactor decides, in both.
    assert accepted(key_bytes, signature) is exact


@pytest.mark.parametrize("number", range(effort(20)))
def test_signatures_of_a_key_with_one_thing_wrong(number: int) -> None:
    chance = random.Random(number)
    key = SigningKey(chance.randbytes(32))
    good = key.sign(CONTEXT_REPORT, MESSAGE)
    r, s = good[:32], int.from_bytes(good[32:], "little")
    assert accepted(key.public_key, good)
    for context in (CONTEXT_ENROL, b"", CONTEXT_REPORT[:-1], CONTEXT_REPORT + b"\0"):
        assert not accepted(key.public_key, good, context)
    for multiple in (1, 2, 15):
        if s + multiple * curve.L < 1 << 256:
            assert not accepted(key.public_key, r + (s + multiple * curve.L).to_bytes(32, "little"))
    assert not accepted(key.public_key, r + ((-s) % curve.L).to_bytes(32, "little"))
    assert not accepted(SigningKey(chance.randbytes(32)).public_key, good)
    for bit in chance.sample(range(512), 64):
        flipped = int.from_bytes(good, "little") ^ (1 << bit)
        assert not accepted(key.public_key, flipped.to_bytes(64, "little"))
    for bit in chance.sample(range(256), 64):
        flipped = int.from_bytes(key.public_key, "little") ^ (1 << bit)
        assert not accepted(flipped.to_bytes(32, "little"), good)


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_a_key_of_another_length_verifies_nothing(length: int) -> None:
    key = SigningKey(bytes(32))
    shown = (key.public_key * 2)[:length]
    assert not accepted(shown, key.sign(CONTEXT_REPORT, MESSAGE))
