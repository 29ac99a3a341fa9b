"""Upkeep: the server seals, prunes and ends by the clock, without a command.

Any number of collectors may do so on one store: an action by one of them counts for all, and
repeating it has no effect. A failed action is due again the next time.

Nothing is done if the clock differs from the store's own, or the reports do not confirm it
(:mod:`deniable.intake.life`).
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Final

from deniable.directory.collector_directory import AGREEMENT_SECONDS
from deniable.directory.store_source import shown_seal
from deniable.intake import Action, Due, due, finished
from deniable.messages import Manifest
from deniable.server.metrics import Meters
from deniable.server.routes.catalogue import Catalogue
from deniable.stores import Store, StoreError

_LOG: Final = logging.getLogger("deniable.collector")
_CHANCE: Final = SystemRandom()


class Upkeep:
    """The upkeep of a store's surveys that the catalogue offers."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        clock: Callable[[], float],
        meters: Meters | None = None,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._meters = meters or Meters()
        self._finished: set[bytes] = set()
        self._reported: set[tuple[bytes, int]] = set()

    async def run(self, seconds: float, leads: Callable[[], bool] = lambda: True) -> None:
        """Seal, prune and end surveys about every ``seconds`` until cancelled; 0 means never.

        The first turn also comes only after this time: a newly started machine may not know the
        time yet, and seals are final. Collectors that start together drift apart. Of several
        processes on one machine, only the leading one does upkeep.
        """
        while seconds:
            await asyncio.sleep(seconds * _CHANCE.uniform(0.75, 1.25))
            if leads():
                await self.turn()

    async def turn(self) -> None:
        """Seal, prune and end once; a failed action is logged, and left for the next turn."""
        with self._log_failure("upkeep"):
            await self._compare_clocks()
            await self._catalogue.read()
            ended = await self._store.ended()
            for manifest in self._catalogue.all():
                if manifest.survey_id not in self._finished:
                    with self._log_failure(f"upkeep of {manifest.name}"):
                        await self._keep(manifest, ended.get(manifest.survey_id))

    async def _compare_clocks(self) -> None:
        before = self._clock()
        store = await self._store.time()
        # However long the answer took, a correct clock is within these bounds.
        differ = max(before - store, store - self._clock())
        if differ > AGREEMENT_SECONDS:
            self._meters.clock_disagrees.inc()
            raise StoreError(
                f"the clocks of this machine and of the store differ by {differ:.0f} s: correct "
                "the clock that is wrong"
            )

    @contextmanager
    def _log_failure(self, what: str) -> Iterator[None]:
        """Log and count a failure, so that other surveys are still processed."""
        try:
            yield
        except StoreError as error:
            self._meters.upkeep_failed.inc()
            _LOG.error("%s is postponed: %s", what, error)
        except Exception:  # noqa: BLE001 - whatever it is, the next turn tries again
            self._meters.upkeep_failed.inc()
            _LOG.exception("%s failed unexpectedly and will be retried", what)

    async def _keep(self, manifest: Manifest, ended_at: int | None) -> None:
        seals = await self._store.seals(manifest.survey_id)
        if finished(manifest, seals, ended_at):
            self._finished.add(manifest.survey_id)
            return
        newest = await self._store.newest_counted(manifest.survey_id)
        for action in due(manifest, seals, ended_at, newest, self._clock()):
            await self._do(manifest, action)

    async def _do(self, manifest: Manifest, action: Due) -> None:
        survey_id, now = manifest.survey_id, int(self._clock())
        which = f"{manifest.name} (sequence {manifest.sequence})"
        match action:
            case Due(Action.SEAL, int(epoch)):
                seal = await self._store.seal(survey_id, epoch, now)
                if seal.sealed_at != now:
                    return  # another collector was first, and reports it
                self._meters.epochs_sealed.inc()
                counted = f"reports {seal.reports}"
                if digest := (await shown_seal(self._store, manifest, seal)).digest:
                    counted += f", digest {digest.hex()}"
                _LOG.info("sealed %s, epoch %d: %s", which, epoch, counted)
            case Due(Action.PRUNE, int(epoch)):
                erased = await self._store.prune(survey_id, epoch, now)
                self._meters.receipts_erased.inc(erased)
                _LOG.info("pruned %s, epoch %d: receipts %d", which, epoch, erased)
            case Due(Action.END):
                await self._store.end(survey_id, now)
                _LOG.info("ended %s", which)
            case Due(Action.ASK, int(epoch)) if (survey_id, epoch) not in self._reported:
                self._reported.add((survey_id, epoch))
                _LOG.error(
                    "%s, epoch %d is not sealed: according to this clock, the epoch ended long "
                    "ago, but no report of a later epoch has arrived. If the clock is correct, "
                    "run: deniable survey seal %s %d",
                    *(which, epoch, manifest.name, epoch),
                )
