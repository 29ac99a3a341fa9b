"""Tokens: 256 random bits, kept as their SHA-256."""

import re
from hashlib import sha256

import pytest

from deniable.directory import new_token, token_digest


def test_a_token_has_256_bits_and_never_comes_twice() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch("deniable_[0-9a-f]{64}", token) for token in tokens)
    # Every one of the 256 bits varies among a hundred tokens; all equal by chance: 2^-91.
    numbers = [int(token.removeprefix("deniable_"), 16) for token in tokens]
    ones = zeros = 0
    for number in numbers:
        ones |= number
        zeros |= ~number
    assert ones == 2**256 - 1
    assert zeros & (2**256 - 1) == 2**256 - 1


def test_the_digest_is_sha_256_of_the_text() -> None:
    assert token_digest("deniable_00") == sha256(b"deniable_00").digest()


@pytest.mark.parametrize("text", ["\udcff", "a\udc80b", "\xff", ""])
def test_any_header_text_has_a_digest(text: str) -> None:
    assert len(token_digest(text)) == 32
    assert token_digest(text) != token_digest(text + "x")
