"""Group commit without a timer: reports that arrive during one commit are committed by the next.

A commit costs as much as checking several reports, however few it stores. So it begins when the
event loop has no more reports to add. Under load the groups grow by themselves, and an idle store
commits at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from deniable.stores.values import Overloaded, Receipt, StoreError, Verdict

MOST_WAITING: Final = 20_000
"""Reports that may wait for their commit: some seconds' worth, and a few MiB of memory."""
_QUIET_TURNS: Final = 4
"""Turns of the event loop that aiohttp takes from received bytes to a waiting report."""
_MOST_SECONDS: Final = 0.01  # a loop that is never quiet still commits

_Waiting = tuple[Sequence[Receipt], "asyncio.Future[list[Verdict]]"]


class GroupCommit:
    """The queue before a store's commit; used inside one running event loop.

    Args:
        commit: stores receipts durably in one transaction, and returns one verdict for each.
        most_together: the most receipts in one commit, unless a single request has more.
    """

    def __init__(
        self,
        commit: Callable[[list[Receipt]], Awaitable[list[Verdict]]],
        most_together: int = 5_000,
    ) -> None:
        self._commit = commit
        self._most_together = most_together
        self._waiting: list[_Waiting] = []
        self._queued = 0
        self._committing: asyncio.Task[None] | None = None

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Have the next commit store receipts; return one verdict for each, in their order.

        Raises:
            Overloaded: if too many receipts already wait; none was accepted.
            StoreError: if the commit failed; nothing was stored, or the result is unknown.
        """
        if self._queued + len(receipts) > MOST_WAITING:
            raise Overloaded("too many reports are waiting to be committed")
        self._queued += len(receipts)
        future: asyncio.Future[list[Verdict]] = asyncio.get_running_loop().create_future()
        self._waiting.append((receipts, future))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_waiting())
        return await future

    async def finish(self) -> None:
        """Commit the receipts that wait."""
        if self._committing is not None:
            await self._committing

    async def _commit_waiting(self) -> None:
        group: list[_Waiting] = []
        try:
            while self._waiting:
                await self._until_quiet()
                group = self._next_group()
                together = [receipt for receipts, _ in group for receipt in receipts]
                self._queued -= len(together)
                try:
                    _acknowledge(group, await self._commit(together))
                except Exception as error:  # noqa: BLE001 - each of the group learns of it
                    _fail(group, error)
        finally:
            # Nobody may wait for ever, whatever ended the loop; answered receipts are unaffected.
            _fail(group + self._waiting, StoreError("the reports were not committed"))
            self._waiting, self._queued = [], 0
            self._committing = None

    async def _until_quiet(self) -> None:
        loop = asyncio.get_running_loop()
        latest, quiet, queued = loop.time() + _MOST_SECONDS, 0, self._queued
        while quiet < _QUIET_TURNS and self._queued < self._most_together:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._queued == queued else 0
            queued = self._queued
            if loop.time() >= latest:
                break

    def _next_group(self) -> list[_Waiting]:
        size = taken = 0
        for receipts, _ in self._waiting:
            size += len(receipts)
            if taken and size > self._most_together:
                break
            taken += 1
        group, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return group


def _acknowledge(group: list[_Waiting], verdicts: list[Verdict]) -> None:
    start = 0
    for receipts, future in group:
        if not future.done():  # a cancelled request gets no answer, but its reports are stored
            future.set_result(verdicts[start : start + len(receipts)])
        start += len(receipts)


def _fail(group: list[_Waiting], error: Exception) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
