"""When the write-ahead log is emptied: soon after something was written, so that it is no diary."""

import asyncio
from collections.abc import Awaitable, Callable

from deniable.stores.errors import StoreError

_SECONDS = 10.0
"""How long the log keeps what was written. Under load SQLite itself empties it more often."""


class WalTruncation:
    """Empties a store's log; used inside one running event loop.

    ``empty`` does it, and returns False if somebody reads from the log.
    """

    def __init__(self, empty: Callable[[], Awaitable[bool]]) -> None:
        self._empty = empty
        self._written = False
        self._emptying: asyncio.Task[None] | None = None

    def written(self) -> None:
        """Have the log emptied soon, since something was written."""
        self._written = True
        if self._emptying is None:
            self._emptying = asyncio.create_task(self._until_empty())

    async def finish(self) -> None:
        """Empty the log, if something was written, and never again."""
        if self._emptying is not None:
            self._emptying.cancel()
            await asyncio.wait({self._emptying})
        if self._written:
            await self._try()

    async def _until_empty(self) -> None:
        try:
            while self._written:
                await asyncio.sleep(_SECONDS)
                await self._try()
        finally:
            self._emptying = None

    async def _try(self) -> None:
        # What is written meanwhile may miss it, and is for the next time.
        self._written = False
        try:
            emptied = await self._empty()
        except StoreError:  # whoever stores a report is told of it
            emptied = False
        self._written = self._written or not emptied
