"""``deniable survey seal``, ``prune``, ``end``, ``distrust-issuer``: final, and so asked about."""

import json
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from deniable.cli import life_commands
from deniable.directory import Config, with_store
from deniable.messages import Enrolment, SigningKey, sign_manifest
from deniable.stores import KEPT_SECONDS, Store, Verdict
from tests.cli.commands import Workplace, fail, run, succeed
from tests.support.reports import report
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import AUTHORITY, manifest

Result = TypeVar("Result")

ISSUER = SigningKey(b"issuer's seed of the tests 00001").public_key
STRANGER = SigningKey(b"a stranger's seed of tests 00003").public_key


@pytest.fixture
def counted(place: Workplace) -> Workplace:
    """Return a collector with a survey of 30 days that began long ago, and 5 reports of day 0."""
    long_ago = datetime.now(UTC).replace(microsecond=0) - timedelta(days=100)
    place.publish(start=long_ago.isoformat())
    place.count([0, 1, 1, 2, 3])
    return place


@pytest.fixture
def running(place: Workplace) -> Workplace:
    """Return a collector with a survey whose epoch 0 takes reports."""
    place.publish()
    place.count([0, 1, 1])
    return place


def store_line(place: Workplace) -> str:
    return f"store     {place.directory / 'store.sqlite'}\n"


def at(place: Workplace, work: Callable[[Store], Awaitable[Result]]) -> Result:
    return with_store(Config.load(place.directory), work)


def verdict(place: Workplace, device: int = 90, epoch: int = 0) -> Verdict:
    survey = place.manifest()
    (found,) = at(place, lambda store: store.add([report(device, epoch=epoch, survey=survey)]))
    return found


def test_a_closed_epoch_is_sealed_and_its_digest_told(counted: Workplace) -> None:
    shown = succeed("survey", "seal", "tea", "0", "--yes", "--dir", counted.directory)
    survey_id = counted.manifest().survey_id
    (seal,) = at(counted, lambda store: store.seals(survey_id))
    assert f"digest    {seal.digest.hex()}\n" in shown
    assert "reports   5\n" in shown
    assert shown.endswith(store_line(counted))
    assert verdict(counted) is Verdict.SEALED
    # To seal again is to be told of the seal that stands, and asks nothing.
    assert succeed("survey", "seal", "tea", "0", "--dir", counted.directory) == shown


def test_seals_are_looked_at_without_making_one(counted: Workplace) -> None:
    seals = ("survey", "seals", "tea", "--dir", counted.directory)
    assert succeed(*seals) == "no epoch is sealed\n"
    assert json.loads(succeed(*seals, "--json")) == []
    made = succeed("survey", "seal", "tea", "0", "--yes", "--dir", counted.directory)
    assert succeed(*seals) + store_line(counted) == made
    (seal,) = json.loads(succeed(*seals, "--json"))
    assert (seal["epoch"], seal["reports"], seal["pruned_at"]) == (0, 5, None)
    assert f"digest    {seal['digest']}\n" in made


def test_an_epoch_that_takes_reports_is_sealed_only_if_told_twice(running: Workplace) -> None:
    options = ("survey", "seal", "tea", "0", "--yes", "--dir", running.directory)
    assert "--early" in fail(*options)
    assert verdict(running) is Verdict.ACCEPTED
    succeed(*options, "--early")
    assert verdict(running, 91) is Verdict.SEALED


@pytest.mark.parametrize(
    ("words", "still"),
    [
        (("seal", "tea", "0", "--early"), Verdict.ACCEPTED),
        (("end", "tea"), Verdict.ACCEPTED),
    ],
)
def test_whoever_does_not_say_yes_has_done_nothing(
    running: Workplace, words: tuple[str, ...], still: Verdict
) -> None:
    result = run("survey", *words, "--dir", running.directory)
    assert result.exit_code == 1
    assert "for good?" in result.stderr
    assert result.stdout == ""
    assert verdict(running) is still


def test_an_epoch_that_the_survey_does_not_have(counted: Workplace) -> None:
    for command in ("seal", "prune"):
        shown = fail("survey", command, "tea", "30", "--yes", "--dir", counted.directory)
        assert shown == "tea has epochs 0 to 29"


