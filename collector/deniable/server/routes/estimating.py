"""Costly answers, computed rarely: figures one at a time and cached, the store's shared by all.

No client can request them as often as it likes.
"""

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable, Hashable, Sequence
from importlib import import_module
from json import JSONEncoder
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from aiohttp import web

from deniable.reading import EpochCounts
from deniable.stores import Overloaded, Unreachable

Result = TypeVar("Result")

_FRESH_SECONDS: Final = 5.0
_MOST_KEPT: Final = 32
_MOST_KEPT_BYTES: Final = 32 << 20
_MOST_WAITING: Final = 32


class SharedAnswer(Generic[Result]):
    """One answer of the store for all requests within five seconds, with a limited wait."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[Result]],
        patience: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._patience = patience
        self._asking: asyncio.Future[Result] | None = None
        self._asked_at = 0.0

    async def get(self) -> Result:
        """Return the answer, or raise the query's error; later callers get the same for a while.

        Raises:
            Unreachable: also if there is no answer in time; the next caller waits for the current
                query, and does not start a second one.
        """
        now = self._clock()
        asking = self._asking
        if asking is None or (asking.done() and now - self._asked_at >= _FRESH_SECONDS):
            asking = self._asking = asyncio.ensure_future(self._ask())
            asking.add_done_callback(_retrieve_outcome)
            self._asked_at = now
        await asyncio.wait({asking}, timeout=max(0.0, self._asked_at + self._patience - now))
        if not asking.done():
            raise Unreachable(f"the store has not responded for {self._patience:g} s")
        return asking.result()


def _retrieve_outcome(answer: "asyncio.Future[Any]") -> None:
    """Retrieve an error: if every caller is gone, asyncio would log it."""
    if not answer.cancelled():
        answer.exception()


class Estimating:
    """The only queue for figures, with a cache of the latest figures.

    Inverting a matrix of thousands of categories takes seconds: it runs in a thread, so that
    uploads get their turn, and one at a time, so that many readers use no more than one. Afterwards
    nothing is computed for ``rest`` times as long as that took. Figures up to ``fresh`` seconds old
    are not recomputed for new reports, since many watch the same page. The number kept is limited.
    """

    def __init__(self, rest: float = 0.0, fresh: float = 0.0, most: int = _MOST_KEPT) -> None:
        self._rest = rest
        self._fresh = fresh
        self._most = most
        self._rested_at = 0.0
        self._waiting = 0
        self._turn = asyncio.Lock()
        self._kept: dict[Hashable, tuple[tuple[tuple[int, int], ...], float, bytes]] = {}

    async def in_turn(
        self, request: web.BaseRequest, work: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Do the work when this request's turn comes, to the end even if the request is cancelled.

        The work's thread cannot be stopped, and the next work must wait for it. The store is also
        queried in turn: reading a million counts takes a while, too.

        Raises:
            Overloaded: if too many requests wait.
            ConnectionError: if the reader is gone; nothing was done.
        """
        making = asyncio.ensure_future(self._in_turn(request, work))
        making.add_done_callback(_retrieve_outcome)
        return await asyncio.shield(making)

    async def _in_turn(
        self, request: web.BaseRequest, work: Callable[[], Awaitable[Result]]
    ) -> Result:
        if self._waiting >= _MOST_WAITING:
            raise Overloaded("too many figures are being requested")
        self._waiting += 1
        try:
            async with self._turn:
                if request.transport is None:
                    raise ConnectionResetError
                await sleep(self._rested_at - monotonic())
                # numpy and scipy take a second: they are imported for the first figures.
                await asyncio.to_thread(import_module, "deniable.estimates.histogram")
                begun = monotonic()
                try:
                    return await work()
                finally:
                    done = monotonic()
                    self._rested_at = done + self._rest * (done - begun)
        finally:
            self._waiting -= 1

    async def made(
        self,
        request: web.BaseRequest,
        subject: Hashable,
        read: Callable[[], Awaitable[Sequence[EpochCounts]]],
        packed: Callable[[Sequence[EpochCounts]], bytes],
    ) -> bytes | None:
        """Return the packed result of the counts, computed once until there are new counts.

        The result is None if there are no counts. Otherwise, see :meth:`in_turn`.
        """

        async def work() -> bytes | None:
            counts = await read()
            if not counts:
                return None
            key = subject, tuple((epoch.survey_id, epoch.epoch, epoch.standing) for epoch in counts)
            mark, made_at, body = self._kept.pop(key, ((), 0.0, b""))
            # There may be a million counts; they only grow, so their sum identifies them.
            counted = tuple((epoch.reports, epoch.distrusted) for epoch in counts)
            if mark != counted and not (mark and monotonic() < made_at + self._fresh):
                body = await asyncio.to_thread(packed, counts)
                mark, made_at = counted, monotonic()
            self._kept[key] = mark, made_at, body  # the most recently requested is dropped last
            while (
                len(self._kept) > self._most
                or sum(len(kept) for *_, kept in self._kept.values()) > _MOST_KEPT_BYTES
            ):
                del self._kept[next(iter(self._kept))]
            return body

        return await self.in_turn(request, work)


def packed_json(value: object) -> bytes:
    """Return the same JSON as ``json.dumps``, made in small pieces.

    That function blocks all other threads until its end: for 65,536 categories a third of a second.
    """
    return "".join(JSONEncoder(allow_nan=False).iterencode(value)).encode()
