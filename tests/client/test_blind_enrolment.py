"""Blind enrolment: asked for in an epoch's first half, reported in its second, and never linked.

Of several blind surveys, which have one grid, a device draws which it answers in an epoch.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import pytest

from deniable.client import (
    Client,
    Delivery,
    EnrolmentRequest,
    HttpAnswer,
    ManifestFault,
    ManifestRefused,
    NotChosen,
    NotEnrolled,
    OutcomeStatus,
)
from deniable.client.client import engine_of
from deniable.client.optional.credentials import asked_at, chosen_survey, leaves_at, middle
from deniable.fakes import FakeIssuer
from deniable.messages import Enrolment, InvalidManifest, Refusal, RefusalCode, Schedule
from deniable.messages.blind import blind_request
from deniable.messages.bundle import declaration_of
from tests.support.devices import (
    ACCEPTED,
    NAME,
    OFFLINE,
    UNREACHABLE,
    Bench,
    entries_of,
    fault_of,
    plain,
    read_upload,
    refused,
)
from tests.support.effort import some
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, DECLARED, MANIFEST, START, manifest
from tests.support.vouched import BlindIssuer, Vouched, enroller_of
from tests.support.watched import until

HALF = DAY / 2
BLIND: Final = "blind"
NAMES: Final = ("light", "tabs", "theme")
SECRET: Final = b"\x55" * 32
GRID: Final = Schedule(START, DAY, 4, DAY)


@pytest.fixture
def vouched(bench: Bench) -> Vouched:
    return Vouched(bench, blind=True)


def one_row(vouched: Vouched, columns: str, table: str = "credentials") -> tuple[Any, ...]:
    (row,) = vouched.bench.rows(f"SELECT {columns} FROM {table}")
    return row


def due(vouched: Vouched) -> float:
    return float(one_row(vouched, "due", "decisions")[0])


def test_a_request_shows_nothing_of_the_key_and_is_the_same_at_each_call(vouched: Vouched) -> None:
    vouched.issuer.error = ConnectionError()
    for _ in range(2):  # a restart between them
        vouched.client().close()
    first, second = vouched.issuer.requests
    assert first == second
    (secret,) = one_row(vouched, "secret", "device")
    assert first.public_key is None
    assert first.body == blind_request(secret, vouched.survey, 0).body
    assert first.path == f"/v1/enrolments/{NAME}/0"
    assert first.headers == {
        "Content-Type": "application/private-token-request",
        "Accept": "application/private-token-response",
        "User-Agent": "deniable/1",
    }
    assert first.body.hex() not in repr(first)
    assert first.read_answer(bytes(256)) == bytes(256)
    for body in (b"", bytes(255), bytes(257)):
        with pytest.raises(Refusal, match="malformed"):
            first.read_answer(body)
    vouched.issuer.error = None
    assert vouched.client().report(NAME, "good").ok
    assert [request.body for request in vouched.issuer.requests] == [first.body] * 3
    credential, issuer = one_row(vouched, "credential, issuer")
    assert (len(credential), issuer) == (256, vouched.survey.enrolment.issuer_ids[0])


def _raw(request: EnrolmentRequest, change: Callable[[bytes], bytes]) -> bytes:
    return RSA_KEYS[0].answer(change(request.body))


USELESS: dict[str, Callable[[EnrolmentRequest], object]] = {
    "nothing": lambda _: b"",
    "zeros": lambda _: bytes(256),
    "a certificate's length": lambda _: bytes(64),
    "too long": lambda request: _raw(request, bytes) + b"\0",
    "not below the modulus": lambda _: b"\xff" * 256,
    "another epoch's key": lambda request: RSA_KEYS[1].answer(request.body),
    "of another request": lambda request: _raw(request, lambda it: it[:-1] + bytes([it[-1] ^ 1])),
    "itself": lambda request: request.body[3:],
}


@pytest.mark.parametrize("what", USELESS)
def test_what_is_no_token_of_the_key_is_asked_for_again(vouched: Vouched, what: str) -> None:
    with vouched.client(enrol=lambda request: USELESS[what](request)) as client:
        assert "bytes that no issuer of this survey signed" in str(client.refresh().errors[NAME])
        outcome = client.report(NAME, "good")
        assert outcome.status is OutcomeStatus.NOT_RECORDED
        assert isinstance(outcome.error, NotEnrolled)
        assert vouched.row("credential, issuer, asks") == (None, None, 2)
    assert vouched.client().report(NAME, "good").ok


def test_an_epoch_without_a_key_is_not_asked_for(vouched: Vouched) -> None:
    later = Enrolment(BLIND, issuer="issuer.example", first=2, keys=(RSA_KEYS[2].modulus,))
    schedule = Schedule(START, DAY, 3, DAY)
    vouched.bench.transport.publish(manifest(sequence=1, enrolment=later, schedule=schedule))
    client = vouched.client()
    for epoch in range(3):
        vouched.bench.clock.time = START + epoch * DAY
        client.refresh(force=True)
        assert client.report(NAME, "good").ok == (epoch == 2)
    assert [request.epoch for request in vouched.issuer.requests] == [2]


@pytest.mark.parametrize("days", [1 / 24, 1, 7])
def test_times_of_asking_and_sending_are_uniform_in_their_part_of_an_epoch(days: float) -> None:
    secrets = [number.to_bytes(32) for number in range(2_000)]

    def check_uniform(times: list[float], begins: float, length: float) -> None:
        assert begins <= min(times) < max(times) < begins + length
        # Each is binomial, 200 ± 13.4: these secrets are within five of that.
        tenths = [int(10 * (time - begins) / length) for time in times]
        assert all(133 < tenths.count(tenth) < 267 for tenth in range(10))

    length = int(days * DAY)
    survey = manifest(schedule=Schedule(START, length, 4, 0))
    starts, half = START + length, middle(survey, 1)
    assert half == starts + length / 2
    asked = [asked_at(secret, survey, 1) for secret in secrets]
    check_uniform(asked, starts, min(3_600, length / 4))
    drawn = [leaves_at(secret, survey, 1, START) for secret in secrets]
    check_uniform(drawn, half, length / 4)
    # Who answers later waits for another time, which the first does not tell.
    late = half + 0.999 * length / 4
    again = [leaves_at(secret, survey, 1, late) for secret in secrets]
    check_uniform(again, late, (starts + length - late) / 2)


def test_a_report_waits_for_its_time_whoever_flushes_or_refreshes(vouched: Vouched) -> None:
    client = vouched.client()
    assert client.report(NAME, "good").ok
    leaves = due(vouched)
    assert START + HALF <= leaves < START + DAY
    for now in (START, START + HALF, leaves - 60):
        vouched.bench.clock.time = now
        client.refresh(force=True)
        assert client.flush() == Delivery(pending=1)
        assert client.flush(due_only=True).pending == 1
        assert engine_of(client).uploader.send_due() == pytest.approx(leaves - now)
    assert vouched.bench.transport.uploads == []
    vouched.bench.clock.time = leaves
    assert client.flush().delivered == len(vouched.sent()) == 1


def test_it_is_asked_for_at_a_time_of_its_own_in_the_first_hour(vouched: Vouched) -> None:
    client = vouched.bench.client(enrol=vouched.issuer, delivery_seconds=30.0 * DAY)
    engine_of(client).jitter = lambda: 0.999
    engine_of(client).manifests.refresh(5.0)
    enroller_of(client).step()
    drawn = asked_at(one_row(vouched, "secret", "device")[0], vouched.survey, 0)
    assert vouched.row("due") == (drawn,)
    vouched.bench.clock.time = drawn - 1
    assert enroller_of(client).step() == pytest.approx(1)
    vouched.bench.clock.time = drawn
    enroller_of(client).step()
    until(lambda: vouched.row("asks") == (1,) and vouched.row("credential") != (None,))


def test_a_fetch_of_manifests_comes_with_each_token_and_no_report(vouched: Vouched) -> None:
    transport, clock = vouched.bench.transport, vouched.bench.clock
    clock.time = START + 3600
    client = vouched.client()
    transport.manifests[NAME] = []  # so that it would be asked for again in a minute
    for epoch in (1, 2):
        clock.time = START + epoch * DAY + 60
        transport.requests.clear()
        client.refresh()
        assert [request.method for request in transport.requests] == ["GET"]
        assert len(vouched.issuer.requests) == epoch + 1
        assert client.report(NAME, "good").ok
        clock.time += HALF
        client.refresh()
        engine_of(client).refresh_when_due()
        assert len(transport.requests) == 1
    client.refresh(force=True)
    assert len(transport.requests) == 2


def test_d8_not_enrolled_drops_the_report_and_makes_no_device_ask(vouched: Vouched) -> None:
    client = vouched.client()
    assert client.report(NAME, "good").ok
    vouched.bench.clock.time = due(vouched)
    vouched.bench.transport.answer = refused(RefusalCode.NOT_ENROLLED)
    assert client.flush().dropped == 1
    client.refresh(force=True)
    enroller_of(client).step()
    assert len(vouched.issuer.requests) == 1
    assert one_row(vouched, "status, verdict", "decisions") == ("dropped", "not-enrolled")
    assert client.report(NAME, "good").error is not None


@pytest.mark.parametrize("erase", ["off", "purge"])
def test_the_journal_shows_a_token_once_until_erased(vouched: Vouched, erase: str) -> None:
    client = vouched.client()
    (credential,) = vouched.row("credential")

    for reported in (False, True) if erase == "off" else (False,):
        journal = client.journal()
        (entry,) = entries_of(journal, "enrolment")
        assert (entry.blind, entry.issuer_name) == (True, vouched.issuer.enrolment.issuer)
        assert (entry.content, entry.reported) == (credential, reported)
        text = plain(journal)
        assert f"token for '{NAME}', epoch 0: held" in text
        assert "never reveals this device's key" in text
        assert f"Given by {entry.issuer_name} Bytes" in text
        assert ("Bytes at the end of the report" in text) is reported
        assert text.replace(" ", "").count(credential.hex()) == 1

        assert erase == "purge" or client.report(NAME, "good").ok
    if erase == "off":
        client.set_consent("off")
        client.close()
        assert vouched.bench.on_disk(credential) == []
    else:
        client.purge()
        assert vouched.row("credential, asks") == (None, 1)
        client.refresh(force=True)  # the same request, and the same token
        assert vouched.row("credential") == (credential,)


def required(bench: Bench, **changes: Any) -> Client:
    surveys = [replace(DECLARED, enrolment=BLIND)]
    return bench.client(**{"surveys": surveys, "consent": "unset", **changes})


def test_an_app_can_refuse_to_go_back_to_certificates(vouched: Vouched) -> None:
    client = required(vouched.bench, enrol=vouched.issuer, consent="on")
    assert client.refresh().errors == {}
    for sequence, other in enumerate((FakeIssuer().enrolment, Enrolment()), start=7):
        vouched.bench.transport.publish(manifest(sequence=sequence, enrolment=other))
        error = client.refresh(force=True).declined[NAME]
        assert fault_of(error) is ManifestFault.ENROLMENT
        assert "the app accepts only blind" in str(error)
    assert client.report(NAME, "good").ok
    assert "The issuer sees your account, but neither a response nor its key." in plain(
        client.explain()
    )
    with pytest.raises(InvalidManifest):
        replace(DECLARED, enrolment="certificate")  # type: ignore[arg-type]
    assert declaration_of(vouched.survey)["enrolment"] == BLIND
    assert "enrolment" not in declaration_of(MANIFEST)


def test_d12_certificates_to_blind_asks_nobody_and_back_asks_everybody(vouched: Vouched) -> None:
    bench, enrol = vouched.bench, vouched.issuer
    with bench.client(consent="unset", enrol=enrol) as client:
        client.set_consent("on")
    with required(bench, enrol=enrol) as client:
        assert client.uncovered == ()  # agreed to more
        client.set_consent("off")
        client.set_consent("on")
        assert client.uncovered == ()
    for any_mode, asked in (
        (bench.client(consent="unset", enrol=enrol), 1),
        (required(bench, enrol=enrol), 0),
        (required(bench), 1),
    ):
        with any_mode as client:  # the last asks nobody: whom it tells differs
            assert len(client.uncovered) == asked


def asked_in_three_epochs(
    folder: Path, answer: HttpAnswer | Exception | None
) -> list[tuple[float, bytes]]:
    """Return when a device asked its issuer for what; it reports if there is an answer to that."""
    folder.mkdir()
    with Bench(folder) as bench:
        vouched, clock = Vouched(bench, blind=True), bench.clock
        bench.transport.answer = answer or ACCEPTED
        asked: list[tuple[float, bytes]] = []

        def enrol(request: EnrolmentRequest) -> bytes | None:
            asked.append((clock.time, request.body))
            return vouched.issuer(request)

        for start in (0.01, 0.3, 0.6, 0.65, 1.02, 1.3, 1.7, 2.05, 2.2, 2.9):
            clock.time = START + start * DAY
            client, end = bench.client(enrol=enrol), clock.time + 600
            while clock.time < end:
                if answer is not None:
                    client.report(NAME, "good")
                nap = max(engine_of(client).uploader.step(), 0.001)
                if (thread := enroller_of(client)._thread) is not None:
                    thread.join()
                clock.time = min(clock.time + nap, end)
            client.close()
        return asked


def test_no_fate_of_reports_changes_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One device, and many lives.
    monkeypatch.setattr("deniable.client.state.state_file.os", Mock(urandom=lambda n: b"\x55" * n))
    monkeypatch.setattr("deniable.client.engine.uniform", lambda: 0.33)
    expected = asked_in_three_epochs(tmp_path / "none", None)
    assert len(expected) == 3
    codes = [RefusalCode(c) for c in ("overloaded", "too-early", "epoch-closed", "not-enrolled")]
    answers: list[HttpAnswer | Exception] = [ACCEPTED, UNREACHABLE, OFFLINE, *map(refused, codes)]
    for number, answer in enumerate(some(answers)):
        assert asked_in_three_epochs(tmp_path / str(number), answer) == expected, answer


class Several:
    """A bench whose app declares several surveys, and their one issuer."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.issuer = bench, BlindIssuer()
        bench.surveys = [replace(DECLARED, name=name) for name in NAMES]
        bench.transport.manifests.clear()

    @property
    def asked(self) -> list[tuple[str, int]]:
        return [(request.survey, request.epoch) for request in self.issuer.requests]

    def publish(self, name: str, schedule: Schedule = GRID, *, blind: bool = True) -> None:
        keys = self.issuer.enrolment.keys[: schedule.epochs]
        enrolment = replace(self.issuer.enrolment, keys=keys) if blind else Enrolment()
        self.bench.transport.publish(manifest(name=name, enrolment=enrolment, schedule=schedule))

    def client(self, consent: str = "on") -> Client:
        return self.bench.client(enrol=self.issuer, lifetime_epsilon="100", consent=consent)


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


SCHEDULES: Final = [
    (GRID, True),
    *((Schedule(START + days * DAY, DAY, 4, DAY), True) for days in (2, -2)),
    (Schedule(START + 4 * DAY + 5, 3 * DAY, 1, DAY), True),  # after its end
    *((Schedule(START + seconds, DAY, 4, DAY), False) for seconds in (1, -DAY // 2, 4 * DAY - 1)),
    (Schedule(START, 2 * DAY, 4, DAY), False),
]


@pytest.mark.parametrize(("schedule", "fits"), SCHEDULES)
def test_blind_surveys_have_one_grid(several: Several, schedule: Schedule, fits: bool) -> None:
    assert (GRID.meshes(schedule), schedule.meshes(GRID)) == (fits, fits)
    client = several.client()
    several.publish("light")
    assert client.refresh(force=True).ready == ("light",)
    several.publish("theme", schedule)
    several.publish("tabs", schedule, blind=False)
    came = client.refresh(force=True)
    refused = {n: e.fault for n, e in came.errors.items() if isinstance(e, ManifestRefused)}
    assert refused == ({} if fits else {"theme": ManifestFault.ENROLMENT})
