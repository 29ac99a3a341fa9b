"""Privacy Pass tokens with @cloudflare/privacypass-ts: its client, its issuer and its verifier."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from deniable.messages import blind_request, blind_token_input
from deniable.messages.blind import CONTEXT_BLIND
from deniable.privacy_pass import (
    MODULUS_BYTES,
    TokenChallenge,
    public_key_info,
    token_input,
    token_key_id,
    verify,
)
from tests.support.node import Ask, node
from tests.support.rsa_keys import RSA_KEYS
from tests.vectors.scene import BLIND_SURVEY, DEVICE_SECRET, EPOCH, report_key

KEY = RSA_KEYS[EPOCH - BLIND_SURVEY.enrolment.first]
INFO = public_key_info(KEY.modulus)
ISSUER = "issuer.example"
HOST = "collector.example:8443"


@pytest.fixture(scope="module")
def theirs() -> Iterator[Ask]:
    script = Path(__file__).with_name("privacy_pass.mjs")
    with node(script, "@cloudflare/privacypass-ts") as ask:
        yield ask


def challenge() -> bytes:
    context = sha256(CONTEXT_BLIND + BLIND_SURVEY.survey_id + EPOCH.to_bytes(8)).digest()
    return TokenChallenge(ISSUER, context, HOST).encode()


def test_their_issuer_answers_our_requests_and_their_verifier_takes_our_tokens(
    theirs: Ask,
) -> None:
    request = blind_request(DEVICE_SECRET, BLIND_SURVEY, EPOCH)
    answered = theirs("issue", private_key=KEY.pkcs8(), public_key=INFO, request=request.body)
    assert answered["id"] == token_key_id(KEY.modulus).hex()
    credential = request.finish(bytes.fromhex(answered["answer"]))
    public_key = report_key(BLIND_SURVEY).public_key
    message = blind_token_input(BLIND_SURVEY, EPOCH, public_key)
    told = theirs("verify", public_key=INFO, token=message + credential, challenge=challenge())
    assert told == {
        "verified": True,
        "nonce": public_key.hex(),
        "challenge": challenge().hex(),
        "issuer": ISSUER,
        "origin": [HOST],
    }
    spoiled = bytes([message[-1] ^ 1])
    token = message[:-1] + spoiled + credential
    told = theirs("verify", public_key=INFO, token=token, challenge=challenge())
    assert told["verified"] is False


def test_their_client_asks_with_a_nonce_of_its_own_and_we_verify_its_token(theirs: Ask) -> None:
    asked = bytes.fromhex(theirs("ask", public_key=INFO, challenge=challenge())["request"])
    token = bytes.fromhex(theirs("finish", answer=KEY.answer(asked))["token"])
    message, credential = token[:-MODULUS_BYTES], token[-MODULUS_BYTES:]
    digest = sha256(challenge()).digest()
    assert message == token_input(message[2:34], digest, token_key_id(KEY.modulus))
    verify(message, credential, KEY.modulus)
