"""Publishing a survey: only with the authority's key, and shown as it was written."""

import html
import json
import re
import time
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from deniable.messages import Enrolment, Schedule
from deniable.publishing.document import published_facts
from deniable.publishing.notice import Notice
from tests.cli.commands import Workplace
from tests.cli.serving import answering
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, START, manifest


def refused(place: Workplace, *options: str | Path) -> str:
    return place.fail("survey publish", place.written(), *options)


def test_publishing_tells_sequence_id_and_cost(place: Workplace) -> None:
    shown = place.publish()
    manifest = place.manifest()
    assert "published tea, sequence 0" in shown
    assert manifest.survey_id.hex() in shown
    assert "epsilon 30.000 per device in total (30 epochs of 1.000)" in shown
    assert f"deniable survey export tea --dir {place.directory} --out tea.json" in shown


def test_epochs_keys_and_costs_of_a_successor_add_up() -> None:
    keys = tuple(key.modulus for key in RSA_KEYS[:2])
    enrolment = Enrolment("blind", issuer="issuer.example.org", first=2, keys=keys)
    survey = manifest(enrolment=enrolment, schedule=Schedule(START, DAY, 4, DAY))
    facts = published_facts(survey, [], [survey], 0, START + DAY)
    told = {fact.label: fact.text for fact in facts}
    assert told["epochs"].startswith("4 of 1 day")
    assert told["keys"].startswith("one per epoch, for epochs 2 to 3, none for the first 2")
    assert told["costs"].endswith("(3 epochs of 1.000; 1 of its 4 epochs are over)")


def test_the_names_of_a_lost_store_are_numbered_on(place: Workplace) -> None:
    start = datetime.fromtimestamp(int(time.time()) - 41 * DAY, UTC).isoformat()  # the lost one's
    for question in ('"lost"', '"again"'):  # whose sequence was 0
        place.publish(start=start, epochs="60", question=question)
    assert place.manifest().schedule.epoch_at(time.time()) == 41
    assert place.manifest().sequence == 1


def test_a_successor_says_what_changed_and_marks_what_weakens_privacy(place: Workplace) -> None:
    assert "changed" not in place.publish()
    first = place.manifest().survey_id
    printed = place.publish(epsilon='"2"', question='"And now?"')
    assert "changed   ! epsilon was raised from 1 to 2" in printed
    assert "the question changed from" in printed
    said = " ".join(printed.split())
    assert f"figures start anew; for the earlier ones, use --survey {first.hex()[:12]}" in said
    assert (
        "ask for consent again; devices that answered this day will answer again in the next one"
        in said
    )
    assert "consent again" not in place.publish(epsilon='"0.5"', question='"And now?"')


def test_no_other_key_than_the_collectors_own_private_one_publishes(
    place: Workplace, tmp_path: Path
) -> None:
    other = Workplace.made(tmp_path / "other").key_file
    assert "not the current signing key" in refused(place, "--authority-key", other)
    for mode in (0o644, 0o640, 0o604, 0o620, 0o601, 0o666):
        place.key_file.chmod(mode)
        assert f"chmod 600 {place.key_file}" in refused(place)
        assert place.key_file.stat().st_mode & 0o777 == mode
    place.key_file.chmod(0o600)
    for content in (b"", b"not a key"):
        place.key_file.write_bytes(content)
        assert str(place.key_file) in refused(place)
    place.key_file.unlink()
    assert "--authority-key" in refused(place)
    assert "no survey is published" in place.succeed("survey list")


def test_the_list_tells_states_and_cuts_no_name(place: Workplace) -> None:
    long = "a-name-as-long-as-names-may-be-" + "x" * 33
    place.publish()
    place.publish(epsilon='"0.5"')
    place.publish(name=f'"{long}"', start="2020-01-01T00:00:00Z")
    place.publish(name='"later"', start="2090-01-01T00:00:00Z")
    place.publish(name='"stopped"')
    place.succeed("survey end stopped --yes")
    listed = json.loads(place.succeed("survey list --json"))
    states = {(each["name"], each["sequence"]): each["state"] for each in listed}
    assert states == {
        (long, 0): "over",
        ("later", 0): "not begun",
        ("stopped", 0): "ended",
        ("tea", 0): "superseded by 1",
        ("tea", 1): "open",
    }
    shown = place.succeed("survey list")
    told = {
        "over": "Collected until 30 January 2020; final on ",
        "not begun": "Begins on 1 January 2090 at 00:00 UTC",
        "ended": "Collected until the survey was ended on ",
        "superseded by 1": "superseded by 1 ",
        "open": "Day 1 of 30, collecting until ",
    }
    lines = {line.split()[-1]: line for line in shown.splitlines()}
    for each in listed:
        line = lines[each["id"][:12]]
        assert line.startswith(f"{each['name']} ")
        assert f" {told[each['state']]}" in line


