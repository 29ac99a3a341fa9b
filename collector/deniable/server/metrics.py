"""Meters of the collector, using Prometheus' own library.

Several workers keep their meters in numbered files. The worker that gets the request adds them up,
and the successor of a dead worker continues its counts. No series reveals individual reports of one
survey as they arrive, since its figures would then be shown report by report. Closed epochs have no
series either.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector

from deniable.messages import RefusalCode

PREFIX: Final = "deniable_"
WORKER_BYTES: Final = 1 << 19
"""Bytes reserved for the files of a worker's meters: more than all series fill."""
_FILES: Final = "counter", "gauge_livesum", "gauge_max", "histogram"
_FAST: Final = (0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_EARLY: Final = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_LATE: Final = (1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0)

disable_created_metrics()  # an additional series for each counter, with its start


class Meters:
    """The meters of one process; :meth:`collect` yields those of all workers.

    Args:
        folder: that of several workers' files; the process then creates no other meters.
        worker: this worker's number, which no other worker uses meanwhile.
    """

    def __init__(self, folder: str | None = None, worker: int = 0) -> None:
        self._folder = folder
        self._own = own = CollectorRegistry()
        if folder is not None:
            _reserve(Path(folder), worker)
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            values.ValueClass = values.MultiProcessValue(lambda: worker)
        counter = partial(Counter, namespace="deniable", registry=own)
        # The gauges of a dead worker are dropped.
        gauge = partial(Gauge, namespace="deniable", registry=own, multiprocess_mode="livesum")
        histogram = partial(Histogram, namespace="deniable", registry=own)

        self.reports_accepted = counter("reports_accepted", "reports counted")
        self.last_report_timestamp = gauge(
            "last_report_timestamp_seconds",
            "when the last report of any survey was accepted; 0 if none was since the collector "
            "started",
            multiprocess_mode="max",
        )
        self.reports_duplicate = counter(
            "reports_duplicate", "identical repeats, acknowledged but not counted again"
        )
        self.reports_refused = _by_code(
            counter("reports_refused", "reports refused, by code", ("code",))
        )
        self.requests_refused = _by_code(
            counter("requests_refused", "requests refused as a whole, by code", ("code",))
        )
        # A label is looked up once.
        self.requests = cache(
            counter(
                "requests",
                "requests whose head arrived, by route and status; combinations that never "
                "occurred are omitted",
                ("route", "status"),
            ).labels
        )
        self.requests_relayed = counter(
            "requests_relayed", "requests that came through a relay and were opened"
        )
        self.requests_failed = counter(
            "requests_failed", "requests that ended in an unexpected error"
        )
        self.workers = gauge("workers", "worker processes that are serving")
        connections = gauge(
            "database_connections",
            "connections to PostgreSQL: allowed, open, and in use",
            ("state",),
        )
        self.database_connections = [
            connections.labels(state) for state in ("allowed", "open", "in-use")
        ]
        self.connections = gauge("connections", "open connections, even if still in a handshake")
        self.connections_refused = counter(
            "connections_refused", "connections refused because there were too many"
        )
        self.connections_evicted = counter(
            "connections_evicted",
            "connections closed to make room: those that kept the collector waiting longest",
        )
        self.connections_overdue = counter(
            "connections_overdue", "connections closed because they were too slow"
        )
        self.reports_in_hand = gauge(
            "reports_in_hand", "reports being checked, or waiting for their commit"
        )
        self.verify_seconds = histogram("verify_seconds", "time to check one upload", buckets=_FAST)
        self.commit_seconds = histogram(
            "commit_seconds", "time from the check to the durable write", buckets=_FAST
        )
        self.early_seconds = histogram(
            "early_seconds",
            "time from the arrival of an early, admissible report to its epoch's start",
            buckets=_EARLY,
        )
        self.late_seconds = histogram(
            "late_seconds",
            "time from an epoch's end to the arrival of a late, admissible report",
            buckets=_LATE,
        )
        self.epochs_sealed = counter("epochs_sealed", "epochs that upkeep sealed")
        self.receipts_erased = counter(
            "receipts_erased", "receipts that upkeep erased, a day after the seal"
        )
        self.upkeep_failed = counter("upkeep_failed", "rounds of upkeep that ended in an error")
        self.clock_disagrees = counter(
            "clock_disagrees",
            "rounds of upkeep postponed because the clocks of the store and the machine differ",
        )

    def collect(self) -> Iterable[Metric]:
        """Yield all meters, of all workers."""
        return self._own.collect() if self._folder is None else _merged(self._folder, "*.db")

    def serving(self) -> int:
        """Return how many workers serve, without reading other meters, since anybody may ask."""
        if self._folder is None:
            gauges = self.workers.collect()
        else:
            gauges = _merged(self._folder, "gauge_livesum_*.db")
        return sum(int(one.samples[0].value) for one in gauges if one.name == f"{PREFIX}workers")


def _reserve(folder: Path, worker: int) -> None:
    """Create a worker's missing files, with all their space reserved.

    Otherwise a full disk would kill a counting worker with a signal.
    """
    folder.mkdir(0o700, exist_ok=True)  # the folder above may have been cleared
    for kind in _FILES:
        with (folder / f"{kind}_{worker}.db").open("ab") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, WORKER_BYTES // len(_FILES))
            except OSError as error:
                raise OSError(
                    f"no space for metrics in {folder.parent}: {error.strerror}"
                ) from error


def _by_code(refused: Counter) -> dict[RefusalCode, Counter]:
    return {code: refused.labels(code.value) for code in RefusalCode}


def _merged(folder: str, pattern: str) -> Iterable[Metric]:
    made = []
    for file in Path(folder).glob(pattern):
        with suppress(FileNotFoundError):  # its worker has just died
            if file.stat().st_size:  # otherwise its worker has just started
                made.append(file)
    merged: Iterable[Metric] = MultiProcessCollector.merge(made)
    return merged
