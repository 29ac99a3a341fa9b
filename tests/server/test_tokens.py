"""Tokens: 256 random bits, kept as their SHA-256, with a role that has to suffice."""

import re
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp.test_utils import make_mocked_request

from deniable.directory import new_token, token_digest
from deniable.messages import Refusal
from deniable.server.routes.tokens import require_role
from deniable.stores import Role, SqliteStore, Token
from tests.server.collector import Collector
from tests.server.raw import exchange, request
from tests.support.surveys import MANIFEST


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = await SqliteStore.open(tmp_path / "store.sqlite")
    yield made
    await made.close()


async def outcome(store: SqliteStore, authorization: str, role: Role) -> str:
    request = make_mocked_request("GET", "/", headers={"Authorization": authorization})
    try:
        await require_role(request, store, role)
    except Refusal as refusal:
        return refusal.code.value
    return "allowed"


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


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("held", "needed", "expected"),
    [
        (Role.ANALYST, Role.ANALYST, "allowed"),
        (Role.OPERATOR, Role.ANALYST, "allowed"),
        (Role.OPERATOR, Role.OPERATOR, "allowed"),
        (Role.ANALYST, Role.OPERATOR, "forbidden"),
    ],
)
async def test_an_operator_may_do_what_an_analyst_may_and_not_the_other_way_round(
    store: SqliteStore, held: Role, needed: Role, expected: str
) -> None:
    token = new_token()
    await store.add_token(Token(token_digest(token), held, "", 0))
    assert await outcome(store, f"Bearer {token}", needed) == expected


@pytest.mark.asyncio
async def test_the_token_must_be_the_whole_credential_under_its_scheme(store: SqliteStore) -> None:
    token = new_token()
    await store.add_token(Token(token_digest(token), Role.OPERATOR, "", 0))
    assert await outcome(store, f"Bearer {token}", Role.ANALYST) == "allowed"
    for wrong in (
        token,
        f"Basic {token}",
        f"Bearer {token[:-1]}",
        f"Bearer {token}0",
        f"Bearer {token.upper()}",
        f"Bearer {token} {token}",
        f"Bearer {token_digest(token).hex()}",
        "Bearer",
        "",
    ):
        assert await outcome(store, wrong, Role.ANALYST) == "unauthorised"


def everything_in(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in directory.iterdir())


@pytest.mark.asyncio
async def test_the_store_holds_no_token(store: SqliteStore, tmp_path: Path) -> None:
    token = new_token()
    await store.add_token(Token(token_digest(token), Role.ANALYST, "somebody", 0))
    written = everything_in(tmp_path)
    assert token_digest(token) in written
    assert token.encode() not in written
    assert bytes.fromhex(token.removeprefix("deniable_")) not in written


@pytest.mark.asyncio
@pytest.mark.parametrize("token", [b"\xff", b"\xed\xa0\x80", b"\xc3(", b"\x80" * 100])
async def test_a_token_that_is_no_utf8_is_unauthorised(collector: Collector, token: bytes) -> None:
    line = f"GET /v1/surveys/{MANIFEST.name}/histogram HTTP/1.1".encode()
    answer = await exchange(collector, request(line, b"Authorization: Bearer " + token))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"urn:deniable:error:unauthorised" in answer
