"""D8: whatever comes in between, a report is sent six times, and then a day apart; each counts."""

import random
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.client import Client, Delivery, HttpAnswer, TransportError
from deniable.client.client import engine_of
from deniable.counterparts.bodies import split_upload
from deniable.fakes import FakeIssuer
from deniable.messages import Enrolment, RefusalCode, Schedule, SignedReport
from tests.support.clock import FakeClock
from tests.support.devices import (
    ACCEPTED,
    NAME,
    OFFLINE,
    PORTAL,
    UNREACHABLE,
    Bench,
    FakeTransport,
    entries_of,
    judged,
    problem,
    refused,
)
from tests.support.effort import THOROUGH
from tests.support.surveys import DAY, DECLARED, START, manifest
from tests.support.transports import Call

LONG = Schedule(START, DAY, 8, 60 * DAY)


class Killed(BaseException):
    """The process has ended in the midst of a request."""


def refuses(code: RefusalCode) -> Callable[[int], HttpAnswer]:
    return lambda count: judged(0, 0, *((index, code) for index in range(count)))


OUTCOMES: dict[str, HttpAnswer | BaseException | Callable[[int], HttpAnswer]] = {
    **{f"report: {code.value}": refuses(code) for code in RefusalCode},
    **{
        f"request: {code.value}, {wait}": problem(code, retry_after=wait)
        for code in RefusalCode
        if code.http_status
        for wait in ("7", "999999999")
    },
    "accepted": judged,
    "junk": replace(ACCEPTED, body=b'{"accepted": 7}'),
    "portal": PORTAL,
    "reset": UNREACHABLE,
    "timeout": TransportError("TimeoutError"),
    "unforeseen": ZeroDivisionError(),
    "killed": Killed(),
    "offline": OFFLINE,
}
"""What becomes of a request: an answer, an error, or what is answered to so many reports."""


def come_about(what: str, count: int = 1) -> HttpAnswer:
    outcome = OUTCOMES[what]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome if isinstance(outcome, HttpAnswer) else outcome(count)


KEPT = [
    name
    for name in OUTCOMES
    if name.split()[-1] in {"unknown-survey", "too-early", "not-enrolled", "portal", "offline"}
    or "overloaded" in name
]
"""Outcomes after which a report may be sent again."""


class JumpingClock(FakeClock):
    """A clock that may be put back; ``forward`` sums up by how much it ever went forward."""

    forward = 0.0

    def move(self, seconds: float) -> None:
        self.time += seconds
        self.forward += max(0.0, seconds)


class Recording(FakeTransport):
    """Notes when each report's bytes left; in the midst of a request something may happen."""

    def __init__(self, clock: JumpingClock) -> None:
        super().__init__()
        self.outcomes: list[str] = []
        self.beside: Callable[[], object] = lambda: None  # done once
        self.sends: defaultdict[tuple[bytes, bytes], list[float]] = defaultdict(list)
        self._clock = clock

    def respond(self, call: Call) -> HttpAnswer:
        if call.method == "GET":
            return super().respond(call)
        outcome = self.outcomes.pop(0) if self.outcomes else "reset"
        beside, self.beside = self.beside, lambda: None
        beside()
        envelopes = [*split_upload(call.body)]
        if outcome != "offline":
            call.stands()
            for signed in map(SignedReport.from_envelope, envelopes):
                self.sends[signed.public_key, signed.payload].append(self._clock.forward)
        return come_about(outcome, len(envelopes))


@dataclass(frozen=True)
class Turn:
    """Time passes or the clock jumps, and then somebody does something."""

    seconds: float
    call: str
    who: int
    outcomes: list[str]
    beside: bool


CALLS = ("thread", "thread", "flush", "long flush", "due only", "restart", "enrol", "environment")
_some = st.one_of(st.sampled_from(KEPT), st.sampled_from(list(OUTCOMES)))
_turns = st.builds(
    Turn,
    st.one_of(
        st.sampled_from([0.0, 41.0, 3600.0, 1.25 * DAY, -1.0, -2.0 * DAY]),
        st.floats(-3 * DAY, 3 * DAY),
    ),
    st.sampled_from(CALLS),
    st.integers(0, 1),
    st.lists(_some, max_size=6),
    st.booleans(),
)


