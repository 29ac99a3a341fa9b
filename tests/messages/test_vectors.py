"""Golden vectors of messages, made again without our code.

That ours agrees with every result, the bad ones too, is in tests/vectors.
"""

import hmac
import math
from hashlib import sha256, sha384
from itertools import count
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384
from msgpack.fallback import Packer
from nacl.public import PrivateKey
from nacl.signing import SigningKey

from deniable.counterparts.signing import verify_credential
from deniable.messages import SignedReport
from deniable.privacy_pass import public_key_info
from tests.vectors.stored import mechanism_of, name_of, read, vectors_of

AUTHORITY_SEED = bytes.fromhex(read("manifests")["testGroups"][0]["authority_seed"])


def pack(value: object) -> bytes:
    """Pack with msgpack's pure Python half: another implementation than the compiled one."""
    packed: bytes = Packer().pack(value)
    return packed


def signed(seed: bytes, context: bytes, payload: bytes) -> bytes:
    """Sign with libsodium: another implementation than OpenSSL."""
    return SigningKey(seed).sign(context + payload).signature


@pytest.mark.parametrize("vector", vectors_of("manifests", result="valid"), ids=name_of)
def test_golden_manifests_follow_from_their_fields(vector: dict[str, Any]) -> None:
    fields = dict(vector["fields"])
    fields["nonce"] = bytes.fromhex(fields["nonce"])
    for keys in ("issuers", "keys"):
        if keys in fields["enrolment"]:
            listed = [bytes.fromhex(key) for key in fields["enrolment"][keys]]
            fields["enrolment"] = fields["enrolment"] | {keys: listed}
    fields["mechanism"] = mechanism_of(fields)
    fields["minimum_reports"] = int(fields["minimum_reports"])
    payload = pack(fields)
    assert payload.hex() == vector["payload"]
    assert sha256(payload).hexdigest() == vector["survey_id"]
    signature = signed(AUTHORITY_SEED, b"deniable/manifest/v1\0", payload)
    assert pack([payload, signature]).hex() == vector["envelope"]


@pytest.mark.parametrize("vector", vectors_of("report_keys"), ids=name_of)
def test_golden_reports_follow_from_the_devices_secret(vector: dict[str, Any]) -> None:
    survey_id, epoch = bytes.fromhex(vector["survey_id"]), int(vector["epoch"])
    # HKDF-SHA256 by hand (RFC 5869): extract, and one block of expand.
    extracted = hmac.digest(survey_id, bytes.fromhex(vector["device_secret"]), sha256)
    info = b"deniable/report-key/v1\0" + epoch.to_bytes(8, "big")
    seed = hmac.digest(extracted, info + b"\1", sha256)
    payload = pack([survey_id, epoch, int(vector["response"])])
    assert seed.hex() == vector["signing_seed"]
    assert bytes(SigningKey(seed).verify_key).hex() == vector["public_key"]
    assert payload.hex() == vector["payload"]
    signature = signed(seed, b"deniable/report/v1\0", payload)
    assert signature.hex() == vector["signature"]
    vouched = bytes.fromhex(vector["credential"]) if vector["credential"] else None
    envelope = pack([bytes.fromhex(vector["public_key"]), payload, signature, vouched])
    assert envelope.hex() == vector["envelope"]


def test_the_golden_credential_follows_from_the_issuers_key() -> None:
    (vector,) = vectors_of("enrolments", result="valid")
    survey_id, key = bytes.fromhex(vector["survey_id"]), bytes.fromhex(vector["public_key"])
    statement = pack([survey_id, int(vector["epoch"]), key])
    vouched = signed(bytes.fromhex(vector["issuer_seed"]), b"deniable/enrol/v1\0", statement)
    assert vouched.hex() == vector["credential"]
    assert (statement.hex(), pack(vouched).hex()) == (vector["request"], vector["answer"])
    (report,) = [v for v in vectors_of("report_keys") if v["credential"] == vector["credential"]]
    assert report["public_key"] == vector["public_key"]
    read = SignedReport.from_envelope(bytes.fromhex(report["envelope"]))
    verify_credential(read, [bytes.fromhex(vector["issuer"])])


