"""Tokens of requests: the whole credential, with a role that has to suffice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from deniable.directory import new_token, token_digest
from deniable.messages import Refusal
from deniable.server.routes.requests import require_role
from deniable.stores import Role, SqliteStore, Token
from tests.server.collector import Collector
from tests.server.sockets import exchange, request
from tests.support.surveys import MANIFEST


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = await SqliteStore.open(tmp_path / "store.sqlite")
    yield made
    await made.close()


async def outcome(store: SqliteStore, authorization: str, role: Role) -> str:
    request = make_mocked_request("GET", "/", headers={"Authorization": authorization})
    try:
        await require_role(request, store, role, 0)
    except Refusal as refusal:
        return refusal.code.value
    return "allowed"


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


@pytest.mark.parametrize("token", [b"\xff", b"\xed\xa0\x80", b"\xc3(", b"\x80" * 100])
async def test_a_token_that_is_no_utf8_is_unauthorised(collector: Collector, token: bytes) -> None:
    line = f"GET /v1/surveys/{MANIFEST.name}/histogram".encode()
    (answer,) = await exchange(collector, request(line, b"Authorization: Bearer " + token))
    assert answer.problem() == (401, "unauthorised")
