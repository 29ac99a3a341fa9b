"""Vectors of RFC 9474 and RFC 9578, whole: each value of each step."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from deniable.counterparts.bodies import read_token_request
from deniable.privacy_pass import (
    MODULUS_BYTES,
    InvalidToken,
    blind,
    encode,
    finalise,
    pack_token_request,
    public_key_info,
    token_challenge,
    token_input,
    token_key_id,
    verify,
)

HERE = Path(__file__).parent


def vectors(name: str) -> list[dict[str, str]]:
    content: dict[str, Any] = json.loads((HERE / name).read_text("utf-8"))
    found: list[dict[str, str]] = content["vectors"]
    return found


@pytest.mark.parametrize("vector", vectors("rfc9474.json"), ids=lambda vector: vector["name"])
def test_each_variant_of_rfc_9474(vector: dict[str, str]) -> None:
    # Their key has 4,096 bits: the kernels take the length from it.
    n, d, inverse = (int(vector[name], 16) for name in ("n", "d", "inv"))
    prepared, salt = (bytes.fromhex(vector[name]) for name in ("prepared_msg", "salt"))
    assert prepared.hex() == vector["msg_prefix"] + vector["msg"]
    encoded = encode(prepared, salt, n.bit_length() - 1)
    assert encoded == int(vector["encoded_msg"], 16)
    factor = pow(inverse, -1, n)
    blinded = blind(encoded, n, factor)
    assert blinded.hex() == vector["blinded_msg"]
    blind_signature = pow(int.from_bytes(blinded), d, n).to_bytes(len(blinded))
    assert blind_signature.hex() == vector["blind_sig"]
    assert finalise(blind_signature, n, factor).hex() == vector["sig"]


@pytest.mark.parametrize("vector", vectors("rfc9578.json"), ids=lambda vector: vector["nonce"][:8])
def test_issuance_of_rfc_9578(vector: dict[str, str]) -> None:
    given = {name: bytes.fromhex(text) for name, text in vector.items()}
    private_key = load_pem_private_key(given["skS"], None)
    assert isinstance(private_key, RSAPrivateKey)
    numbers = private_key.private_numbers()
    n, modulus = numbers.public_numbers.n, numbers.public_numbers.n.to_bytes(MODULUS_BYTES)
    assert public_key_info(modulus) == given["pkS"]
    challenge = token_challenge(*read_challenge(given["token_challenge"]))
    assert challenge == given["token_challenge"]
    key_id = token_key_id(modulus)
    message = token_input(given["nonce"], sha256(challenge).digest(), key_id)
    factor = int.from_bytes(given["blind"])
    blinded = blind(encode(message, given["salt"]), n, factor)
    request = pack_token_request(key_id, blinded)
    assert request == given["token_request"]
    assert read_token_request(request) == (key_id[-1], blinded)
    answer = pow(int.from_bytes(blinded), numbers.d, n).to_bytes(MODULUS_BYTES)
    assert answer == given["token_response"]
    signature = finalise(answer, n, factor)
    assert message + signature == given["token"]
    verify(message, signature, modulus)
    with pytest.raises(InvalidToken):
        verify(message, answer, modulus)


def read_challenge(data: bytes) -> tuple[str, bytes, str]:
    """Read the fields of RFC 9577, section 2.1, which only tests need to read."""
    assert data[:2] == b"\0\2"
    fields, at = [], 2
    for width in (2, 1, 2):
        length = int.from_bytes(data[at : at + width])
        fields.append(data[at + width : at + width + length])
        at += width + length
    assert at == len(data)
    return fields[0].decode(), fields[1], fields[2].decode()
