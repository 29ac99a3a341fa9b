"""A collector of the simulation: the real server on a real store, with a clock of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deniable.directory import Config
from deniable.messages import RefusalCode, UploadAnswer, pack_upload
from deniable.server.connections import CollectorServer
from deniable.server.routes.app import build_server
from deniable.stores import Store
from tests.support.surveys import AUTHORITY, ORIGIN
from tests.system.simulation.operations import Fate, Item
from tests.system.simulation.reports import envelope
from tests.system.simulation.seam import Seam
from tests.system.simulation.wire import Wire

_SECONDS = 20.0
_CONFIG = Config(
    origin=ORIGIN,
    authority=AUTHORITY.public_key,
    host="127.0.0.1",
    port=0,
    store=Path("unused"),
    public=frozenset(),
)


class Place(Protocol):
    """The database that the collectors share."""

    async def open(self, seam: Seam) -> Store:
        """Return one collector's store, whose writing goes through a seam."""

    async def abandon(self, store: Store) -> None:
        """Let go of a store as a killed process does."""


class Clock:
    """One for all, that a collector reads with an offset of its own."""

    def __init__(self, now: int) -> None:
        self.now = now


@dataclass
class _Running:
    seam: Seam
    store: Store
    server: CollectorServer


class Collector:
    """A collector, started and killed as often as one likes."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.offset = 0  # of its clock, in seconds
        self.wires: set[Wire] = set()  # its connections
        self._place = place
        self._clock = clock
        self._running: _Running | None = None

    def now(self) -> int:
        return self._clock.now + self.offset

    @property
    def seam(self) -> Seam | None:
        return self._running.seam if self._running else None

    @property
    def store(self) -> Store | None:
        return self._running.store if self._running else None

    async def start(self) -> None:
        assert self._running is None
        seam = Seam()
        store = await self._place.open(seam)
        server = await build_server(_CONFIG, store, self.now)
        self._running = _Running(seam, store, server)

    async def stop(self) -> None:
        """Finish what was begun, as at SIGTERM."""
        running, self._running = self._running, None
        if running is not None:
            async with asyncio.timeout(_SECONDS):
                await asyncio.gather(*(wire.answered for wire in self.wires))
                await running.server.shutdown(0)
                await running.store.close()

    async def kill(self) -> None:
        """Kill it: whatever it was doing ends here, and whoever waits for it learns nothing."""
        running, self._running = self._running, None
        if running is not None:
            running.seam.dead = True
            running.seam.release()
            for wire in list(self.wires):
                wire.lose()
            await running.server.shutdown(0)
            await self._place.abandon(running.store)

    async def upload(
        self, items: Sequence[Item], fate: Fate
    ) -> "UploadAnswer | RefusalCode | None":
        running = self._running
        if running is None:
            return None
        body = pack_upload([envelope(item) for item in items])
        head = (
            "POST /v1/reports HTTP/1.1\r\nHost: collector\r\n"
            f"Content-Type: application/msgpack\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        wire = Wire(running.server)
        try:
            await asyncio.sleep(0)  # a connection lives for a turn of the event loop at least
            if wire.is_closing() or running.seam.dead:
                return None
            self.wires.add(wire)
            if fate is Fate.CUT:
                wire.send(head.encode() + body[: len(body) // 2])
                await asyncio.sleep(0)
                return None
            wire.send(head.encode() + body)
            if fate is Fate.HUNG_UP:
                await asyncio.sleep(0)
                return None
            async with asyncio.timeout(_SECONDS):
                answer = await wire.answered
        finally:
            self.wires.discard(wire)
            wire.lose()
        if answer is None or fate is Fate.UNHEARD or running.seam.dead:
            return None
        return _read(answer, len(items))


def _read(answer: bytes, sent: int) -> UploadAnswer | RefusalCode:
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(maxsplit=2)[1])
    assert status in {200, 503, 507}, answer
    if status == 200:
        read = UploadAnswer.from_json(body, sent)
        assert read is not None
        return read
    return RefusalCode.OVERLOADED if status == 503 else RefusalCode.STORAGE_FULL
