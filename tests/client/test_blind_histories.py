"""Whatever happens in whatever order: one request for a token, in its half; one report, in its own.

Issuer, collector, network, user and clock do as they like. The rules are asserted where the device
asks and sends, and in the end an honest collector gets what the user and the clock have left.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.client import Client, EnrolmentRequest, HttpAnswer, TransportError
from deniable.client.client import engine_of
from deniable.client.optional.credentials import middle
from deniable.intake.judge import check_report
from deniable.messages import Enrolment, Manifest, Refusal, RefusalCode, Schedule, SignedReport
from tests.support.devices import ACCEPTED, DUPLICATE, NAME, Bench, problem, read_upload, refused
from tests.support.effort import THOROUGH
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, START, manifest
from tests.support.vouched import BlindIssuer

EIGHTH: Final = DAY // 8
DECISIONS: Final = "SELECT survey_id, epoch, status, verdict FROM decisions"
LIE: Final = bytes(256)
LEFT: Final = {"purged", "consent-withdrawn", "unanswered", "epoch-over", "may-have-been-counted"}
"""Why a report may end that no collector has: the user, the clock, or six sends in vain."""


class Broken(BaseException):
    """A rule that the device broke: no client catches it."""


class World:
    """A device with its app, its issuer, and a collector that shares its clock."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        self.issuer = BlindIssuer()
        self.surveys: dict[bytes, Manifest] = {}
        self.publish(manifest(schedule=Schedule(START, DAY, 2, DAY), enrolment=self.keys(0, 2)))
        self.bench.transport.answer = self.judge
        self.issuer_does: Callable[[EnrolmentRequest], bytes | None] = self.issuer
        self.collector_does = "honest"
        self.asked: dict[bytes, tuple[int, int]] = {}  # whom, for which time
        self.bodies: dict[tuple[bytes, int], bytes] = {}
        self.latest = self.now
        self.in_time: set[tuple[bytes, int]] = set()
        self.sends: defaultdict[tuple[bytes, int], list[SignedReport]] = defaultdict(list)
        self.taken: Counter[tuple[bytes, int]] = Counter()
        self.client = self.start()

    def start(self) -> Client:
        return self.bench.client(enrol=self.vouch, lifetime_epsilon=100)

    @property
    def now(self) -> float:
        return self.bench.clock.time

    def keys(self, first: int, last: int) -> Enrolment:
        keys = tuple(key.modulus for key in RSA_KEYS[first:last])
        return Enrolment("blind", issuer="issuer.example", keys=keys)

    def publish(self, survey: Manifest) -> None:
        self.surveys[survey.survey_id] = survey
        self.bench.transport.publish_all(*self.surveys.values())

    # Who sees the device.

    def vouch(self, request: EnrolmentRequest) -> bytes | None:
        survey, key = self.surveys[request.survey_id], (request.survey_id, request.epoch)
        starts, half = survey.schedule.epoch_start(request.epoch), middle(survey, request.epoch)
        if not starts <= self.now < half or self.client.consent != "on":
            raise Broken("asked too early, too late, or without consent")
        if self.bodies.setdefault(key, request.body) != request.body:
            raise Broken("another request for the same token")
        for other, (begins, ends) in self.asked.items():
            if other != request.survey_id and begins < starts + DAY and starts < ends:
                raise Broken("a second issuer was asked in an epoch")
        self.asked[request.survey_id] = starts, starts + DAY
        given = self.issuer_does(request)
        if self.now < half and given is not None and given != LIE:
            self.in_time.add(key)
        return given

    def judge(self, body: bytes) -> HttpAnswer:
        report = read_upload(body)
        survey = self.surveys[report.report.survey_id]
        key = survey.survey_id, report.report.epoch
        sends = self.sends[key]
        ends = survey.schedule.epoch_start(report.report.epoch + 1)
        assert middle(survey, report.report.epoch) <= self.now < ends, "sent in another half"
        assert key in self.in_time, "a token that came too late"
        assert {report.payload} >= {before.payload for before in sends}, "a second response"
        sends.append(report)
        assert len(sends) <= 6
        if self.collector_does == "busy":
            return problem(RefusalCode.OVERLOADED)
        if self.collector_does == "deaf":
            raise TransportError("TimeoutError")
        try:
            check_report(report, survey, self.now)
        except Refusal as refusal:
            if refusal.code is not RefusalCode.EPOCH_CLOSED:
                raise  # its token is always in order
            return refused(refusal.code)
        self.taken[key] += 1
        if self.collector_does == "unheard":
            raise TransportError("TimeoutError")
        return ACCEPTED if self.taken[key] == 1 else DUPLICATE

    # What happens.

    def fails(self, _: EnrolmentRequest) -> bytes | None:
        raise ConnectionError

    def dawdles(self, request: EnrolmentRequest) -> bytes | None:
        self.time_passes(4 * EIGHTH)
        return self.issuer(request)

    def restart(self) -> None:
        self.client.close()
        self.client = self.start()

    def withdraw(self) -> None:
        self.client.set_consent("off")
        self.client.refresh(force=True)
        self.client.set_consent("on")

    def succeed(self) -> None:
        """Publish another survey of the name, with other keys for the epoch that runs."""
        if len(self.surveys) == 1:
            begun = int(self.now - START) // DAY * DAY
            schedule = Schedule(max(0, START + begun), DAY, 2, DAY)
            self.publish(manifest(sequence=1, schedule=schedule, enrolment=self.keys(2, 4)))
            self.client.refresh(force=True)

    def time_passes(self, seconds: float) -> None:
        self.bench.clock.time += seconds
        self.latest = max(self.latest, self.now)

    def clock_is_set(self) -> None:
        self.bench.clock.time = self.latest

    def ends_well(self) -> None:
        """Let everything be honest from now on, for as long as a report may wait."""
        self.issuer_does, self.collector_does = self.issuer, "honest"
        self.clock_is_set()
        ends = self.now + 10 * DAY  # six sends, from the third on a day apart
        while self.now < ends and self.bench.rows(f"{DECISIONS} WHERE status = 'pending'"):
            self.client.flush(1.0)
            self.time_passes(EIGHTH)
        for survey_id, epoch, status, verdict in self.bench.rows(DECISIONS):
            assert status == "delivered" or verdict in LEFT, (status, verdict)
            if status == "delivered":
                assert self.taken[survey_id, epoch] >= 1
        self.client.close()


