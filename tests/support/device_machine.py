"""All that may happen to a device: rules for a state machine, in front of a hostile collector."""

import os
import random
import secrets
import shutil
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from deniable.budget import RangeCost, epsilon_to_nano
from deniable.client import (
    BudgetExhausted,
    Client,
    ClientSettings,
    Consent,
    ConsentMissing,
    EnrolmentRequest,
    NotRecorded,
    Outcome,
    OutcomeStatus,
    ReportDropped,
    SlidingCeiling,
    StateUnavailable,
    engine,
)
from deniable.client.client import engine_of
from deniable.client.ledger.refreshes import MOST_REQUESTS_A_DAY
from deniable.client.state import state_file
from deniable.messages import FRESH, Enrolment, Repeat, Schedule, SigningKey, Specification
from deniable.messages.ed25519 import CONTEXT_ENROL
from tests.support.device_model import MOST_KEPT, SHORTEST_EPOCH, Decided, Memory, effective
from tests.support.devices import connect_carelessly
from tests.support.hostile_collector import FATES, FETCHES, HostileCollector, SkewedClock
from tests.support.relays import RELAY, Gateway, Relay
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, ORIGIN, START, manifest

NAMES = ("first", "second")
FLUSH_SECONDS = 1.3 * DAY  # longer than any wait that a collector can bring about

STATE = "device.sqlite"
MARK = "device.sqlite.mark"

ISSUER = SigningKey(b"issuer's seed of the tests 00001")
CERTIFIED = Enrolment("certificate", (ISSUER.public_key,))

_TWO_ROUND = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})
_FOLLOWED: list[dict[str, Any]] = [
    *[{}] * 4,
    *[{"repeat": Repeat("memoised", 4)}] * 2,
    {"repeat": Repeat("memoised", 5), "specification": _TWO_ROUND},
    *[{"enrolment": CERTIFIED}] * 2,
    {"enrolment": CERTIFIED, "repeat": Repeat("memoised", 4)},
]
_UNLAWFUL: list[dict[str, Any]] = [
    {"categories": CATEGORIES[:2]},
    {"categories": CATEGORIES[::-1]},
    {"epsilon": "1.5"},
    {
        "repeat": Repeat("memoised", 5),
        "specification": Specification("two-round", {"kept": "2.5", "fresh": ("subset", 1)}),
    },
    {"delta": "0.1"},
    {"question": "Really?"},
    {"origin": "http://127.0.0.1:1"},
]
_TERMS: list[dict[str, Any]] = [*_FOLLOWED * 2, {"epsilon": "0.5"}, *_UNLAWFUL]
_ENVIRONMENTS: list[dict[str, str]] = [
    *[{}] * 8,
    {"DO_NOT_TRACK": "1"},
    {"DENIABLE_CONSENT": "off"},
    {"DENIABLE_CONSENT": "on"},
]

_SECONDS = [0.0, 1.0, 1.0, 100.0, FLUSH_SECONDS]
_who = st.integers(0, 1)
_names = st.sampled_from(NAMES)
_answers = st.integers(0, len(CATEGORIES) - 1)
_lengths = st.sampled_from([1, SHORTEST_EPOCH, 60, 3600, DAY, 7 * DAY])
_offsets = st.one_of(st.just(0), st.integers(-9 * DAY, 9 * DAY), st.integers(-90, 90))
_slides = st.sampled_from([None, None, SlidingCeiling("3", days=2), SlidingCeiling("1.5", days=20)])
_consents = st.sampled_from([*[Consent.ON] * 5, Consent.OFF, Consent.UNSET])


def make_genuine(mark: Path) -> None:
    """Let a copy pass for the very file: a kill copies none, and the machine may be slow."""
    told, status = mark.read_bytes().rsplit(maxsplit=1)[0], mark.stat()
    mark.write_bytes(told + f" {int(status.st_ctime)}:{status.st_ino}\n".encode())


_start_thread = threading.Thread.start


def start_calls_alone(thread: threading.Thread) -> None:
    """Start a thread whose caller waits for it, and no other."""
    if thread.name != "deniable-call":
        raise RuntimeError("can't start new thread")
    _start_thread(thread)


class Died(BaseException):
    """The device's processes have ended; nothing after it happened."""


