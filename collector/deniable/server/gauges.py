"""Gauges, measured on request.

Gauges are absolute: the same whichever worker answers. No value reveals individual reports of one
survey as they arrive. An unknown value, such as the end of a missing certificate, has no sample.
"""

import asyncio
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

from deniable.directory import Config
from deniable.directory.collector_directory import all_overdue
from deniable.server.metrics import PREFIX, Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import SharedAnswer
from deniable.server.tls import ServerTls
from deniable.stores import Store, StoreError, StoreFull

MEASURED: Final = {
    "store_up": "1 if the store accepts durable writes, else 0",
    "disk_free_bytes": "free space on the SQLite store's disk",
    "certificate_end_timestamp_seconds": (
        "when the certificate in use expires, if the collector terminates TLS"
    ),
    "survey_end_timestamp_seconds": (
        "when the last epoch ends, for the current survey that ends first"
    ),
    "seals_overdue": "epochs with reports whose seal is at least an hour late",
    "backup_timestamp_seconds": "time of the last backup; 0 if there is none",
    "workers_wanted": "worker processes configured",
}
"""Gauges measured on request: the same value whichever worker answers."""
BUILD_INFO: Final = (
    "always 1; the labels version, python and event_loop show which software is running"
)

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
        self._up = SharedAnswer(self._write, patience=_WRITING_SECONDS)
        # A silent database does not even release its callers.
        self._stored = SharedAnswer(self._read_store, patience=_READING_SECONDS)

    async def check(self) -> None:
        """Return once the store has accepted a durable write.

        Raises:
            StoreError: if the store does not accept the write.
        """
        await self._up.get()

    async def _write(self) -> None:
        if isinstance(self._config.store, Path) and await _room(self._config.store) < _FULL_BYTES:
            # One row may still fit, although no upload does.
            raise StoreFull("the disk is full")
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
        """Yield the latest values, and the running versions."""
        build = {
            "version": version("deniable"),
            "python": platform.python_version(),
            "event_loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
        }
        yield InfoMetricFamily(f"{PREFIX}build", BUILD_INFO, build)
        for name, value in self._measured.items():
            yield GaugeMetricFamily(PREFIX + name, MEASURED[name], value)

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
        values: dict[str, float] = {"backup_timestamp_seconds": await store.backed_up_at() or 0}
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
        raise StoreError(f"the store's folder no longer exists: {error.strerror}") from error
