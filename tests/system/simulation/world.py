"""Devices, collectors and their store, to which operations happen one after the other."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any
from unittest import mock

from deniable.counterparts.signing import sign_manifest
from deniable.messages import RefusalCode, UploadAnswer
from deniable.server.routes.catalogue import Catalogue
from deniable.server.upkeep import Upkeep
from deniable.stores import Store, StoreError
from tests.support.surveys import AUTHORITY, DAY, START
from tests.system.simulation import operations as op
from tests.system.simulation.books import Books
from tests.system.simulation.collectors import Clock, Collector, Place
from tests.system.simulation.reports import ISSUERS, survey
from tests.system.simulation.seam import Died, Seam

_ROUNDS = 3


class World:
    """Everything there is; nothing ever happens to the observer, a store on the place."""

    def __init__(self, place: Place, observer: Store) -> None:
        self._observer = observer
        self._clock = Clock(START + DAY)
        self._collectors = [Collector(place, self._clock) for _ in range(op.COLLECTORS)]
        self._books = Books()
        self._devices: set[op.Item] = set()
        self._unforeseen: list[dict[str, Any]] = []

    async def play(self, operations: list[op.Operation]) -> None:
        """Do everything; compare the store with the books after each step, and at the end."""
        asyncio.get_running_loop().set_exception_handler(self._foresee)
        try:
            for collector in self._collectors:
                await collector.start()
            for operation in operations:
                await self._do(operation)
                await self._books.audit(self._observer)
            await self._settle()
            await self._books.audit(self._observer)
        finally:
            for collector in self._collectors:
                await collector.kill()
        assert self._unforeseen == [], self._unforeseen

    def _foresee(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            self._unforeseen.append(context)

    async def _do(self, operation: op.Operation) -> None:
        match operation:
            case op.Start():
                collector = self._collectors[operation.collector]
                await collector.stop()
                await collector.start()
            case op.Skew():
                self._collectors[operation.collector].offset = operation.seconds
            case op.Pass():
                self._clock.now += operation.seconds
            case op.Break():
                seam = self._collectors[operation.collector].seam
                if seam is not None:
                    seam.break_after(operation.statements, operation.how)
            case op.Together():
                await asyncio.gather(*map(self._act, operation.acts))
            case op.Between():
                await self._between(operation)
            case _:
                await self._act(operation)

    async def _between(self, operation: op.Between) -> None:
        collector = self._collectors[operation.first.collector]
        seam = collector.seam
        loop, reached = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(reached.set)

        if seam is not None:
            seam.hold_after(operation.statements, tell)
        first = asyncio.create_task(self._act(operation.first))
        reaching = asyncio.create_task(reached.wait())
        await asyncio.wait({first, reaching}, return_when=asyncio.FIRST_COMPLETED)
        if seam is not None and not reached.is_set():
            seam.release()
        waiting = [first]
        for act in operation.then:
            task = asyncio.create_task(self._act(act))
            waiting.append(task)
            if isinstance(act, op.Kill) or not self._is_held(act, seam):
                await task
        if seam is not None:
            seam.release()
        await asyncio.gather(*waiting)
        reaching.cancel()

    def _is_held(self, act: op.Act, seam: Seam | None) -> bool:
        return seam is not None and self._collectors[act.collector].seam is seam

    async def _act(self, act: op.Act) -> None:
        collector = self._collectors[act.collector]
        if isinstance(act, op.Kill):
            await collector.kill()
        elif isinstance(act, op.Send):
            await self._send(collector, act)
        elif collector.store is not None:
            with suppress(StoreError, Died):  # whether it was done, the store must tell
                await self._rule(collector.store, act, collector.now())

    async def _send(self, collector: Collector, act: op.Send) -> dict[op.Item, RefusalCode | None]:
        """Upload; return what became of each report, nothing if there was no such answer."""
        self._devices.update(item for item in act.items if item.kind in op.VALID)
        before, now = self._books.final.copy(), collector.now()
        if act.fate is not op.Fate.CUT and collector.store is not None:
            self._books.send(act.items)
        answer = await collector.upload(act.items, act.fate)
        if not isinstance(answer, UploadAnswer):
            return {}
        self._books.hear(act.items, answer, before, now)
        refused = dict(answer.refused)
        return {item: refused.get(index) for index, item in enumerate(act.items)}

    async def _rule(self, store: Store, act: op.Ruling, now: int) -> None:
        final = self._books.final
        match act:
            case op.Keep():
                ended = {number for number in range(op.SURVEYS) if ("end", number) in final.begun}
                final.begun.update(_due(now, ended))
                catalogue = Catalogue(store, AUTHORITY.public_key, lambda: now)

                async def store_time() -> float:
                    return now

                with mock.patch.object(store, "time", store_time):
                    await Upkeep(store, catalogue, lambda: now).turn()
            case op.Seal():
                final.begun.add(("seal", (act.survey, act.epoch)))
                seal = await store.seal(survey(act.survey).survey_id, act.epoch, now)
                known = final.seals.setdefault((act.survey, act.epoch), seal)
                assert (known.sealed_at, known.digest) == (seal.sealed_at, seal.digest)
            case op.Prune():
                await store.prune(survey(act.survey).survey_id, act.epoch, now)
            case op.End():
                final.begun.add(("end", act.survey))
                await store.end(survey(act.survey).survey_id, now)
                final.ended.add(act.survey)
            case op.Distrust():
                final.begun.add(("distrust", act.issuer))
                await store.distrust(ISSUERS[act.issuer].public_key, now)
                final.distrusted.add(act.issuer)
            case op.Publish():
                manifest = survey(act.survey)
                await store.publish(manifest, sign_manifest(manifest, AUTHORITY))

    async def _settle(self) -> None:
        """End all trouble; let every device send until it has an answer that is one."""
        for collector in self._collectors:
            await collector.kill()
            collector.offset = 0
            await collector.start()
        await self._act(op.Publish(0, 1))
        pending = self._devices - self._books.acknowledged
        for number in range(_ROUNDS):
            for item in sorted(pending, key=repr):
                self._clock.now += 1
                to = number % op.COLLECTORS
                answered = await self._send(self._collectors[to], op.Send(to, (item,)))
                if answered and answered[item] is not RefusalCode.UNKNOWN_SURVEY:
                    pending = pending - {item}
        assert not pending, "a device is never told what became of its report"


def _due(now: int, ended: Collection[int]) -> set[tuple[str, object]]:
    """Return what upkeep may make final at a time, some surveys having ended."""
    seals = {
        ("seal", (number, epoch))
        for number in range(op.SURVEYS)
        for epoch in range(survey(number).schedule.epochs)
        if number in ended or now >= survey(number).schedule.closes(epoch)
    }
    ends = {("end", number) for number in range(op.SURVEYS) if now >= survey(number).schedule.end}
    return {*seals, *ends}
