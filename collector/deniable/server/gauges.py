"""Gauges, measured on request, and estimates of closed epochs for Prometheus.

Gauges are absolute, the same whichever worker answers. No value reveals individual reports of one
survey as they arrive. An unknown value, such as the end of a missing certificate, has no sample.

Estimates are only for the surveys named in a setting. They are computed apart from requests, once
per epoch, so that a scrape is cheap. Nothing about an open epoch is shown: frequent scrapes would
reveal the effect of single reports.
"""

import asyncio
import logging
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

from deniable.directory import Config
from deniable.directory.collector_directory import all_overdue
from deniable.directory.store_source import shown_counts
from deniable.messages import Manifest
from deniable.reading import EpochCounts, epoch_standing
from deniable.server.metrics import PREFIX, Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import SharedAnswer
from deniable.server.tls import ServerTls
from deniable.stores import Store, StoreError, StoreFull

_LOG: Final = logging.getLogger("deniable.collector")
_SECONDS: Final = 30.0
_MOST_ANSWERS: Final = 20
"""The most answers of a survey; of more, the largest, whose intervals hold for all at once."""
_MOST_LOOKS: Final = 400
"""The most epochs that are searched, backwards, for a closed one with figures."""

MEASURED: Final = {
    "store_up": "1 if the store takes durable writes, else 0",
    "disk_free_bytes": "free space where the SQLite store is",
    "certificate_end_timestamp_seconds": (
        "when the certificate in use expires, if the collector terminates TLS"
    ),
    "survey_end_timestamp_seconds": ("end of the last epoch of the current survey that ends first"),
    "seals_overdue": "epochs with reports whose seal is at least an hour late",
    "backup_timestamp_seconds": "time of the last backup; 0 if none",
    "workers_wanted": "worker processes that the settings ask for",
}
"""Gauges measured on request: the same value whichever worker answers."""
_ANSWER: Final = ("survey", "answer")
ESTIMATED: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "estimate": (
        _ANSWER,
        "unbiased share of each answer, or mean of numbers, in the newest closed epoch of a "
        "survey in `metrics_surveys`",
    ),
    "estimate_low": (_ANSWER, "low end of its 95 % interval"),
    "estimate_high": (_ANSWER, "high end of its 95 % interval"),
    "estimate_reports": (("survey",), "reports of that epoch"),
    "estimate_fake_reports": (("survey",), "lower bound on its fake reports"),
    "estimate_epoch_end_timestamp_seconds": (("survey",), "when that epoch ended"),
}
"""Estimates of surveys: the labels, whose values are names and answers, and the meaning."""
BUILD_INFO: Final = "always 1; its labels show what runs: version, python, event_loop"

Figures = Mapping[str, Mapping[tuple[str, ...], float]]
"""Numbers by name, and by the values of labels."""