ACTIONS: Final[Mapping[str, Callable[[World], object]]] = {
    "an eighth of an epoch": lambda world: world.time_passes(EIGHTH),
    "half an epoch": lambda world: world.time_passes(4 * EIGHTH),
    "the clock is put back": lambda world: world.time_passes(-3 * EIGHTH),
    "the clock is put far back": lambda world: world.time_passes(-3 * DAY),
    "the clock is set": World.clock_is_set,
    "refresh": lambda world: world.client.refresh(force=True),
    "report": lambda world: world.client.report(NAME, "good"),
    "flush": lambda world: world.client.flush(1.0),
    "send what is due": lambda world: engine_of(world.client).uploader.send_due(),
    "restart": World.restart,
    "off and on": World.withdraw,
    "purge": lambda world: world.client.purge(),
    "a successor": World.succeed,
    "issuer fails": lambda world: setattr(world, "issuer_does", world.fails),
    "issuer declines": lambda world: setattr(world, "issuer_does", lambda _: None),
    "issuer dawdles": lambda world: setattr(world, "issuer_does", world.dawdles),
    "issuer lies": lambda world: setattr(world, "issuer_does", lambda _: LIE),
    "issuer is honest": lambda world: setattr(world, "issuer_does", world.issuer),
    **{
        f"collector is {does}": partial(
            lambda does, world: setattr(world, "collector_does", does), does
        )
        for does in ("busy", "deaf", "unheard", "honest")
    },
}
USUAL: Final = ("an eighth of an epoch", "refresh", "report", "flush", "send what is due")


@settings(max_examples=150 if THOROUGH else 15, derandomize=True)
@given(st.lists(st.sampled_from([*ACTIONS, *USUAL * 3]), min_size=8, max_size=40))
def test_no_order_of_events_breaks_a_rule_of_blind_enrolment(actions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for action in ("refresh", *actions):
            ACTIONS[action](world)
        world.ends_well()


def test_what_usually_happens_is_a_report_an_epoch(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(2 * 8):
        for action in USUAL:
            ACTIONS[action](world)
    world.ends_well()
    assert sorted(world.taken.values()) == [1, 1]
