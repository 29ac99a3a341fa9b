"""``deniable token``: a secret is printed once; the store keeps only its digest."""

import asyncio
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from deniable.directory import Config, token_digest
from deniable.stores import Role, SqliteStore
from tests.cli.commands import Workplace, fail, run, succeed


def role_of(place: Workplace, token: str) -> Role | None:
    async def look() -> Role | None:
        store = await SqliteStore.open(Path(Config.load(place.directory).store))
        try:
            held = await store.token(token_digest(token))
            return None if held is None else held.role
        finally:
            await store.close()

    return asyncio.run(look())


def make(place: Workplace, *options: str) -> str:
    made = run("token", "new", "--dir", place.directory, *options)
    assert made.exit_code == 0, made.output
    assert re.fullmatch("deniable_[0-9a-f]{64}\n", made.stdout), "a script reads it as one line"
    assert made.stderr == f"store     {place.directory / 'store.sqlite'}\n"
    return made.stdout.strip()


@pytest.mark.parametrize("role", [Role.ANALYST, Role.OPERATOR])
def test_a_token_has_the_role_that_was_asked_for(place: Workplace, role: Role) -> None:
    token = make(place, "--role", role.value, "--label", "the statistics office; 'quoted' [b]")
    assert role_of(place, token) is role


def test_the_directory_does_not_hold_the_token(place: Workplace) -> None:
    token = make(place)
    held = b"".join(file.read_bytes() for file in place.directory.iterdir())
    assert token_digest(token) in held
    assert token.encode() not in held
    assert bytes.fromhex(token.removeprefix("deniable_")) not in held


def test_tokens_are_listed_without_anything_that_opens_a_door(place: Workplace) -> None:
    assert "there is no token" in succeed("token", "list", "--dir", place.directory)
    secrets = [make(place, "--label", "Ana [bold]"), make(place, "--role", "operator")]
    shown = succeed("token", "list", "--dir", place.directory)
    for secret in secrets:
        assert token_digest(secret).hex()[:12] in shown
        assert secret.removeprefix("deniable_")[:12] not in shown
    assert "Ana [bold]" in shown
    assert "operator" in shown


def test_a_revoked_token_opens_nothing_and_the_others_do(place: Workplace) -> None:
    secret, kept = make(place), make(place)
    identifier = token_digest(secret).hex()[:12]
    shown = succeed("token", "revoke", identifier, "--dir", place.directory)
    store = place.directory / "store.sqlite"
    assert shown == f"revoked   {identifier} (analyst)\nstore     {store}\n"
    assert [role_of(place, secret), role_of(place, kept)] == [None, Role.ANALYST]
    assert "no such token" in fail("token", "revoke", identifier, "--dir", place.directory)
    assert "no such token" in fail("token", "revoke", "", "--dir", place.directory)


def test_the_beginning_of_an_id_is_enough_if_it_is_one(place: Workplace) -> None:
    digests = sorted(token_digest(make(place)).hex() for _ in range(17))  # two begin alike
    alike = next(a[0] for a, b in pairwise(digests) if a[0] == b[0])
    assert "give more of it" in fail("token", "revoke", alike, "--dir", place.directory)
    succeed("token", "revoke", digests[0], "--dir", place.directory)
    left = json.loads(succeed("token", "list", "--json", "--dir", place.directory))
    assert sorted(each["id"] for each in left) == [digest[:12] for digest in digests[1:]]


def test_a_label_has_nothing_that_a_terminal_obeys(place: Workplace) -> None:
    for label in ("a\x1b[2J", "a\nb", "\x07"):
        result = run("token", "new", "--label", label, "--dir", place.directory)
        assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(succeed("token", "list", "--json", "--dir", place.directory)) == []
    make(place, "--label", "Zoë, 3rd floor")
    (held,) = json.loads(succeed("token", "list", "--json", "--dir", place.directory))
    assert held["label"] == "Zoë, 3rd floor"
    assert held["role"] == "analyst"