class DeviceMachine(RuleBasedStateMachine):
    """One device, whose app runs twice at a time.

    Attributes:
        enrolled: the key that the issuer has vouched for, by name and epoch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())  # of the state; a new one after each death
        self.nonce = 0
        # The machine finds a failure again: nothing in a run is left to chance.
        seeded = random.Random(0)
        self.patches = ExitStack()
        for owner, name, value in (
            (state_file, "_connect", self.connect),
            (os, "fsync", self.before_a_statement),  # of a mark that is half done
            (engine, "uniform", seeded.random),
            (secrets, "token_bytes", seeded.randbytes),
            (secrets, "token_hex", lambda size: seeded.randbytes(size).hex()),
            (threading.Thread, "start", start_calls_alone),  # then requests follow each other
        ):
            self.patches.enter_context(mock.patch.object(owner, name, value))
        self.words = seeded
        self.clock = SkewedClock()  # the device's; its true time is the collector's
        self.collector = HostileCollector(self.clock, self.before_a_request)  # the other side
        self.relay, self.relayed = Relay(Gateway(self.collector)), False
        self.draws = 0  # words that were drawn for responses
        self.enrolled: dict[tuple[str, int], bytes] = {}
        self.issuer_is_up = True  # whether the issuer answers
        self.environment: dict[str, str] = {}  # of their processes
        self.initial = Consent.UNSET
        self.lifetime, self.total = "9999", "9999"
        self.sliding: SlidingCeiling | None = None
        self.memory = Memory()  # what the present state must know
        self.ever: list[Decided] = []  # all that was ever decided, by lost states too
        self.era = 0
        self.forgotten: Counter[str] = Counter()
        self.most = (0, 0)
        self.backup: tuple[bytes, bytes, Memory, int, Counter[str]] | None = None
        self.fuse: int | None = None
        self.corpse: Path | None = None
        self.onlooker: sqlite3.Connection | None = None
        self.clients: list[Client] = []  # the two running apps
        self.hanging: list[Client] = []

    # What the device is made of.

    def connect(self, path: Path, patience: float | None = None) -> sqlite3.Connection:
        """Open a state as the device does; each statement may be its process's last."""
        connection = connect_carelessly(path, patience)
        connection.set_trace_callback(self.before_a_statement)
        return connection

    def before_a_statement(self, _: object) -> None:
        if self.fuse is not None and self.corpse is None:
            self.fuse -= 1
            if self.fuse < 0:
                self.leave_a_corpse()

    def leave_a_corpse(self) -> None:
        """Keep the files as a process leaves them that is killed at this very instant."""
        self.corpse = Path(tempfile.mkdtemp())
        for file in self.folder.iterdir():
            if not file.name.endswith("-shm"):  # shared memory, rebuilt from the log
                with suppress(FileNotFoundError):
                    shutil.copyfile(file, self.corpse / file.name)
        with suppress(FileNotFoundError):
            make_genuine(self.corpse / MARK)

    def before_a_request(self, path: str) -> None:
        """Rule 3 of outbox.py; nor is a manifest fetched without consent (D6), or often (D10)."""
        if self.corpse is not None:
            raise Died
        assert self.consent is Consent.ON, "a request without consent"
        if path.startswith("/v1/surveys/"):
            asked = self.memory.ask(path.split("/")[3], self.clock.now())
            assert asked <= MOST_REQUESTS_A_DAY

    def vouch(self, request: EnrolmentRequest) -> bytes | None:
        """Be the issuer: one key for a name and epoch. Rule 1 of enrolling/credentials.py."""
        if self.corpse is not None:
            raise Died
        assert self.consent is Consent.ON, "an issuer was asked without consent"
        if not self.issuer_is_up:
            raise ConnectionError
        slot, key = (request.survey, request.epoch), request.public_key
        assert key is not None
        given = self.enrolled.setdefault(slot, key)
        return ISSUER.sign(CONTEXT_ENROL, request.body) if given == key else None

    def draw(self) -> int:
        """Return a word; the head of consent.py says when there must be no draw."""
        if self.corpse is not None:
            raise Died
        assert self.consent is Consent.ON, "a draw without consent"
        self.draws += 1
        return self.words.getrandbits(64)

    def start(self) -> Client:
        lifetime, total = (epsilon_to_nano("ceiling", each) for each in (self.lifetime, self.total))
        self.most = max(self.most[0], lifetime), max(self.most[1], total)
        surveys = [
            replace(
                DECLARED,
                name=name,
                min_epoch_seconds=SHORTEST_EPOCH,
                max_total_epsilon=self.total,
                max_kept_epsilon=MOST_KEPT,
            )
            for name in NAMES
        ]
        return Client(
            ORIGIN,
            authority=AUTHORITY.public_key,
            surveys=surveys,
            state=self.folder / STATE,
            consent=self.initial,
            lifetime_epsilon=self.lifetime,
            sliding=self.sliding,
            relay=RELAY if self.relayed else None,
            gateway_keys=self.relay.gateway.envelope(),
            background=False,
            enrol=self.vouch,
            settings=ClientSettings(
                first_epoch="now",
                clock=self.clock,
                transport=self.relay if self.relayed else self.collector,
                environment=self.environment,
                unsafe_draw=self.draw,
            ),
        )

    def stop(self) -> None:
        for each in [*self.clients, *self.hanging]:
            each.close()
        self.hanging = []
        if self.onlooker is not None:
            self.onlooker.close()
            self.onlooker = None

    def start_again(self) -> None:
        self.stop()
        self.clients = [self.start(), self.start()]

    def teardown(self) -> None:
        self.stop()
        self.patches.close()
        shutil.rmtree(self.folder)

    @property
    def consent(self) -> Consent:
        """Return what must hold now."""
        return effective(self.memory.consent, self.environment)

    @property
    def exists(self) -> bool:
        return (self.folder / STATE).exists()

    def rows(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Ask the state file, beside the clients; nothing if there is none."""
        if not self.exists:
            return []
        if self.onlooker is None:
            self.onlooker = sqlite3.connect(self.folder / STATE, isolation_level=None)
        if self.onlooker.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            return []
        return self.onlooker.execute(query, arguments).fetchall()

    def on_disk(self, needles: set[bytes]) -> bool:
        """Tell whether any of these bytes are in any file."""
        content = b"\n".join(file.read_bytes() for file in self.folder.iterdir())
        return any(needle in content for needle in needles)

    # Rules.

    @initialize(
        length=st.sampled_from([SHORTEST_EPOCH, 60, 3600, DAY, DAY, 7 * DAY]),
        initial=st.sampled_from([*[Consent.ON] * 9, Consent.OFF, Consent.UNSET]),
        terms=st.sampled_from(_FOLLOWED),
        sliding=_slides,
        ceilings=st.sampled_from(
            [*[(50, "9999", "9999")] * 4, (50, "53", "9999"), (2, "9999", "3"), (2, "3", "9999")]
        ),
        relayed=st.booleans(),
    )
    def begin(
        self,
        length: int,
        initial: Consent,
        terms: dict[str, Any],
        sliding: SlidingCeiling | None,
        ceilings: tuple[int, str, str],
        relayed: bool,
    ) -> None:
        self.relayed = relayed
        self.initial = self.memory.consent = initial
        self.sliding = sliding
        epochs, self.lifetime, self.total = ceilings
        for name in NAMES:
            schedule = Schedule(START, length, epochs, 30 * DAY)
            self.collector.publish(manifest(name=name, schedule=schedule, **terms))
        self.clients = [self.start(), self.start()]
        self.refresh(0, "served")
        self.report(0, NAMES[0], 0)
        if initial in {Consent.UNSET, Consent.OFF}:
            assert not list(self.folder.iterdir()), "a file before anybody consented"

    @rule(
        name=_names,
        step=st.sampled_from([-1, 0, 1, 1, 1, 1, 2]),
        length=_lengths,
        shift=st.integers(-4500, 150),
        epochs=st.sampled_from([2, 3, 50]),
        grace=st.sampled_from([0, 600, DAY, 30 * DAY]),
        terms=st.sampled_from(_TERMS),
        fetch=st.sampled_from([True, True, True, False]),
    )
    def publish(
        self,
        name: str,
        step: int,
        length: int,
        shift: int,
        epochs: int,
        grace: int,
        terms: dict[str, Any],
        fetch: bool,
    ) -> None:
        """Sign a manifest that began some hundredths of its epochs ago, or will begin so."""
        self.nonce += 1
        start = max(0, int(self.clock.now() + shift * length * epochs / 5000))
        before = self.collector.published[name].sequence
        self.collector.publish(
            manifest(
                name=name,
                sequence=max(0, before + step),
                nonce=self.nonce.to_bytes(16),
                schedule=Schedule(start, length, epochs, grace),
                **terms,
            )
        )
        if fetch:
            self.refresh(0, "served")
            self.report(0, name, 1)

    @rule(
        name=_names,
        length=_lengths,
        number=st.integers(-1, 2),
        phase=st.integers(0, 99),
        after=st.integers(0, 2),
        step=st.sampled_from([-1, 0, 1, 1, 1]),
        terms=st.sampled_from(_TERMS),
    )
    def succeed(
        self,
        name: str,
        length: int,
        number: int,
        phase: int,
        after: int,
        step: int,
        terms: dict[str, Any],
    ) -> None:
        """Republish just when the last decided epoch has ended, as cunningly as can be.

        The new schedule's current epoch has a number about the next one, and began as late or as
        long ago as the operator likes.
        """
        highest = self.memory.highest(name)
        if highest < 0:
            return
        self.clock.time += max(0, self.memory.decided_until(name) + after - self.clock.now())
        current = highest + 1 + number
        shift = -100 * current - phase
        self.publish(name, step, length, shift, 50, 30 * DAY, terms, fetch=True)

    @rule(name=_names)
    def tempt(self, name: str) -> None:
        """Offer all that must not be followed, when there is nothing else to follow."""
        for step, terms in [(-1, {}), (0, {}), *((1, terms) for terms in _UNLAWFUL)]:
            self.publish(name, 1, DAY, 0, 3, DAY, {}, fetch=True)
            end = self.collector.published[name].schedule.end
            self.clock.time += max(0, max(end, self.memory.decided_until(name)) - self.clock.now())
            shift = -100 * (self.memory.highest(name) + 1)
            self.publish(name, step, DAY, shift, 50, DAY, terms, fetch=True)

    @rule(who=_who, name=_names, answer=_answers)
    def report(self, who: int, name: str, answer: int) -> None:
        if self.consent is Consent.ON and self.clients[who].uncovered:
            self.change_consent(who, Consent.ON)  # an app whose ceilings rose asks again (D12)
        draws, standing = self.draws, dict(self.memory.standing)
        foreseen = {survey.name for survey in self.clients[who].unanswered}
        outcome = self.clients[who].report(name, CATEGORIES[answer])
        event(f"report: {outcome.status.value} {type(outcome.error).__name__}")
        assert (outcome.error is None) == (outcome.status is not OutcomeStatus.NOT_RECORDED)
        assert (name in foreseen) == (outcome.status is OutcomeStatus.RECORDED)
        if outcome.status is OutcomeStatus.RECORDED:
            self.recorded(outcome, answer)
            # A memoised survey's only randomness is the range's key.
            decided = self.ever[-1].manifest
            if decided.specification.kind == "two-round":
                assert self.draws > draws  # a turn of a design is tried until it is below the bound
            else:
                assert self.draws == draws + (decided.repeat == FRESH)
        else:
            assert self.draws == draws
            self.not_drawn(outcome)
        # D4: whatever else came of it, what was decided stays decided.
        assert standing.items() <= self.memory.standing.items()

    def recorded(self, outcome: Outcome, answer: int) -> None:
        name, epoch, now = outcome.survey, outcome.epoch, self.clock.now()
        assert self.consent is Consent.ON
        assert epoch is not None
        assert epoch > self.memory.highest(name)  # D3, whatever a successor's numbers are
        assert now >= self.memory.decided_until(name)
        self.remember(name, epoch, answer)
        # Rule 1 of allowance.py: what was ever spent was within some ceiling, except that nobody
        # can know of a life that ended when its state was put back with its mark.
        lifetime, total = (epsilon_to_nano("ceiling", each) for each in (self.lifetime, self.total))
        if not self.era:
            assert self.spent() <= self.most[0]
            assert self.spent(name) <= self.most[1]
        # Lowered since, a ceiling counts all that was spent, by states that are gone too.
        assert self.spent() - self.forgotten.total() <= lifetime
        assert self.spent(name) - self.forgotten[name] <= total
        # Rule 2 of allowance.py: by the ledger's own time, which one state takes over from another.
        if self.sliding is not None:
            query = (
                "SELECT sum(cost) FROM (SELECT lived, cost FROM decisions UNION ALL"
                " SELECT lived, cost FROM carried) WHERE lived > (SELECT lived FROM device) - ?"
            )
            assert self.rows(query, self.sliding.days * DAY)[0][0] <= self.sliding.most
        ((known,),) = self.rows(
            "SELECT coalesce(sum(cost), 0) + (SELECT coalesce(sum(cost), 0) FROM carried)"
            " FROM decisions"
        )
        assert known >= self.spent() - self.forgotten.total()

    def spent(self, *names: str) -> int:
        """Return what was ever spent, by lost states too."""
        return self.costs(self.ever, *names).total()

    def costs(self, decided: list[Decided], *names: str) -> Counter[str]:
        costs: Counter[str] = Counter()
        for each in decided:
            if each.manifest.name in (names or NAMES):
                costs[each.manifest.name] += each.cost
        return costs

    def not_drawn(self, outcome: Outcome) -> None:
        name, now = outcome.survey, self.clock.now()
        if self.consent in {Consent.UNSET, Consent.OFF}:
            assert isinstance(outcome.error, ConsentMissing)
            return
        assert not isinstance(outcome.error, ConsentMissing | StateUnavailable)
        stands = now < self.memory.decided_until(name) and self.consent is Consent.ON
        status = "SELECT status FROM decisions WHERE name = ? ORDER BY epoch DESC LIMIT 1"
        dropped = stands and self.rows(status, name) == [("dropped",)]
        assert isinstance(outcome.error, ReportDropped) == dropped
        assert (outcome.status is OutcomeStatus.REPEATED) == (stands and not dropped)
        if outcome.status is OutcomeStatus.REPEATED:
            assert outcome.epoch == self.memory.highest(name)
        if isinstance(outcome.error, BudgetExhausted):
            assert self.sliding is not None

    def remember(self, name: str, epoch: int, answer: int) -> None:
        """Note a decision that the state shows for the first time."""
        query = "SELECT survey_id, envelope FROM decisions WHERE name = ? AND epoch = ?"
        ((survey_id, envelope),) = self.rows(query, name, epoch)
        assert survey_id in self.memory.lawful, "a manifest that breaks a rule was followed"
        followed = self.collector.manifests[survey_id]
        assert followed.name == name
        newest = self.memory.followed(name)  # D2, rule 2 of following.py
        assert newest in {None, followed} or newest.sequence < followed.sequence
        assert followed.schedule.epoch_at(self.clock.now()) == epoch
        before = Decided(followed, epoch, answer, envelope, self.clock.now(), self.era, 0)
        shared = sum(each.range == before.range for each in self.ever)
        decided = replace(before, cost=RangeCost.of(followed.mechanism).next(shared))
        self.memory.standing[name, epoch] = decided
        self.ever.append(decided)

    @rule(who=_who, name=_names, percent=st.integers(10, 250), times=st.integers(2, 5))
    def report_regularly(self, who: int, name: str, percent: int, times: int) -> None:
        for turn in range(times):
            self.report(who, name, turn % 2)
            self.clock.time += self.collector.published[name].schedule.epoch_seconds * percent / 100

    @rule(who=_who, fetch=st.sampled_from(["served"] * 4 + list(FETCHES)))
    def refresh(self, who: int, fetch: str) -> None:
        self.collector.fetch = fetch
        self.clients[who].refresh(force=True)
        self.collector.fetch = "served"
        self.note_offers()

    def note_offers(self) -> None:
        for served in self.collector.served:
            self.memory.offered(served, self.clock.now())
        self.collector.served.clear()

    @rule(who=_who, fate=st.sampled_from(FATES), seconds=st.sampled_from(_SECONDS))
    def flush(self, who: int, fate: str, seconds: float) -> None:
        self.collector.fate = fate
        delivery = self.clients[who].flush(seconds)
        if self.consent is not Consent.ON:
            assert (delivery.delivered, delivery.dropped, delivery.pending) == (0, 0, 0)

    @rule(who=_who, fate=st.sampled_from(FATES))
    def work_in_the_background(self, who: int, fate: str) -> None:
        """Do what the thread does each time it wakes."""
        self.collector.fate = fate
        uploader = engine_of(self.clients[who]).uploader
        with suppress(NotRecorded):
            engine_of(self.clients[who]).refresh_when_due()
            self.enrol(who)
            uploader.send_due()
        self.note_offers()

    def enrol(self, who: int) -> None:
        """Ask the issuer as the thread does; here on this one, since nothing is left to chance."""
        engine_of(self.clients[who]).issuer.ask_now()

    @rule(up=st.booleans())
    def issuer_goes_or_comes_back(self, up: bool) -> None:
        self.issuer_is_up = up

    @rule(who=_who, name=_names, fate=st.sampled_from(FATES))
    def report_and_send(self, who: int, name: str, fate: str) -> None:
        self.report(who, name, 2)
        self.flush(who, fate, 1.0)
        self.report(1 - who, name, 3)

    @rule(who=_who, offset=_offsets, fate=st.sampled_from(FATES))
    def send_while_the_clock_is_wrong(self, who: int, offset: int, fate: str) -> None:
        before, self.clock.offset = self.clock.offset, float(offset)
        self.flush(who, fate, 1.0)
        self.clock.offset = before

    @rule(seconds=st.one_of(st.sampled_from([1, 60, 3600, DAY]), st.integers(0, 8 * DAY)))
    def time_passes(self, seconds: int) -> None:
        self.clock.time += seconds

    @rule(offset=_offsets)
    def clock_jumps(self, offset: int) -> None:
        self.clock.offset = float(offset)

    @rule(who=_who, name=_names, epochs=st.integers(-5, 5))
    def clock_jumps_by_epochs(self, who: int, name: str, epochs: int) -> None:
        self.clock.offset += epochs * self.collector.published[name].schedule.epoch_seconds
        self.report(who, name, 4)

    @rule(who=_who, consent=_consents)
    def change_consent(self, who: int, consent: Consent) -> None:
        self.clients[who].set_consent(consent, "settings")
        self.memory.consent = consent
        record = self.clients[1 - who].consent_record
        assert (record.decided, record.origin) == (consent, "settings")

    @rule(environment=st.sampled_from(_ENVIRONMENTS))
    def change_environment(self, environment: dict[str, str]) -> None:
        self.environment.clear()
        self.environment.update(environment)

    @rule(name=_names, consent=_consents)
    def withdraw_and_consent_again(self, name: str, consent: Consent) -> None:
        self.change_consent(0, consent)
        self.report(0, name, 0)
        self.change_consent(1, Consent.ON)
        self.report(0, name, 0)

    @rule(
        name=_names,
        consent=st.sampled_from([Consent.OFF, Consent.UNSET]),
        how=st.sampled_from(["old", "old", "deleted", "old with mark"]),
    )
    def withdraw_and_lose_the_state(self, name: str, consent: Consent, how: str) -> None:
        self.report(0, name, 0)
        self.back_up()
        self.start_again()
        self.change_consent(0, consent)
        self.lose_the_state(name, how)

    @rule(name=_names, lose=st.booleans())
    def spend_what_a_short_survey_costs(self, name: str, lose: bool) -> None:
        self.publish(name, 1, DAY, 0, 2, DAY, {}, fetch=True)
        self.report_regularly(0, name, 100, 3)
        if lose:
            self.lose_the_state(name, "deleted")
            self.publish(name, 1, DAY, 0, 2, DAY, {}, fetch=True)
            self.report_regularly(0, name, 100, 3)

    @rule(who=_who)
    def purge(self, who: int) -> None:
        self.clients[who].purge()
        assert not self.on_disk(self.reports())

    def reports(self) -> set[bytes]:
        """Return the bytes of all reports ever signed, and what of them is theirs alone."""
        return {part for each in self.ever for part in (each.envelope, each.envelope[:40])}

    @rule(
        who=_who,
        closed=st.booleans(),
        lifetime=st.sampled_from(["9999", "9999", "120", "53", "3"]),
        total=st.sampled_from(["9999", "9999", "53", "3", "2"]),
        sliding=_slides,
    )
    def restart(
        self,
        who: int,
        closed: bool,
        lifetime: str,
        total: str,
        sliding: SlidingCeiling | None,
    ) -> None:
        before = self.clients
        self.lifetime, self.total, self.sliding = lifetime, total, sliding
        self.clients = [self.start(), self.start()]
        for each in before:
            if closed or each is before[who]:
                each.close()
            else:
                self.hanging.append(each)  # it does nothing more, and tidies nothing up

    @rule(
        last=st.sampled_from(["report", "flush", "refresh", "background", "consent", "purge"]),
        fuse=st.integers(0, 45),
        who=_who,
        name=_names,
        fate=st.sampled_from(["honest", "honest", "swallowed", "refused:malformed"]),
        consent=_consents,
    )
    def die(self, last: str, fuse: int, who: int, name: str, fate: str, consent: Consent) -> None:
        """Both processes are killed before one of them carries out its nth statement from now."""
        device, before = self.clients[who], self.memory.consent
        self.collector.fate = fate
        calls: dict[str, Callable[[], object]] = {
            "report": lambda: device.report(name, CATEGORIES[0]),
            "flush": lambda: device.flush(1.0),
            "refresh": lambda: device.refresh(force=True),
            "background": engine_of(device).uploader.send_due,
            "consent": lambda: device.set_consent(consent),
            "purge": device.purge,
        }
        self.fuse = fuse
        with suppress(Died, NotRecorded):
            calls[last]()
        if self.corpse is None:
            event("died after the last statement")
            self.leave_a_corpse()
        self.fuse = None
        self.bury()
        self.note_offers()
        if last == "consent":
            self.memory.consent = self.clients[0].consent_record.decided
            assert self.memory.consent in {before, consent}
        known = "SELECT name, epoch FROM decisions"
        for decided, epoch in set(self.rows(known)) - set(self.memory.standing):
            assert last == "report"
            assert self.consent is Consent.ON
            self.remember(decided, epoch, 0)

    def bury(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)
        assert self.corpse is not None
        self.folder, self.corpse = self.corpse, None
        self.clients = [self.start(), self.start()]
        _ = self.clients[0].consent

    @rule()
    def back_up(self) -> None:
        if not self.exists:
            return
        self.stop()
        content = (self.folder / STATE).read_bytes()
        mark = (self.folder / MARK).read_bytes()
        self.backup = (content, mark, self.memory.copy(), len(self.ever), self.forgotten.copy())

    @rule(
        name=_names,
        how=st.sampled_from(["deleted", "damaged", "mark deleted", "old", "old", "old with mark"]),
    )
    def lose_the_state(self, name: str, how: str) -> None:
        """Delete, damage or replace the state or its mark."""
        consent = self.memory.consent
        latest = max((each.at for each in self.ever), default=0)
        if not self.exists or (how.startswith("old") and self.backup is None):
            return
        if how == "old with mark" and max(self.clock.now(), self.clock.time) < latest:
            return  # of a clock that was ahead, with nothing newer beside it, nobody could tell
        self.stop()
        state, mark = self.folder / STATE, self.folder / MARK
        if how == "mark deleted":
            mark.unlink()
            self.memory.consent = Consent.UNSET
        elif how == "deleted":
            state.unlink()
        elif how == "damaged":
            content = state.read_bytes()
            state.write_bytes(b"not a database at all" + content[21:])
        elif self.backup is not None:
            content, old_mark, memory, known, forgotten = self.backup
            state.unlink()
            state.write_bytes(content)
            self.memory = memory.copy()
            token, generation = mark.read_bytes().split()[:2]
            old_token, old_generation = old_mark.split()[:2]
            # One change behind its mark, it could as well be what a kill left.
            known_since = token == old_token and int(generation) <= int(old_generation) + 1
            self.memory.consent = consent if known_since else Consent.UNSET
            if how == "old with mark":
                self.forgotten = forgotten + self.costs(self.ever[known:])
                put_back = old_mark.rsplit(maxsplit=1)[0] + b" 0:0\n"  # its file changed since
                mark.write_bytes(put_back)
                self.memory.consent = Consent.UNSET
                self.era += 1
        if how in {"deleted", "damaged"}:
            self.memory = Memory(consent=consent)
        self.clients = [self.start(), self.start()]
        assert self.clients[1].consent_record.decided is self.memory.consent
        self.refresh(0, "served")
        self.report(0, name, 0)