def test_receipts_are_erased_a_day_after_the_seal(
    counted: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune = ("survey", "prune", "tea", "0", "--yes", "--dir", counted.directory)
    assert "24 hours" in fail(*prune)
    succeed("survey", "seal", "tea", "0", "--yes", "--dir", counted.directory)
    assert "24 hours" in fail(*prune)
    tomorrow = int(time.time()) + KEPT_SECONDS
    monkeypatch.setattr(life_commands, "_now", lambda: tomorrow)
    assert succeed(*prune) == f"erased    5 receipts; the counts stay\n{store_line(counted)}"
    assert succeed(*prune) == f"erased    0 receipts; the counts stay\n{store_line(counted)}"
    body = json.loads(succeed("hist", "tea", "--json", "--dir", counted.directory))
    assert body["n"] == 5


def test_an_ended_survey_takes_nothing_and_its_successor_does(running: Workplace) -> None:
    shown = succeed("survey", "end", "tea", "--yes", "--dir", running.directory)
    assert shown == f"ended     tea (sequence 0)\n{store_line(running)}"
    assert verdict(running) is Verdict.ENDED
    assert succeed("survey", "end", "tea", "--dir", running.directory) == shown
    running.publish(question='"How often do you drink green tea?"')
    assert verdict(running, epoch=running.manifest().schedule.epochs - 1) is Verdict.ACCEPTED


BLIND = Enrolment(
    "blind", issuer="issuer.example.org", first=4, keys=tuple(key.modulus for key in RSA_KEYS)
)


@pytest.fixture
def certified(place: Workplace) -> Workplace:
    """Return a collector with a survey whose devices an issuer vouches for, and 3 reports."""
    return vouched(place, Enrolment("certificate", (ISSUER,)))


def vouched(place: Workplace, enrolment: Enrolment) -> Workplace:
    """Return a collector with such a survey, and 3 reports that its issuer vouched for."""
    config = Config.load(place.directory)
    survey = manifest(name="tea", origin=config.origin, enrolment=enrolment, minimum_reports=1)
    (issuer,) = enrolment.issuer_ids

    async def fill(store: Store) -> None:
        await store.publish(survey, sign_manifest(survey, AUTHORITY))
        await store.add([report(device, survey=survey, issuer=issuer) for device in range(3)])

    text = place.settings.read_text("utf-8")
    place.settings.write_text(
        re.sub('authority = ".*"', f'authority = "{AUTHORITY.public_key.hex()}"', text), "utf-8"
    )
    at(place, fill)
    return place


@pytest.mark.parametrize(
    ("enrolment", "issuer", "vouching"),
    [
        (Enrolment("certificate", (ISSUER,)), ISSUER.hex(), ISSUER.hex()[:16]),
        (BLIND, BLIND.issuer, f"{BLIND.issuer}, who cannot tell which report is whose"),
    ],
)
def test_a_distrusted_issuer_vouches_for_nobody_and_figures_say_so(
    place: Workplace, enrolment: Enrolment, issuer: str, vouching: str
) -> None:
    vouched(place, enrolment)
    show = ("survey", "show", "tea", "--dir", place.directory)
    hist = ("hist", "tea", "--dir", place.directory)
    assert f"issuer    {issuer} (trusted)\n" in succeed(*show)
    assert "not trusted" not in succeed(*hist)
    assert f"vouched for by {vouching}" in " ".join(succeed(*hist).split())
    shown = succeed("survey", "distrust-issuer", issuer, "--yes", "--dir", place.directory)
    assert "tea (sequence 0)" in shown
    assert shown.endswith(f"store       {place.directory / 'store.sqlite'}\n")
    assert f"issuer    {issuer} (DISTRUSTED" in succeed(*show)
    assert "3 of 3 reports were vouched for by issuers" in succeed(*hist)
    assert json.loads(succeed(*hist, "--json"))["distrusted"] == 3


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        (STRANGER.hex(), "no published survey"),
        ("00" * 32, "bad-key"),
        ("other.example.org", "no published survey"),
    ],
)
def test_a_key_that_is_no_issuers_is_refused(
    certified: Workplace, key: str, complaint: str
) -> None:
    shown = fail("survey", "distrust-issuer", key, "--yes", "--dir", certified.directory)
    assert complaint in shown
    assert at(certified, lambda store: store.distrusted()) == frozenset()


def test_a_key_that_is_none_is_refused(certified: Workplace) -> None:
    result = run("survey", "distrust-issuer", "AB" * 32, "--yes", "--dir", certified.directory)
    assert result.exit_code == 2
    assert "64" in result.stderr