@pytest.mark.parametrize("vector", vectors_of("blind_tokens", result="valid"), ids=name_of)
def test_golden_tokens_follow_from_the_devices_secret_and_the_issuers_primes(
    vector: dict[str, Any],
) -> None:
    epoch = int(vector["epoch"])
    (primes,) = (keys for keys in vector["issuer_keys"] if keys["epoch"] == epoch)
    p, q = int(primes["p"], 16), int(primes["q"], 16)
    n = p * q
    survey_id, key, credential = (
        bytes.fromhex(vector[name]) for name in ("survey_id", "public_key", "credential")
    )
    # RFC 9577: the challenge, and what is signed.
    context = sha256(b"deniable/blind/v1\0" + survey_id + epoch.to_bytes(8)).digest()
    issuer, host = vector["issuer"].encode(), vector["origin"].removeprefix("https://").encode()
    challenge = b"\0\2\0" + bytes([len(issuer)]) + issuer + b"\x20" + context
    challenge += b"\0" + bytes([len(host)]) + host
    key_id = sha256(public_key_info(n.to_bytes(256))).digest()
    message = b"\0\2" + key + sha256(challenge).digest() + key_id
    assert (key_id.hex(), message.hex()) == (vector["token_key_id"], vector["token_input"])
    assert sha256(issuer).hexdigest() == vector["issuer_id"]
    # RFC 8017: the token verifies, and its encoded message tells the salt.
    public_key = RSAPublicNumbers(65537, n).public_key()
    public_key.verify(credential, message, PSS(MGF1(SHA384()), 48), SHA384())
    encoded = pow(int.from_bytes(credential), 65537, n)
    block, digest = encoded.to_bytes(256)[:207], encoded.to_bytes(256)[207:255]
    mask = b"".join(sha384(digest + bytes([0, 0, 0, i])).digest() for i in range(5))[:207]
    salt = bytes(a ^ b for a, b in zip(block, mask, strict=True))[-48:]
    # RFC 5869 by hand: extract, and as many blocks of expand as it takes.
    extracted = hmac.digest(survey_id, bytes.fromhex(vector["device_secret"]), sha256)

    def derive(label: bytes, counter: int, length: int) -> bytes:
        info = label + epoch.to_bytes(8) + key_id + counter.to_bytes(8)
        blocks = [b""]
        for number in range(1, length // 32 + 2):
            blocks.append(hmac.digest(extracted, blocks[-1] + info + bytes([number]), sha256))
        return b"".join(blocks)[:length]

    assert salt == derive(b"deniable/blind-salt/v1\0", 0, 48) == bytes.fromhex(vector["salt"])
    drawn = (
        int.from_bytes(derive(b"deniable/blind-factor/v1\0", counter, 256)) for counter in count()
    )
    factor = next(number for number in drawn if number < n and math.gcd(number, n) == 1)
    assert factor == int(vector["blind"], 16)
    blinded = encoded * pow(factor, 65537, n) % n
    assert vector["request"] == (b"\0\2" + key_id[-1:] + blinded.to_bytes(256)).hex()
    answered = pow(blinded, pow(65537, -1, (p - 1) * (q - 1)), n)
    assert vector["answer"] == answered.to_bytes(256).hex()


@pytest.mark.parametrize("vector", vectors_of("rotations", "Rotation"), ids=name_of)
def test_golden_rotations_follow_from_the_two_keys(vector: dict[str, Any]) -> None:
    old_seed, new_seed = bytes.fromhex(vector["old_seed"]), bytes.fromhex(vector["new_seed"])
    old_key, new_key = (bytes(SigningKey(each).verify_key) for each in (old_seed, new_seed))
    assert (old_key.hex(), new_key.hex()) == (vector["old_key"], vector["new_key"])
    payload = pack([old_key, new_key, int(vector["sequence"])])
    assert payload.hex() == vector["payload"]
    old_signature = signed(old_seed, b"deniable/authority/v1\0", payload)
    new_signature = signed(new_seed, b"deniable/authority-accept/v1\0", payload)
    assert pack([payload, old_signature, new_signature]).hex() == vector["envelope"]


def test_the_golden_gateway_keys_are_the_authoritys_and_of_their_private_halves() -> None:
    (vector,) = vectors_of("gateway_keys", result="valid")
    listed = b""
    for identifier, private in vector["private_keys"].items():
        key = PrivateKey(bytes.fromhex(private))
        listed += b"\0\x29" + bytes((int(identifier), 0, 0x20))
        listed += bytes(key.public_key) + bytes.fromhex("000400010001")
    payload = pack(["https://collector.example", 1, listed])
    assert payload.hex() == vector["payload"]
    signature = signed(AUTHORITY_SEED, b"deniable/gateway/v1\0", payload)
    assert pack([payload, signature]).hex() == vector["envelope"]
