"""``deniable survey seal``, ``end``, ``distrust-issuer``: final, and so asked about."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory import Config, with_store
from deniable.messages import Enrolment, SigningKey
from deniable.stores import Store, Verdict
from tests.cli.commands import Workplace
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
    assert counted.fail("survey seal tea 30 --yes") == "tea has epochs 0 to 29"
    shown = counted.succeed("survey seal tea 0 --yes")
    assert shown.endswith(store_line(counted))
    assert "reports   5\n" in shown
    (seal,) = json.loads(counted.succeed("survey epochs tea --json"))["epochs"]
    assert (seal["epoch"], seal["n"], seal["pruned_at"]) == (0, 5, None)
    survey_id = counted.manifest().survey_id
    (stored,) = at(counted, lambda store: store.seals(survey_id))
    assert seal["seal"] == stored.digest.hex()
    assert f"digest    {seal['seal']}\n" in shown
    assert verdict(counted) is Verdict.SEALED
    # To seal again is to be told of the seal that stands, and asks nothing.
    assert counted.succeed("survey seal tea 0") == shown


def test_an_epoch_that_takes_reports_is_sealed_only_if_told_twice(running: Workplace) -> None:
    for words in ("seal tea 0 --early", "end tea"):
        result = running.run(f"survey {words}")  # and nobody says yes
        assert (result.exit_code, result.stdout) == (1, "")
        assert "for good?" in result.stderr
    assert "--early" in running.fail("survey seal tea 0 --yes")
    assert verdict(running) is Verdict.ACCEPTED
    running.succeed("survey seal tea 0 --yes --early")
    assert verdict(running, 91) is Verdict.SEALED


def test_an_ended_survey_takes_nothing_and_its_successor_does(running: Workplace) -> None:
    shown = running.succeed("survey end tea --yes")
    assert shown == f"ended     tea (sequence 0)\n{store_line(running)}"
    assert verdict(running) is Verdict.ENDED
    assert running.succeed("survey end tea") == shown
    running.publish(question='"How often do you drink green tea?"')
    assert verdict(running, epoch=running.manifest().schedule.epochs - 1) is Verdict.ACCEPTED


BLIND = Enrolment(
    "blind", issuer="issuer.example.org", first=4, keys=tuple(key.modulus for key in RSA_KEYS)
)


def vouched(place: Workplace, enrolment: Enrolment) -> Workplace:
    """Return a collector with such a survey, and 3 reports that its issuer vouched for."""
    config = Config.load(place.directory)
    survey = manifest(name="tea", origin=config.origin, enrolment=enrolment, minimum_reports=1)
    (issuer,) = enrolment.issuer_ids

    async def fill(store: Store) -> None:
        await store.publish(survey, sign_manifest(survey, AUTHORITY))
        await store.add([report(device, survey=survey, issuer=issuer) for device in range(3)])

    place.set(authority=f'"{AUTHORITY.public_key.hex()}"')
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
    assert f"issuer    {issuer} (trusted)\n" in place.succeed("survey show tea")
    shown = place.succeed("hist tea")
    assert "not trusted" not in shown
    assert f"vouched for by {vouching}" in " ".join(shown.split())
    shown = place.succeed("survey distrust-issuer --yes", issuer)
    assert "tea (sequence 0)" in shown
    assert shown.endswith(f"store       {place.directory / 'store.sqlite'}\n")
    assert f"issuer    {issuer} (DISTRUSTED" in place.succeed("survey show tea")
    assert "3 of 3 reports were vouched for by issuers" in place.succeed("hist tea")
    assert json.loads(place.succeed("hist tea --json"))["distrusted"] == 3


def test_a_key_that_is_no_issuers_is_refused(place: Workplace) -> None:
    vouched(place, Enrolment("certificate", (ISSUER,)))
    for key, complaint in (
        (STRANGER.hex(), "no published survey"),
        ("00" * 32, "bad-key"),
        ("other.example.org", "no published survey"),
    ):
        assert complaint in place.fail("survey distrust-issuer --yes", key)
    result = place.run("survey distrust-issuer --yes", "AB" * 32)
    assert (result.exit_code, "64" in result.stderr) == (2, True)
    assert at(place, lambda store: store.distrusted()) == frozenset()