def test_what_devices_would_refuse_by_default_is_warned_of(place: Workplace) -> None:
    assert "warning" not in place.publish(epochs="8")
    assert "lifetime_epsilon" in place.publish(name='"costly"', epochs="21")
    assert "min_epoch_seconds" in place.publish(name='"hasty"', epoch='"1 hour"')
    assert "is over" in place.publish(name='"late"', start="2020-01-01T00:00:00Z")


def test_show_tells_the_terms_of_the_newest_survey(place: Workplace) -> None:
    message = place.fail("survey show coffee")
    assert "'coffee'" in message
    assert "survey list" in message
    place.publish(epsilon='"2"')
    place.publish()
    shown = place.succeed("survey show tea")
    manifest = place.manifest()
    assert f"{manifest.survey_id.hex()}\nsequence  1\n" in shown
    assert "epsilon 1, delta 0" in shown
    assert "a response is at most 2.72 times as likely as with" in " ".join(shown.split())
    assert "30 of 1 day" in shown
    for category in manifest.categories:
        assert f"  {category}\n" in shown


def test_a_dry_run_shows_everything_and_publishes_nothing(place: Workplace) -> None:
    shown = place.dry_run(epochs="8")
    assert "would be  tea, sequence 0" in shown
    assert "epsilon 8.000 per device in total" in shown
    assert "± 5 percentage points needs" in shown
    assert "no survey is published" in place.succeed("survey list")
    published = place.publish(epochs="8")
    assert len(published.split()) <= 120
    told = published.partition("\nnext:")[0].splitlines()
    assert [line for line in told if line not in shown.splitlines()] == told[:3]


def test_what_nobody_could_estimate_is_not_published(place: Workplace) -> None:
    numbers = {"categories": "", "low": "0", "high": "400", "step": "1"}
    file = place.written(mechanism='"mean"', epsilon='"0.0000000000000001"', **numbers)
    message = place.fail("survey publish", file)
    assert message.startswith(
        f"{file}: epsilon: is too small for probabilities in steps of 2^-64; raise it"
    )
    assert "no survey is published" in place.succeed("survey list")


def test_an_epsilon_that_hides_nothing_takes_a_flag_that_says_so(place: Workplace) -> None:
    file = place.written(epsilon='"8.5"')
    for options in ([], ["--dry-run"]):
        assert "8.5 is above 8: " in place.fail("survey publish", file, *options)
    shown = " ".join(place.succeed("survey publish --hardly-private", file).split())
    assert "published tea, sequence 0" in shown
    assert "warning at epsilon 4 or more, one report can make a guess between two" in shown


def test_many_answers_are_not_all_listed(place: Workplace) -> None:
    answers = [f"page {number}" for number in range(2_000)]
    place.publish(categories=json.dumps(answers))
    listed = place.succeed("survey show tea")
    assert "  page 199\n  … 1,800 more: `deniable survey export tea` lists all\n" in listed
    assert len(listed.splitlines()) < 240


def _words(text: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


def test_the_command_and_the_page_say_what_the_notice_says(place: Workplace) -> None:
    place.publish()
    made = Notice.of(place.manifest())
    assert place.succeed("survey notice tea") == made.markdown()
    with answering(place) as server:
        status, body = server.request("GET", "/surveys/tea/about")
        missing, _ = server.request("GET", "/surveys/coffee/about")
    assert (status, missing) == (200, 404)
    learnt = made.coalitions
    told = (learnt.title, *learnt.heads, *chain(*learnt.rows), learnt.condition)
    for text in (made.title, *made.summary, *(s for _, said in made.sections for s in said), *told):
        assert text in _words(body.decode())
    assert place.run("survey notice coffee").exit_code == 1
    relayed = Notice.of(place.manifest(), relayed=True)
    assert relayed.markdown() != made.markdown()
    assert place.succeed("survey notice tea --relayed") == relayed.markdown()
    # A collector that takes reports by relays alone says so by itself, from the day on.
    begins = datetime.fromtimestamp(place.manifest().schedule.start, UTC).date()
    place.set(relays='["192.0.2.1"]', relayed_from=f'"{begins}"')
    assert place.succeed("survey notice tea") == relayed.markdown()
