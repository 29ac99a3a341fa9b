"""The device: one response, one ``report()``, and what importing the SDK costs."""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

from benchmarks.imports import show_imports
from benchmarks.rounds import ROUNDS, Rounds, interleave, seconds_each
from benchmarks.surveys import AUTHORITY, ORIGIN, START, declaration, signed_survey
from benchmarks.table import Row, show
from deniable.client import Client, HttpAnswer
from deniable.mechanisms import (
    MAX_METRIC,
    Circular,
    ClampedGeometric,
    Mechanism,
    Metric,
    Ordinal,
    RandomisedResponse,
)
from deniable.messages import UploadAnswer

_DRAWS: Final = 20_000
_REPORTS: Final = 300
_WAITING: Final = 30
"""So many reports wait at most, as on a device that is online now and then."""
_OLD: Final = 9_700
"""Decisions of an old device: a survey has 10,000 epochs at most."""
_DAY: Final = 86_400


def run() -> None:
    """Measure and print."""
    _show_draws()
    _show_certificates()
    _show_reports()
    _show_age()
    show_imports()


def _show_draws() -> None:
    for k in (16, 1024):
        table = [[abs(x - y) for y in range(k)] for x in range(k)] if k <= MAX_METRIC else []
        mechanisms: list[Mechanism] = [
            RandomisedResponse(k, "1"),
            Ordinal.calibrated(k, "1"),
            Circular.calibrated(k, "1"),
            ClampedGeometric.calibrated(k, "1"),
            *([Metric(table, Fraction(19, 20))] if table else []),
        ]
        works = {type(each).__name__: partial(each.randomise, 3) for each in mechanisms}
        found = interleave(
            {name: seconds_each(work, _DRAWS) for name, work in works.items()}
            | {"word": seconds_each(lambda: int.from_bytes(os.urandom(8), "big"), _DRAWS)}
        )
        show(
            f"one response, k = {k:,}",
            [
                *(Row(f"{name}.randomise", found[name].scaled(1e6), "µs") for name in works),
                Row("one 64-bit word of os.urandom", found["word"].scaled(1e6), "µs"),
                *(Row(f"{name} ÷ word", found[name] / found["word"]) for name in works),
            ],
        )


def _show_certificates() -> None:
    ratios = {k: Ordinal.calibrated(k, "1").ratio for k in (100, 4096)}
    found = interleave(
        {
            f"{name}, k = {k:,}": seconds_each(partial(_certify, kind, k, ratio), 3)
            for k, ratio in ratios.items()
            for name, kind in (("Ordinal", Ordinal), ("ClampedGeometric", ClampedGeometric))
        }
    )
    show(
        "a mechanism of distance from its ratio, with its tight guarantee",
        [Row(name, seconds.scaled(1e3), "ms") for name, seconds in found.items()],
    )


def _certify(
    kind: type[Ordinal] | type[ClampedGeometric], categories: int, ratio: Fraction
) -> None:
    assert kind(categories, ratio).privacy.odds is not None


def _show_reports() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        _commits(Path(folder)) as commit,
        _reports(Path(folder)) as (report, deliver),
    ):
        times = []
        for _ in range(1 + ROUNDS):
            pairs = []
            for number in range(_REPORTS):
                pairs.append((_seconds(report), _seconds(commit)))
                if number % _WAITING == 0:
                    deliver()  # not timed: elsewhere and later
            times.append(pairs)
    # In turn, since a disk's mood changes within a round; the first round warms up.
    ours, bare = zip(*(zip(*pairs, strict=True) for pairs in times[1:]), strict=True)
    show(
        "one Client.report(): charge, draw, sign and store, durably",
        [
            Row("report(), 50th percentile", _percentile(ours, 50).scaled(1e3), "ms"),
            Row("report(), 99th percentile", _percentile(ours, 99).scaled(1e3), "ms"),
            Row("a bare one-row commit, 50th", _percentile(bare, 50).scaled(1e3), "ms"),
            Row("a bare one-row commit, 99th", _percentile(bare, 99).scaled(1e3), "ms"),
            Row("report() ÷ bare commit, 50th", _percentile(ours, 50) / _percentile(bare, 50)),
            Row("report() ÷ bare commit, 99th", _percentile(ours, 99) / _percentile(bare, 99)),
        ],
    )


def _show_age() -> None:
    with (
        tempfile.TemporaryDirectory() as young,
        tempfile.TemporaryDirectory() as old,
        _reports(Path(young)) as (report, deliver),
        _reports(Path(old)) as (later, clear),
    ):
        for number in range(_OLD):
            later()
            if number % _WAITING == 0:
                clear()
        for _ in range(_WAITING):
            report()
        times = interleave(
            {"young": lambda: _median(report, deliver), "old": lambda: _median(later, clear)}
        )
    show(
        f"report() of a device by its age, {_WAITING} to {_WAITING * (ROUNDS + 2)} decisions and "
        f"{_OLD:,} on, medians of {_WAITING}",
        [
            Row("young", times["young"].scaled(1e3), "ms"),
            Row("old", times["old"].scaled(1e3), "ms"),
            Row("old ÷ young", times["old"] / times["young"]),
        ],
    )


def _median(report: Callable[[], object], deliver: Callable[[], object]) -> float:
    deliver()  # not timed, and an outbox of the same length for both
    return statistics.median(_seconds(report) for _ in range(_WAITING))


def _seconds(work: Callable[[], object]) -> float:
    return seconds_each(work, 1)()


def _percentile(rounds: Sequence[Sequence[float]], percent: int) -> Rounds:
    return Rounds(tuple(statistics.quantiles(times, n=100)[percent - 1] for times in rounds))


class _Accepting:
    """A collector that takes everything at once."""

    def request(
        self,
        _method: str,
        _path: str,
        _headers: Mapping[str, str],
        _body: bytes,
        _most: int,
        _timeout: float = 20.0,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Answer that the one report was accepted."""
        if before_body is not None:
            before_body()
        return HttpAnswer(200, {"content-type": "application/json"}, UploadAnswer(1, 0).to_json())


@contextmanager
def _reports(folder: Path) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """Yield a call that reports, in another epoch each time, and one that delivers what waits."""
    manifest, envelope = signed_survey(16, 10_000, "0.001")
    clock = _Epochs()
    with Client(
        ORIGIN,
        authority=AUTHORITY.public_key,
        surveys=[declaration(manifest)],
        state=folder / "device.sqlite",
        consent="on",
        manifests=[envelope],
        background=False,
        clock=clock,
        transport=_Accepting(),
    ) as client:

        def report() -> None:
            clock.time += _DAY
            client.report(manifest.name, manifest.categories[3], strict=True)

        yield report, client.flush


class _Epochs:
    """A clock that only benchmarks move."""

    def __init__(self) -> None:
        self.time = float(START)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, event: Event, seconds: float) -> None:
        if not event.is_set():
            self.time += seconds


@contextmanager
def _commits(folder: Path) -> Iterator[Callable[[], object]]:
    """Yield a call that commits one row of a report's size, as durably as a state does."""
    path = folder / "bare.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (row INTEGER PRIMARY KEY, bytes BLOB)")
        row = os.urandom(200)

        def commit() -> None:
            connection.execute("INSERT INTO rows (bytes) VALUES (?)", (row,))

        yield commit
