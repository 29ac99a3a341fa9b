"""Signing keys: secrets that do not leak. That they sign as libsodium does is in test_vectors."""

import copy
import pickle

import pytest

from deniable.messages import Refusal, SigningKey, derive_report_key, verify

SECRET = bytes(range(32))
SURVEY = bytes(range(100, 132))


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_secrets_ids_and_seeds_have_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey(bytes(length))
    with pytest.raises(ValueError, match="32 bytes"):
        derive_report_key(bytes(length), SURVEY, 0)
    with pytest.raises(ValueError, match="32 bytes"):
        derive_report_key(SECRET, bytes(length), 0)


def test_a_signing_key_shows_nothing_of_its_seed() -> None:
    key = SigningKey(SECRET)
    assert repr(key) == str(key) == f"{key}" == "SigningKey(<secret>)"


def test_a_signing_key_is_neither_pickled_nor_copied() -> None:
    key = SigningKey(SECRET)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="not be pickled"):
            pickle.dumps(key, protocol)
    for duplicate in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            duplicate(key)


def test_a_refused_key_or_signature_is_not_repeated_in_the_refusal() -> None:
    key, signature = SigningKey(SECRET), bytes(64)
    with pytest.raises(Refusal) as refusal:
        verify(key.public_key, b"", b"marker", signature)
    assert "marker" not in str(refusal.value)
    assert key.public_key.hex() not in str(refusal.value)
