"""``survey link`` and ``survey public``: what the store has of them, and no secret."""

import json
import re
import time

from deniable.directory import Config, token_digest, with_store
from deniable.reading import instant_text
from deniable.stores import Role
from tests.cli.commands import Workplace, fail, run, succeed

DAY = 86_400
SURVEY = """
name = "mood"
question = "How are you?"
categories = ["well", "ill"]
epsilon = "1"
epoch = "1 week"
epochs = 4
"""


def test_links_are_made_for_a_time_listed_and_revoked(place: Workplace) -> None:
    place.publish(SURVEY)
    at = ("--dir", place.directory)
    begun = int(time.time())
    made = run("survey", "link", "mood", "--for", "2w", "--label", "Ana [b]", *at)
    config = Config.load(place.directory)
    match = re.fullmatch(re.escape(config.origin) + "/share#(deniable_[0-9a-f]{64})\n", made.stdout)
    assert match, "a script reads it as one line"
    (held,) = with_store(config, lambda store: store.tokens())
    assert held.digest == token_digest(match[1])
    assert (held.role, held.survey, held.label) == (Role.READER, "mood", "Ana [b]")
    assert held.ends_at == held.created_at + 14 * DAY
    assert held.created_at >= begun
    assert f"ends      {instant_text(held.ends_at)}\n" in made.stderr
    shown = succeed("survey", "link", "mood", "--list", *at)
    identifier = token_digest(match[1]).hex()[:12]
    assert identifier in shown
    assert "Ana [b]" in shown
    assert match[1][:20] not in shown
    (listed,) = json.loads(succeed("token", "list", "--json", *at))
    assert (listed["role"], listed["survey"], listed["id"]) == ("reader", "mood", identifier)
    assert f"revoked   {identifier}" in succeed(
        "survey", "link", "mood", "--revoke", identifier, *at
    )
    assert with_store(config, lambda store: store.tokens()) == []
    assert "no such token" in fail("survey", "link", "mood", "--revoke", identifier, *at)
    assert "there is no link" in succeed("survey", "link", "mood", "--list", *at)


def test_a_link_needs_a_survey_and_an_end(place: Workplace) -> None:
    place.publish(SURVEY)
    at = ("--dir", place.directory)
    assert "no" in fail("survey", "link", "nobody-asks", *at)
    assert run("survey", "link", "mood", "--list", "--revoke", "ab", *at).exit_code == 2
    for length in ("0d", "367d", "53w", "1", "1.5d", "-1d", "d", "forever"):
        assert run("survey", "link", "mood", "--for", length, *at).exit_code == 2
    assert run("token", "new", "--role", "reader", *at).exit_code == 2
    assert with_store(Config.load(place.directory), lambda store: store.tokens()) == []


def test_what_is_decided_of_a_survey_holds_against_the_setting(place: Workplace) -> None:
    place.publish(SURVEY)
    at = ("--dir", place.directory)
    assert "public    no, by the setting\n" in succeed("survey", "public", "mood", *at)
    file = place.directory / "collector.toml"
    file.write_text('public = ["mood"]\n' + file.read_text())
    assert "public    yes, by the setting\n" in succeed("survey", "public", "mood", *at)
    for option, answer in (("--off", "no"), ("--on", "yes")):
        expected = f"public    {answer}, decided by survey public\n"
        assert expected in succeed("survey", "public", "mood", option, *at)
        assert expected in succeed("survey", "public", "mood", *at)
