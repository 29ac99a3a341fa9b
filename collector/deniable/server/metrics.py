"""Meters of the collector, and the text in which Prometheus reads them (format 0.0.4).

The meters are in memory that worker processes share, one row of numbers a worker: each writes its
own without locks, and whoever is asked adds them up. No series is of one survey's reports as they
come: its figures would then be shown report by report. Those of closed epochs are, if settings say.
"""

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, product
from typing import Final, Literal

from deniable.messages import RefusalCode
from deniable.server.pages.table import PAGES
from deniable.server.routes.routing import ROUTES

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_FAST: Final = (0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_EARLY: Final = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_LATE: Final = (1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0)
_CODES: Final = tuple(code.value for code in RefusalCode)
_OTHER: Final = "other"
_PATHS: Final = (*(route.path for route in (*ROUTES, *PAGES)), _OTHER)
_REFUSED: Final = {code.http_status or 400 for code in RefusalCode}
_STATUSES: Final = (*map(str, sorted({200, 303, 304, 405, 417, 500, 501, 505} | _REFUSED)), _OTHER)


@dataclass(frozen=True, slots=True)
class Meter:
    """One thing that is counted, or measured."""

    name: str  # behind ``deniable_``
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str  # for people
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # each with its values
    bounds: tuple[float, ...] = ()  # upper ends of a histogram's buckets
    latest: bool = False  # of several workers', the greatest is shown, not the sum

    @property
    def cells(self) -> int:
        """Return how many numbers it takes; of a histogram, its buckets, one beyond and the sum."""
        return len(self.bounds) + 2 if self.kind == "histogram" else len(self.values)

    @property
    def values(self) -> list[tuple[str, ...]]:
        """Return the values of the labels, for one number after another."""
        return list(product(*self.labels.values()))


METERS: Final = (
    Meter("reports_accepted", "counter", "reports counted"),
    Meter(
        "last_report_timestamp_seconds",
        "gauge",
        "when a report was accepted last, of any survey; 0 if none was since the start",
        latest=True,
    ),
    Meter("reports_duplicate", "counter", "identical repeats, acknowledged and not counted again"),
    Meter("reports_refused", "counter", "reports refused, by code", {"code": _CODES}),
    Meter("requests_refused", "counter", "requests refused as a whole, by code", {"code": _CODES}),
    Meter(
        "requests",
        "counter",
        "requests whose head came, by route and status; no row for what never occurred",
        {"route": _PATHS, "status": _STATUSES},
    ),
    Meter("requests_relayed", "counter", "requests that came through a relay, and were opened"),
    Meter("requests_failed", "counter", "requests that ended in an unforeseen error"),
    Meter("workers", "gauge", "worker processes that serve"),
    Meter(
        "database_connections",
        "gauge",
        "connections to PostgreSQL: allowed, open, and in use",
        {"state": ("allowed", "open", "in-use")},
    ),
    Meter("connections", "gauge", "connections that are open, or in their handshake"),
    Meter("connections_refused", "counter", "connections turned away, being too many"),
    Meter(
        "connections_evicted",
        "counter",
        "connections closed, having kept us waiting longest when others needed the room",
    ),
    Meter("connections_overdue", "counter", "connections closed, being too slow"),
    Meter("reports_in_hand", "gauge", "reports being judged, or waiting for their commit"),
    Meter("verify_seconds", "histogram", "time to judge one upload", bounds=_FAST),
    Meter("commit_seconds", "histogram", "time from judgement to durable", bounds=_FAST),
    Meter(
        "early_seconds",
        "histogram",
        "how long before its epoch an admissible report came, if before it",
        bounds=_EARLY,
    ),
    Meter(
        "late_seconds",
        "histogram",
        "how long after its epoch an admissible report came, if after it",
        bounds=_LATE,
    ),
    Meter("epochs_sealed", "counter", "epochs that upkeep sealed"),
    Meter("receipts_erased", "counter", "receipts that upkeep erased, a day after the seal"),
    Meter("upkeep_failed", "counter", "rounds of upkeep that ended in an error"),
    Meter(
        "clock_disagrees",
        "counter",
        "rounds of upkeep put off, since the clocks of store and machine differ",
    ),
)
"""Every meter there is; the site's table is made of it."""

GAUGES: Final = (
    Meter("store_up", "gauge", "1 if the store takes durable writes, else 0"),
    Meter(
        "store_lagging_standbys",
        "gauge",
        "standbys of PostgreSQL that no acknowledgement waits for, or that are away",
    ),
    Meter("disk_free_bytes", "gauge", "room where the SQLite store is"),
    Meter(
        "certificate_end_timestamp_seconds",
        "gauge",
        "when the certificate ends that is in use, if the collector ends TLS",
    ),
    Meter(
        "survey_end_timestamp_seconds",
        "gauge",
        "when the last epoch of a current survey is over, of the one that ends first",
    ),
    Meter("seals_overdue", "gauge", "epochs with reports whose seal is an hour late, or more"),
    Meter("backup_timestamp_seconds", "gauge", "when the last backup was made; 0 if never"),
    Meter("workers_wanted", "gauge", "worker processes that the settings ask for"),
)
"""What is measured when somebody asks: the same value whichever worker answers."""
_ANSWER: Final[Mapping[str, tuple[str, ...]]] = {"survey": (), "answer": ()}
_SURVEY: Final[Mapping[str, tuple[str, ...]]] = {"survey": ()}
FIGURES: Final = (
    Meter(
        "estimate",
        "gauge",
        "of the newest closed epoch of a survey in `metrics_surveys`: the unbiased share of each "
        "answer, or the mean of numbers",
        _ANSWER,
    ),
    Meter("estimate_low", "gauge", "low end of its 95 % interval", _ANSWER),
    Meter("estimate_high", "gauge", "high end of its 95 % interval", _ANSWER),
    Meter("estimate_reports", "gauge", "reports of that epoch", _SURVEY),
    Meter("estimate_fake_reports", "gauge", "reports of it that are fake at least", _SURVEY),
    Meter("estimate_epoch_end_timestamp_seconds", "gauge", "when that epoch ended", _SURVEY),
)
"""What is estimated of surveys; their names and answers are the labels' values."""
BUILD_INFO: Final = Meter(
    "build_info", "gauge", "always 1; its labels say what runs: version, python, event_loop"
)

_PLACES: Final = {
    meter.name: sum(before.cells for before in METERS[:i]) for i, meter in enumerate(METERS)
}
_CODE_PLACES: Final = {code: place for place, code in enumerate(RefusalCode)}
_PATH_PLACES: Final = {path: place for place, path in enumerate(_PATHS)}
_STATUS_PLACES: Final = {status: place for place, status in enumerate(_STATUSES)}
_BY_NAME: Final = {meter.name: meter for meter in METERS}
_CELLS: Final = sum(meter.cells for meter in METERS)
_CELL_BYTES: Final = 8


class Meters:
    """The meters of one worker: a row of the memory that :meth:`shared` makes for all of them."""

    def __init__(self, memory: mmap.mmap | None = None, worker: int = 0) -> None:
        self._memory = memory or self.shared(1)
        numbers = memoryview(self._memory).cast("d")
        self._rows = [numbers[at : at + _CELLS] for at in range(0, len(numbers), _CELLS)]
        self._row = self._rows[worker]
        for meter in METERS:
            if meter.kind == "gauge":  # whoever had this row before may have been killed
                self.put(meter.name, [0.0] * meter.cells)

    @staticmethod
    def shared(workers: int) -> mmap.mmap:
        """Return zeroed memory for so many workers, which forked processes share."""
        return mmap.mmap(-1, workers * _CELLS * _CELL_BYTES)

    def count(self, name: str, amount: float = 1.0) -> None:
        """Add to a counter, or to a gauge."""
        self._row[_PLACES[name]] += amount

    def put(self, name: str, values: Sequence[float]) -> None:
        """Set a gauge: what it is in this worker."""
        for place, value in enumerate(values, _PLACES[name]):
            self._row[place] = value

    def count_request(self, path: str, status: int) -> None:
        """Count a request by its route's path, and the status of its answer."""
        route = _PATH_PLACES.get(path, len(_PATHS) - 1)
        place = _STATUS_PLACES.get(str(status), len(_STATUSES) - 1)
        self._row[_PLACES["requests"] + route * len(_STATUSES) + place] += 1.0

    def count_code(self, name: str, code: RefusalCode) -> None:
        """Count a code of a counter."""
        self._row[_PLACES[name] + _CODE_PLACES[code]] += 1.0

    def observe(self, name: str, value: float) -> None:
        """Add a value to a histogram."""
        bounds, place = _BY_NAME[name].bounds, _PLACES[name]
        self._row[place + bisect_left(bounds, value)] += 1.0
        self._row[place + len(bounds) + 1] += value

    def totals(self) -> Iterator[tuple[Meter, list[float]]]:
        """Yield each meter with its numbers, added up over the workers."""
        for meter in METERS:
            yield meter, self.total(meter.name)

    def total(self, name: str) -> list[float]:
        """Return the numbers of a meter, added up over the workers."""
        meter, place = _BY_NAME[name], _PLACES[name]
        together = max if meter.latest else sum
        return [together(row[place + i] for row in self._rows) for i in range(meter.cells)]


def exposed_name(meter: Meter) -> str:
    """Return a meter's name as Prometheus gets it."""
    return f"deniable_{meter.name}{'_total' if meter.kind == 'counter' else ''}"


def exposition(
    meters: Meters,
    measured: Mapping[str, float],
    build: Mapping[str, str],
    figures: Mapping[str, Mapping[tuple[str, ...], float]] | None = None,
) -> str:
    """Return the text that Prometheus reads: meters, gauges by name, what runs, and estimates."""
    lines = [*_heading(BUILD_INFO), f"{exposed_name(BUILD_INFO)}{_labels(**build)} 1"]
    gauges = ((gauge, [measured[gauge.name]]) for gauge in GAUGES if gauge.name in measured)
    for meter, numbers in chain(meters.totals(), gauges):
        lines += _heading(meter)
        lines += _samples(meter, numbers)
    for figure in FIGURES:
        if numbers_of := (figures or {}).get(figure.name):
            lines += _heading(figure)
            for values, number in numbers_of.items():
                labels = _labels(**dict(zip(figure.labels, values, strict=True)))
                lines.append(f"{exposed_name(figure)}{labels} {number:.17g}")
    return "\n".join(lines) + "\n"


def _heading(meter: Meter) -> Iterator[str]:
    name = exposed_name(meter)
    yield f"# HELP {name} {meter.meaning}"
    yield f"# TYPE {name} {meter.kind}"


def _samples(meter: Meter, numbers: list[float]) -> Iterator[str]:
    name = exposed_name(meter)
    if meter.kind != "histogram":
        for values, number in zip(meter.values, numbers, strict=True):
            labels = dict(zip(meter.labels, values, strict=True))
            if number or len(labels) < 2:  # most pairs of values never come together
                yield f"{name}{_labels(**labels) if labels else ''} {number:.17g}"
        return
    *buckets, total = numbers
    ends = [*(f"{bound:g}" for bound in meter.bounds), "+Inf"]
    for end, number in zip(ends, accumulate(buckets), strict=True):
        yield f"{name}_bucket{_labels(le=end)} {number:.17g}"
    yield f"{name}_sum {total:.17g}"
    yield f"{name}_count {sum(buckets):.17g}"


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
