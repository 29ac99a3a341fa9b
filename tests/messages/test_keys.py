"""Signing keys: RFC 8032's vectors, HKDF by hand, contexts, and secrets that do not leak."""

import copy
import pickle

import pytest

from deniable.messages import Refusal, SigningKey, derive_report_key, verify

# RFC 8032, section 7.1, tests 1 to 3: seed, public key, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]

SECRET = bytes(range(32))
SURVEY = bytes(range(100, 132))


@pytest.mark.parametrize(("seed", "public", "message", "signature"), RFC_8032)
def test_signatures_are_those_of_rfc_8032(
    seed: str, public: str, message: str, signature: str
) -> None:
    key = SigningKey(bytes.fromhex(seed))
    assert key.public_key.hex() == public
    assert key.sign(b"", bytes.fromhex(message)).hex() == signature
    verify(key.public_key, b"", bytes.fromhex(message), bytes.fromhex(signature))


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


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_signing_key_is_not_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(SigningKey(SECRET), protocol)


def test_a_signing_key_is_not_copied_either() -> None:
    for duplicate in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            duplicate(SigningKey(SECRET))


def test_a_refused_key_or_signature_is_not_repeated_in_the_refusal() -> None:
    key, signature = SigningKey(SECRET), bytes(64)
    with pytest.raises(Refusal) as refusal:
        verify(key.public_key, b"", b"marker", signature)
    assert "marker" not in str(refusal.value)
    assert key.public_key.hex() not in str(refusal.value)