class Household:
    """Two processes with one state, and three surveys, one of which demands certificates."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.clock = bench.clock = JumpingClock()
        self.issuer = FakeIssuer()
        self.transport = bench.transport = Recording(self.clock)
        enrolments = {NAME: Enrolment(), "two": Enrolment(), "vouched": self.issuer.enrolment}
        for name, enrolment in enrolments.items():
            self.transport.publish(manifest(name=name, schedule=LONG, enrolment=enrolment))
        bench.surveys = [replace(DECLARED, name=name) for name in enrolments]
        self.environment: dict[str, str] = {}
        self.clients = [self.start(), self.start()]
        assert self.clients[0].refresh().errors == {}
        assert all(self.clients[0].report(survey, "good").ok for survey in bench.surveys)

    def start(self) -> Client:
        return self.bench.client(
            lifetime_epsilon="1000", enrol=self.issuer, environment=self.environment
        )

    def take(self, turn: Turn) -> None:
        self.clock.move(turn.seconds)
        self.transport.outcomes = list(turn.outcomes)
        client, other = self.clients[turn.who], self.clients[1 - turn.who]
        self.transport.beside = (lambda: other.flush(1.0)) if turn.beside else lambda: None
        try:
            match turn.call:
                case "thread":
                    engine_of(client).uploader.send_due()
                case "flush":
                    client.flush(1.0)
                case "long flush":
                    client.flush(3.0 * DAY)
                case "due only":
                    client.flush(60.0, due_only=True)
                case "restart":
                    client.close()
                    self.clients[turn.who] = self.start()
                case "enrol":
                    engine_of(client).issuer.ask_now()
                case _:
                    tracked = self.environment.get("DO_NOT_TRACK") == "1"
                    self.environment["DO_NOT_TRACK"] = "10"[tracked]
        except (Killed, ZeroDivisionError):
            self.clients[turn.who] = self.start()


@settings(max_examples=150 if THOROUGH else 15)
@given(st.lists(_turns, min_size=4, max_size=25))
def test_d8_a_report_leaves_six_times_in_its_life_and_then_a_day_apart(turns: list[Turn]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("deniable.client.engine.uniform", random.Random(1).random),
        Bench(Path(folder)) as bench,
    ):
        household = Household(bench)
        for turn in turns:
            household.take(turn)
        for sends in household.transport.sends.values():
            assert len(sends) <= 6
            rests = [later - sooner for sooner, later in pairwise(sends[1:])]
            assert all(rest >= DAY - 1e-3 for rest in rests)
        # What was counted left, or may have: nothing is sent in secret.
        columns = "SELECT attempts, status, verdict FROM decisions ORDER BY name"
        for attempts, status, verdict in bench.rows(columns):
            assert 0 <= attempts <= 6
            assert verdict != "unanswered" or (attempts == 6 and status == "dropped")


@pytest.mark.parametrize(
    ("seed", "outage"),
    [(0, 2.0), (1, 600.0), *((seed, 3 * 3600.0) for seed in range(5 if THOROUGH else 1))],
)
def test_d8_who_starts_offline_is_served_within_twice_the_outage_or_ten_minutes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, outage: float, seed: int
) -> None:
    monkeypatch.setattr("deniable.client.engine.uniform", random.Random(seed).random)
    client = bench.reported(delivery_seconds=0.0)
    back, slow = START + outage, 20.0
    tries = 0

    def answer(_body: bytes) -> HttpAnswer:
        nonlocal tries
        tries += 1
        if bench.clock.time < back:
            bench.clock.time += slow * (tries % 2)  # a resolver may hang as long as a request may
            raise OFFLINE
        return ACCEPTED

    bench.transport.answer = answer
    while True:
        pause = engine_of(client).uploader.send_due()
        if bench.rows("SELECT status FROM decisions") == [("delivered",)]:
            break
        bench.clock.time += pause
    # A wait is twice the one before it at most, each cut by half at most; and a resolver hangs.
    assert bench.clock.time < back + min(600, 5 + 2 * outage) + slow
    assert bench.rows("SELECT attempts, unanswered FROM decisions") == [(1, 0)]
    assert tries <= 8 + outage / 300


def journalled(client: Client) -> SimpleNamespace:
    (entry,) = entries_of(client.journal(), "report")
    return entry


MEANWHILE: list[Callable[[Client], object]] = [
    lambda client: client.set_consent("off"),
    lambda client: client.set_consent("off") and client.set_consent("on"),
    Client.purge,
]


@pytest.mark.parametrize("came", [ACCEPTED, PORTAL])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_what_became_of_a_send_while_its_report_was_dropped_is_said(
    bench: Bench, meanwhile: Callable[[Client], object], came: HttpAnswer
) -> None:
    client = bench.reported()

    def answer(_body: bytes) -> HttpAnswer:
        meanwhile(client)
        return came

    bench.transport.answer = answer
    client.flush(1)
    entry = journalled(client)
    delivered = came is ACCEPTED
    assert entry.status == ("delivered" if delivered else "dropped")
    assert (entry.verdict == "accepted") is delivered
    assert (entry.sends, entry.unanswered) == (1, not delivered)  # it may have been counted
    assert entry.content is None  # the bytes stay erased
    assert client.flush() == Delivery()


def test_a_process_that_dies_while_it_sends_has_counted_the_send(bench: Bench) -> None:
    client = bench.reported()
    bench.transport.answer = lambda _body: come_about("killed")
    with pytest.raises(Killed):
        client.flush()
    client.close()
    again = bench.client()
    assert (journalled(again).sends, journalled(again).unanswered) == (1, 1)
    bench.transport.answer = refused(RefusalCode.EPOCH_CLOSED)
    assert again.flush().dropped == 1
    assert journalled(again).verdict == "may-have-been-counted"
    assert (journalled(again).sends, journalled(again).unanswered) == (2, 1)


@pytest.mark.parametrize("since", ["dropped", "until", "opens"])
def test_what_changed_is_unsent(bench: Bench, monkeypatch: pytest.MonkeyPatch, since: str) -> None:
    client = bench.reported()
    if since != "dropped":
        bench.rows(f"UPDATE decisions SET {since} = {START + (since == 'until')}")
    outbox = engine_of(client).outbox
    pick = outbox.pending

    def picked_before(now: float) -> object:
        picked = pick(now)
        assert picked
        if since == "dropped":
            client.set_consent("off")
        bench.clock.time += {"until": 60, "opens": -60}.get(since, 0)
        monkeypatch.setattr(outbox, "pending", pick)
        return picked

    monkeypatch.setattr(outbox, "pending", picked_before)
    client.flush(1)
    assert bench.transport.uploads == []
    assert bench.rows("SELECT attempts FROM decisions") == [(0,)]


def test_a_late_refusal_of_what_another_process_has_delivered_drops_nothing(bench: Bench) -> None:
    client = bench.reported()

    def answer_late(_body: bytes) -> HttpAnswer:
        bench.transport.answer = ACCEPTED
        bench.clock.time += 600  # longer than the claim
        assert bench.client().flush().delivered == 1
        return refused(RefusalCode.EPOCH_CLOSED)

    bench.transport.answer = answer_late
    client.flush()
    assert bench.rows("SELECT status, verdict FROM decisions") == [("delivered", "accepted")]
