"""Gauges, measured when somebody looks: absolute values, the same whichever worker answers.

No value is of one survey's reports as they come. What cannot be told, such as the end of a
certificate where there is none, has no sample.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from deniable.directory import Config
from deniable.directory.states import all_overdue
from deniable.server.operations.closed_figures import ClosedFigures
from deniable.server.operations.metrics import Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.shared_answers import SharedAnswer
from deniable.server.transport.tls import ServerTls
from deniable.stores import Store, StoreError, StoreFull

_FULL_BYTES: Final = 1 << 20
_WRITING_SECONDS: Final = 4.0
_READING_SECONDS: Final = 3.0
_KEEPING_SECONDS: Final = 2.0


class Gauges:
    """Measures; the store is asked at most once in some seconds."""

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
        self.figures = ClosedFigures(config, store, catalogue, clock)
        self._up = SharedAnswer(self._write, patience=_WRITING_SECONDS)
        # A database that has fallen silent does not even let go of whoever asks it.
        self._stored = SharedAnswer(self._read_store, patience=_READING_SECONDS)

    async def check(self) -> None:
        """Return if the store takes a durable write.

        Raises:
            StoreError: if it does not.
        """
        await self._up.get()

    async def _write(self) -> None:
        if isinstance(self._config.store, Path) and await _room(self._config.store) < _FULL_BYTES:
            # One row may still fit, where no upload does.
            raise StoreFull("the disk has no room left")
        await self._store.ping()

    async def read(self) -> Mapping[str, float]:
        """Return the values, by name; what the store is asked is as old as :meth:`check` has it."""
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
            pass  # it is said by what is missing; who uploads has it logged
        return values

    async def keep(self, meters: Meters) -> None:
        """Keep the gauges that are this worker's own among its meters, until cancelled."""
        meters.put("workers", [1.0])
        while (usage := self._store.connections) is not None:
            meters.put("database_connections", usage)
            await asyncio.sleep(_KEEPING_SECONDS)

    async def _read_store(self) -> dict[str, float]:
        now, catalogue, store = self._clock(), self._catalogue, self._store
        await catalogue.reread()
        values: dict[str, float] = {
            "backup_timestamp_seconds": await store.backed_up_at() or 0,
            "store_lagging_standbys": await store.lagging_standbys(),
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
