"""Privacy Pass tokens with @cloudflare/privacypass-ts: its client, its issuer and its verifier."""

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from deniable.enrolment import SqliteIssuanceRecord
from deniable.enrolment.routes import token_route
from deniable.messages import Manifest
from deniable.messages.blind import CONTEXT_BLIND, blind_request, blind_token_input
from deniable.privacy_pass import (
    MODULUS_BYTES,
    public_key_info,
    token_challenge,
    token_input,
    token_key_id,
    verify,
)
from tests.enrolment.blind_issuers import BLIND, blind_issuer, key_directory
from tests.support.clock import FakeClock
from tests.support.other_languages import Ask, node
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import START
from tests.vectors.scene import BLIND_SURVEY, DEVICE_SECRET, EPOCH, report_key

KEY = RSA_KEYS[EPOCH - BLIND_SURVEY.enrolment.first]
INFO = public_key_info(KEY.modulus)


@pytest.fixture(scope="module")
def theirs() -> Iterator[Ask]:
    script = Path(__file__).with_name("privacy_pass.mjs")
    with node(script, "@cloudflare/privacypass-ts") as ask:
        yield ask


async def signed_in(request: web.Request) -> str | None:
    return request.headers.get("Authorization")


def challenge(survey: Manifest = BLIND_SURVEY, epoch: int = EPOCH) -> bytes:
    context = sha256(CONTEXT_BLIND + survey.survey_id + epoch.to_bytes(8)).digest()
    host = survey.origin.partition("://")[2]
    return token_challenge(survey.enrolment.issuer, context, host)


def test_their_issuer_answers_our_requests_and_their_verifier_takes_our_tokens(theirs: Ask) -> None:
    request = blind_request(DEVICE_SECRET, BLIND_SURVEY, EPOCH)
    answered = theirs("issue", private_key=KEY.pkcs8, public_key=INFO, request=request.body)
    assert answered["id"] == token_key_id(KEY.modulus).hex()
    credential = request.finish(bytes.fromhex(answered["answer"]))
    public_key = report_key(BLIND_SURVEY).public_key
    message = blind_token_input(BLIND_SURVEY, EPOCH, public_key)
    told = theirs("verify", public_key=INFO, token=message + credential, challenge=challenge())
    assert told == {
        "verified": True,
        "nonce": public_key.hex(),
        "challenge": challenge().hex(),
        "issuer": BLIND_SURVEY.enrolment.issuer,
        "origin": ["collector.example:8443"],
    }
    spoiled = bytes([message[-1] ^ 1])
    token = message[:-1] + spoiled + credential
    told = theirs("verify", public_key=INFO, token=token, challenge=challenge())
    assert told["verified"] is False


async def test_their_client_gets_a_token_for_its_own_nonce_from_our_issuers_route(
    theirs: Ask, tmp_path: Path
) -> None:
    key = RSA_KEYS[0]
    info = public_key_info(key.modulus)
    asked = theirs("ask", public_key=info, challenge=challenge(BLIND, 0))["request"]
    app = web.Application()
    with SqliteIssuanceRecord(tmp_path / "issued.sqlite") as record:
        ours = blind_issuer(record, key_directory(tmp_path))
        app.add_routes([token_route(ours, signed_in, clock=FakeClock(START))])
        async with TestServer(app) as server:
            url = str(server.make_url("/v1/enrolments/blind/0"))
            given = {"url": url, "account": "ann", "request": asked}
            answer = (await asyncio.to_thread(theirs, "send", **given))["answer"]
    token = bytes.fromhex(theirs("finish", answer=answer)["token"])
    message, credential = token[:-MODULUS_BYTES], token[-MODULUS_BYTES:]
    digest = sha256(challenge(BLIND, 0)).digest()
    assert message == token_input(message[2:34], digest, token_key_id(key.modulus))
    verify(message, credential, key.modulus)
