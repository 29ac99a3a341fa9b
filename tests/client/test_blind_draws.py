"""One answer an epoch: blind surveys have one grid, and a device draws which of them it answers."""

from collections import Counter
from dataclasses import replace
from typing import Final
from unittest.mock import Mock

import pytest

from deniable.client import Client, EnrolmentRequest, ManifestFault, ManifestRefused, NotChosen
from deniable.client.optional.credential_rows import chosen_survey
from deniable.messages import Enrolment, Manifest, Schedule
from tests.support.devices import Bench, read_upload
from tests.support.surveys import DAY, DECLARED, START, manifest
from tests.support.vouched import BlindIssuer

NAMES: Final = ("light", "tabs", "theme")
SECRET: Final = b"\x55" * 32
GRID: Final = Schedule(START, DAY, 4, DAY)


class Several:
    """A bench whose app declares several surveys, and their one issuer."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.issuer = BlindIssuer()
        self.asked: list[tuple[str, int]] = []
        bench.surveys = [replace(DECLARED, name=name) for name in NAMES]
        bench.transport.manifests.clear()

    def publish(self, name: str, schedule: Schedule = GRID, *, blind: bool = True) -> Manifest:
        keys = self.issuer.enrolment.keys[: schedule.epochs]
        enrolment = replace(self.issuer.enrolment, keys=keys) if blind else Enrolment()
        survey = manifest(name=name, enrolment=enrolment, schedule=schedule)
        self.bench.transport.publish(survey)
        return survey

    def client(self, consent: str = "on") -> Client:
        return self.bench.client(enrol=self._enrol, lifetime_epsilon="100", consent=consent)

    def _enrol(self, request: EnrolmentRequest) -> bytes | None:
        self.asked.append((request.survey, request.epoch))
        return self.issuer(request)


@pytest.fixture
def several(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Several:
    monkeypatch.setattr(
        "deniable.client.state.state_file.os", Mock(urandom=lambda count: SECRET[:count])
    )
    return Several(bench)


def answered(client: Client) -> list[str]:
    """Return the surveys for which a report stands; of the others another is answered."""
    outcomes = {name: client.report(name, "good") for name in NAMES}
    errors = [outcome.error for outcome in outcomes.values() if not outcome.ok]
    assert all(isinstance(error, NotChosen) for error in errors), errors
    return [name for name, outcome in outcomes.items() if outcome.ok]


def test_of_several_surveys_each_epoch_has_one_request_and_one_report(several: Several) -> None:
    for name in NAMES:
        several.publish(name)
    drawn = [chosen_survey(SECRET, START + epoch * DAY, NAMES) for epoch in range(4)]
    assert len(set(drawn)) > 1
    for epoch, name in enumerate(drawn):
        several.bench.clock.time = START + epoch * DAY
        for _ in range(2):  # a restart between them
            with several.client() as client:
                assert client.refresh(force=True).ready == (name,)
                assert answered(client) == [name]
        several.bench.clock.time += 3 * DAY / 4
        with several.client() as client:
            assert answered(client) == [name]
            assert client.flush().delivered == 1
    assert several.asked == [(name, epoch) for epoch, name in enumerate(drawn)]
    sent = [read_upload(body).report.epoch for body in several.bench.transport.uploads]
    assert sent == [0, 1, 2, 3]


@pytest.mark.parametrize("updated", [False, True])
def test_who_was_asked_is_answered_in_the_epoch(several: Several, *, updated: bool) -> None:
    late = chosen_survey(SECRET, START, NAMES)
    early = next(name for name in NAMES if name != late)
    several.publish(early)
    several.client().refresh(force=True)
    several.publish(late)
    if updated:  # to a version that asks for the other alone
        several.bench.surveys = [replace(DECLARED, name=late)]
    client = several.client()
    client.refresh(force=True)
    assert isinstance(client.report(late, "good").error, NotChosen)
    assert updated or client.report(early, "good").ok
    assert several.asked == [(early, 0)]


@pytest.mark.parametrize("why", ["it begins later", "nobody agreed to it"])
def test_what_cannot_be_answered_in_an_epoch_is_not_drawn(several: Several, why: str) -> None:
    first = chosen_survey(SECRET, START, NAMES)
    others = [name for name in NAMES if name != first]
    client = several.client("unset")
    client.set_consent("on", surveys=others if why == "nobody agreed to it" else None)
    for name in NAMES:
        later = name == first and why == "it begins later"
        several.publish(name, Schedule(START + DAY, DAY, 3, DAY) if later else GRID)
    client.refresh(force=True)
    (name,) = [name for name in NAMES if client.report(name, "good").ok]
    assert name == chosen_survey(SECRET, START, others)


def test_each_survey_is_as_likely_as_any_in_each_epoch() -> None:
    secrets = [number.to_bytes(32) for number in range(9_000)]
    pairs = Counter(
        tuple(chosen_survey(secret, START + epoch * DAY, NAMES) for epoch in (0, 1))
        for secret in secrets
    )
    # Binomial, 1,000 ± 29.8: these secrets are within five of that.
    assert len(pairs) == 9
    assert all(851 < count < 1_149 for count in pairs.values())


SCHEDULES: Final = {
    "the same": (GRID, True),
    "a multiple later": (Schedule(START + 2 * DAY, DAY, 3, DAY), True),
    "a multiple before": (Schedule(START - 2 * DAY, DAY, 4, DAY), True),
    "after its end": (Schedule(START + 4 * DAY + 5, 3 * DAY, 1, DAY), True),
    "a second later": (Schedule(START + 1, DAY, 4, DAY), False),
    "half a day before": (Schedule(START - DAY // 2, DAY, 4, DAY), False),
    "twice as long": (Schedule(START, 2 * DAY, 4, DAY), False),
    "in its last second": (Schedule(START + 4 * DAY - 1, DAY, 1, DAY), False),
}


@pytest.mark.parametrize("what", SCHEDULES)
def test_blind_surveys_alone_have_one_grid_of_epochs(several: Several, what: str) -> None:
    schedule, fits = SCHEDULES[what]
    assert (GRID.meshes(schedule), schedule.meshes(GRID)) == (fits, fits)
    client = several.client()
    several.publish("light")
    assert client.refresh(force=True).ready == ("light",)
    several.publish("theme", schedule)
    several.publish("tabs", schedule, blind=False)
    came = client.refresh(force=True)
    refused = {n: e.fault for n, e in came.errors.items() if isinstance(e, ManifestRefused)}
    assert refused == ({} if fits else {"theme": ManifestFault.ENROLMENT})
