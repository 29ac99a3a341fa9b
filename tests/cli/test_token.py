"""Tokens and links to a survey: a secret is printed once; the store keeps only its digest."""

import json
import re
import time
from itertools import pairwise

from deniable.directory import Config, token_digest, with_store
from deniable.reading import instant_text
from deniable.stores import Role, Token
from tests.cli.commands import Workplace

DAY = 86_400


def held(place: Workplace) -> dict[bytes, Token]:
    """Return what the store has, by digests."""
    tokens = with_store(Config.load(place.directory), lambda store: store.tokens())
    return {token.digest: token for token in tokens}


def make(place: Workplace, *options: str) -> str:
    made = place.run("token new", *options)
    assert made.exit_code == 0, made.output
    assert re.fullmatch("deniable_[0-9a-f]{64}\n", made.stdout), "a script reads it as one line"
    assert made.stderr == f"store     {place.directory / 'store.sqlite'}\n"
    return made.stdout.strip()


def test_the_directory_does_not_hold_the_token(place: Workplace) -> None:
    token = make(place)
    stored = b"".join(file.read_bytes() for file in place.directory.iterdir())
    assert token_digest(token) in stored
    assert token.encode() not in stored
    assert bytes.fromhex(token.removeprefix("deniable_")) not in stored


def test_tokens_are_listed_without_anything_that_opens_a_door(place: Workplace) -> None:
    assert "there is no token" in place.succeed("token list")
    label = "the statistics office; 'quoted' [b]"
    secrets = [make(place, "--label", label), make(place, "--role", "operator")]
    roles = [held(place)[token_digest(secret)].role for secret in secrets]
    assert roles == [Role.ANALYST, Role.OPERATOR]
    shown = place.succeed("token list")
    for secret in secrets:
        assert token_digest(secret).hex()[:12] in shown
        assert secret.removeprefix("deniable_")[:12] not in shown
    assert label in shown
    assert "operator" in shown


def test_a_revoked_token_opens_nothing_and_the_others_do(place: Workplace) -> None:
    secret, kept = make(place), make(place)
    identifier = token_digest(secret).hex()[:12]
    shown = place.succeed("token revoke", identifier)
    store = place.directory / "store.sqlite"
    assert shown == f"revoked   {identifier} (analyst)\nstore     {store}\n"
    assert [*held(place)] == [token_digest(kept)]
    for none in (identifier, ""):
        assert "no such token" in place.fail("token revoke", none)


def test_the_beginning_of_an_id_is_enough_if_it_is_one(place: Workplace) -> None:
    digests = sorted(token_digest(make(place)).hex() for _ in range(17))  # two begin alike
    alike = next(a[0] for a, b in pairwise(digests) if a[0] == b[0])
    assert "begin with these digits; give more digits" in place.fail("token revoke", alike)
    place.succeed("token revoke", digests[0])
    left = json.loads(place.succeed("token list --json"))
    assert sorted(each["id"] for each in left) == [digest[:12] for digest in digests[1:]]


def test_a_label_has_nothing_that_a_terminal_obeys(place: Workplace) -> None:
    for label in ("a\x1b[2J", "a\nb", "\x07"):
        result = place.run("token new --label", label)
        assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(place.succeed("token list --json")) == []
    make(place, "--label", "Zoë, 3rd floor")
    (made,) = json.loads(place.succeed("token list --json"))
    assert (made["label"], made["role"]) == ("Zoë, 3rd floor", "analyst")


def test_links_are_made_for_a_time_listed_and_revoked(place: Workplace) -> None:
    place.publish(epoch='"1 week"')
    begun = int(time.time())
    made = place.run("survey link tea --days 14 --label", "Ana [b]")
    config = Config.load(place.directory)
    match = re.fullmatch(re.escape(config.origin) + "/share#(deniable_[0-9a-f]{64})\n", made.stdout)
    assert match, "a script reads it as one line"
    link = held(place)[token_digest(match[1])]
    assert (link.role, link.survey, link.label) == (Role.READER, "tea", "Ana [b]")
    assert link.ends_at == link.created_at + 14 * DAY
    assert link.created_at >= begun
    assert f"expires   {instant_text(link.ends_at)}\n" in made.stderr
    identifier = token_digest(match[1]).hex()[:12]
    shown = place.succeed("token list")
    assert identifier in shown
    assert "Ana [b]" in shown
    assert match[1][:20] not in shown
    (listed,) = json.loads(place.succeed("token list --json"))
    assert (listed["role"], listed["survey"], listed["id"]) == ("reader", "tea", identifier)
    assert f"revoked   {identifier} (reader)" in place.succeed("token revoke", identifier)
    assert held(place) == {}


def test_a_link_needs_a_survey_and_an_end(place: Workplace) -> None:
    place.publish(epoch='"1 week"')
    assert "no" in place.fail("survey link nobody-asks")
    for length in ("0", "367", "1.5", "-1", "30d"):
        assert place.run("survey link tea --days", length).exit_code == 2
    assert place.run("token new --role reader").exit_code == 2
    assert held(place) == {}