class ClosedFigures:
    """The latest figures of the newest closed epochs."""

    def __init__(
        self,
        config: Config,
        store: Store,
        catalogue: Catalogue,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._names = sorted(config.metrics_surveys)
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._made: dict[str, tuple[object, Figures]] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield the existing figures of all surveys."""
        for name, (labels, meaning) in ESTIMATED.items():
            family = GaugeMetricFamily(PREFIX + name, meaning, labels=labels)
            for _, figures in self._made.values():
                for values, number in figures[name].items():
                    family.add_metric(values, number)
            if family.samples:
                yield family

    async def keep(self) -> None:
        """Renew the figures repeatedly, until cancelled."""
        while self._names:
            with suppress(StoreError):  # other metrics show it
                await self.renew()
            await asyncio.sleep(_SECONDS)

    async def renew(self) -> None:
        """Compute the figures of surveys with a newly closed epoch."""
        await self._catalogue.reread()
        for name in self._names:
            try:
                await self._renew(name)
            except StoreError:
                raise
            except Exception:  # noqa: BLE001 - it is logged, and others are made
                _LOG.exception("estimates for the metrics could not be made")

    async def _renew(self, name: str) -> None:
        for manifest in self._catalogue.named(name):
            counts = await self._newest_closed(manifest)
            if counts is None:
                continue
            key = counts.survey_id, counts.epoch, counts.standing
            if self._made.get(name, (None,))[0] != key:
                figures = await asyncio.to_thread(_figures_of, manifest, [counts])
                self._made[name] = key, figures
            return

    async def _newest_closed(self, manifest: Manifest) -> EpochCounts | None:
        store, survey_id, now = self._store, manifest.survey_id, self._clock()
        newest = await store.newest_epoch(survey_id)
        seals = {seal.epoch: seal.digest for seal in await store.seals(survey_id)}
        for epoch in range(-1 if newest is None else newest, -1, -1)[:_MOST_LOOKS]:
            if epoch_standing(manifest.schedule, epoch, now, seals.get(epoch)).state.closed:
                for counts in await shown_counts(store, manifest, range(epoch, epoch + 1), now):
                    return counts
        return None


def _figures_of(manifest: Manifest, counts: Sequence[EpochCounts]) -> Figures:
    from deniable.presenting import histogram_of
    from deniable.presenting.rows import chosen_rows, estimate_map, shown_rows

    histogram = histogram_of(manifest, counts)
    if histogram.values is not None:
        rows = [{"category": "mean", **estimate_map(histogram.mean())}]
    else:
        many = len(shown_rows(histogram)) > _MOST_ANSWERS
        rows = [*chosen_rows(histogram, "unbiased", top=_MOST_ANSWERS if many else None).rows]
    own = (manifest.name,)
    made: dict[str, dict[tuple[str, ...], float]] = {
        "estimate_reports": {own: histogram.n},
        "estimate_fake_reports": {own: histogram.sample.fewest_fakes},
        "estimate_epoch_end_timestamp_seconds": {own: histogram.end or 0},
    }
    ends = {"estimate": "estimate", "estimate_low": "low", "estimate_high": "high"}
    for name, key in ends.items():
        known = (row for row in rows if row[key] is not None)
        made[name] = {(*own, row["category"]): row[key] for row in known}
    return made


_FULL_BYTES: Final = 1 << 20
_WRITING_SECONDS: Final = 4.0
_READING_SECONDS: Final = 3.0
_KEEPING_SECONDS: Final = 2.0


class Gauges:
    """Measured values; the store is queried at most once every few seconds."""

    def __init__(
        self,
        config: Config,
        store: Store,
        catalogue: Catalogue,
        clock: Callable[[], float] = time.time,
        tls: ServerTls | None = None,
    ) -> None:
        self._config = config
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._tls = tls
        self._measured: Mapping[str, float] = {}
        self.figures = ClosedFigures(config, store, catalogue, clock)
        self._up = SharedAnswer(self._write, patience=_WRITING_SECONDS)
        # A silent database does not even release its callers.
        self._stored = SharedAnswer(self._read_store, patience=_READING_SECONDS)

    async def check(self) -> None:
        """Return once the store has accepted a durable write.

        Raises:
            StoreError: if it does not.
        """
        await self._up.get()

    async def _write(self) -> None:
        if isinstance(self._config.store, Path) and await _room(self._config.store) < _FULL_BYTES:
            # One row may still fit, although no upload does.
            raise StoreFull("the disk has no room left")
        await self._store.ping()

    async def measure(self) -> Mapping[str, float]:
        """Return the values by name; those of the store are as old as :meth:`check`'s."""
        values: dict[str, float] = {"workers_wanted": self._config.workers, "store_up": 0.0}
        if self._tls is not None:
            values["certificate_end_timestamp_seconds"] = self._tls.ends
        try:
            if isinstance(self._config.store, Path):
                values["disk_free_bytes"] = await _room(self._config.store)
            await self.check()
            values["store_up"] = 1.0
            values |= await self._stored.get()
        except StoreError:
            pass  # missing values show it; an upload logs it
        self._measured = values
        return values

    def collect(self) -> Iterator[Metric]:
        """Yield the latest values, the running versions, and the estimates."""
        build = {
            "version": version("deniable"),
            "python": platform.python_version(),
            "event_loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
        }
        yield InfoMetricFamily(f"{PREFIX}build", BUILD_INFO, build)
        for name, value in self._measured.items():
            yield GaugeMetricFamily(PREFIX + name, MEASURED[name], value)
        yield from self.figures.collect()

    async def keep(self, meters: Meters) -> None:
        """Keep this worker's own gauges up to date among its meters, until cancelled."""
        meters.workers.set(1)
        while (usage := self._store.connections) is not None:
            for meter, number in zip(meters.database_connections, usage, strict=True):
                meter.set(number)
            await asyncio.sleep(_KEEPING_SECONDS)

    async def _read_store(self) -> dict[str, float]:
        now, catalogue, store = self._clock(), self._catalogue, self._store
        await catalogue.reread()
        values: dict[str, float] = {
            "backup_timestamp_seconds": await store.backed_up_at() or 0,
        }
        running = [catalogue.running(newest.name, now) for newest in catalogue.newest()]
        ends = [surveys[0].schedule.end for surveys in running if surveys]
        if ends:
            values["survey_end_timestamp_seconds"] = min(ends)
        values["seals_overdue"] = len(await all_overdue(store, catalogue.all(), now))
        return values


async def _room(store: Path) -> int:
    try:
        return (await asyncio.to_thread(shutil.disk_usage, store.parent)).free
    except OSError as error:
        raise StoreError(f"the store's folder is gone: {error.strerror}") from error
