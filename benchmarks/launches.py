"""When an app that is opened now and then sends: how soon, and how long after each launch.

The client is the real one, state and all, on a clock of its own. Its thread's rounds are called in
its place, and each session ends with a kill. A request takes .1 s to arrive, and .05 s more to be
answered; a session that ends before has sent nothing, or does not know that it has.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.surveys import AUTHORITY, ORIGIN, START, declaration, signed_survey
from deniable.client import Client, ClientSettings, HttpAnswer
from deniable.client.client import engine_of
from deniable.counterparts.bodies import pack_answer_to_upload, pack_manifests
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule, UploadAnswer

SESSIONS: Final = (0.3, 10.0, 60.0, 300.0, 1800.0)
A_DAY: Final = 5
_WITHIN: Final = (1, 2, 7, 14)
_DEVICES: Final = 5
_WEEKS: Final = 8
_DAY: Final = 86_400
_ARRIVES: Final = 0.1
_ANSWERED: Final = 0.05


def run() -> None:
    """Measure and print."""
    print(f"\n{A_DAY} sessions a day at random times, {_WEEKS} weeks, {_DEVICES} devices each")
    print("of the reports, arrived within days; of launches with a request, seconds to the first")
    for epoch_days in (7, 1):
        for seconds in SESSIONS:
            lives = [live(seconds, epoch_days, _WEEKS * 7, seed) for seed in range(_DEVICES)]
            print(f"epochs of {epoch_days} days, sessions of {seconds:g} s: {_summary(lives)}")


@dataclass(slots=True)
class Life:
    """What a device did: instants in seconds."""

    ends: float
    made: dict[int, float] = field(default_factory=dict)  # when each epoch was reported
    arrived: dict[int, float] = field(default_factory=dict)  # when the report came
    waits: list[float] = field(default_factory=list)  # from launches to their first requests

    def share_within(self, days: float) -> float:
        """Return the share that arrived in time, of the reports that had it."""
        old = [epoch for epoch, made in self.made.items() if made + days * _DAY <= self.ends]
        came = [e for e in old if self.arrived.get(e, self.ends) - self.made[e] < days * _DAY]
        return len(came) / len(old)


def live(seconds: float, epoch_days: int, days: int, seed: int, a_day: int = A_DAY) -> Life:
    """Return the life of a device whose app is open for so many seconds, so often a day."""
    manifest, _ = signed_survey(4, 1, "0.001")
    schedule = Schedule(START, epoch_days * _DAY, days // epoch_days + 1, 30 * _DAY)
    manifest = replace(manifest, schedule=schedule)
    collector = _Collector(sign_manifest(manifest, AUTHORITY))
    clock = collector.clock
    life = Life(START + days * _DAY)
    with tempfile.TemporaryDirectory() as folder:
        for launch in _launches(seconds, days, seed, a_day):
            collector.begin_session(launch, launch + seconds)
            client = Client(
                ORIGIN,
                authority=AUTHORITY.public_key,
                surveys=[declaration(manifest)],
                state=Path(folder) / "device.sqlite",
                consent="on",
                settings=ClientSettings(
                    first_epoch="now",
                    manifests=[collector.envelope],
                    clock=clock,
                    transport=collector,
                ),
            )
            engine_of(client).uploader.start = lambda: None  # type: ignore[method-assign]
            outcome = client.report(manifest.name, manifest.categories[0])
            assert outcome.epoch is not None
            life.made.setdefault(outcome.epoch, launch)
            with suppress(_Killed):
                while clock.time < collector.killed:
                    clock.time += max(engine_of(client).uploader.step(), 0.001)
            engine_of(client).state.close()  # what was not stored is lost
            if collector.first is not None:
                life.waits.append(collector.first - launch)
            for when in collector.uploads:
                waiting = [epoch for epoch in life.made if epoch not in life.arrived]
                life.arrived[min(waiting)] = when
            collector.uploads.clear()
    return life


def _launches(seconds: float, days: int, seed: int, a_day: int) -> Iterator[float]:
    chance, free = Random(seed), float(START)
    for day in range(days):
        for moment in sorted(chance.uniform(0, _DAY) for _ in range(a_day)):
            launch = max(START + day * _DAY + moment, free)
            free = launch + seconds + 1
            yield launch


class _Killed(BaseException):
    pass


class _Clock:
    time = float(START)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class _Collector:
    """Takes everything; ends the session that a request outlasts."""

    def __init__(self, envelope: bytes) -> None:
        self.envelope = envelope
        self.clock = _Clock()
        self.killed = 0.0
        self.first: float | None = None
        self.uploads: list[float] = []
        self._seen: set[bytes] = set()

    def begin_session(self, launch: float, killed: float) -> None:
        """Set the clock, and forget the session before."""
        self.clock.time, self.killed, self.first = launch, killed, None

    def request(
        self,
        method: str,
        _path: str,
        _headers: Mapping[str, str],
        body: bytes,
        _most: int,
        _timeout: float = 20.0,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Answer after a while, if the session lasts as long."""
        if self.first is None:
            self.first = self.clock.time
        self._pass(_ARRIVES)
        if before_body is not None:
            before_body()
        if method == "POST" and body not in self._seen:
            self._seen.add(body)
            self.uploads.append(self.clock.time)
        self._pass(_ANSWERED)
        if method == "GET":
            return HttpAnswer(200, {}, pack_manifests([self.envelope]))
        return HttpAnswer(
            200, {"content-type": "application/json"}, pack_answer_to_upload(UploadAnswer(1, 0))
        )

    def _pass(self, seconds: float) -> None:
        self.clock.time += seconds
        if self.clock.time > self.killed:
            raise _Killed


def _summary(lives: list[Life]) -> str:
    shares = [sum(life.share_within(days) for life in lives) / len(lives) for days in _WITHIN]
    waits = sorted(wait for life in lives for wait in life.waits)
    early = sum(wait < 1 for wait in waits)
    told = " ".join(f"{days} d {share:.0%}" for days, share in zip(_WITHIN, shares, strict=True))
    middle = f"{waits[len(waits) // 2]:.1f} s" if waits else "none"
    return f"{told}; {early} of {len(waits)} within 1 s, median {middle}"
