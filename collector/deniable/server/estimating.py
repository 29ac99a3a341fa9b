"""Histograms are made in a thread, one at a time, and kept: whoever asks, and however often."""

import json
from asyncio import Lock, sleep, to_thread
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Final

from aiohttp import web

from deniable.estimates import EpochStanding
from deniable.stores import Figures, Overloaded

__all__ = ["Estimating", "Shown"]

_MOST_KEPT: Final = 32
_MOST_KEPT_BYTES: Final = 32 << 20
_MOST_WAITING: Final = 32

_Key = tuple[bytes, int, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a histogram is made of.

    Attributes:
        figures: the counts.
        standing: whether they are final, which time alone can change.
    """

    figures: Figures
    standing: EpochStanding


class Estimating:
    """One queue for histograms, and those made last.

    A matrix of thousands of categories takes seconds to invert: in a thread, so that uploads get
    their turn; and one at a time, so that many readers take no more than one.

    Args:
        rest: how long nothing is made afterwards, as a multiple of the time that making it took.
    """

    def __init__(self, rest: float = 0.0) -> None:
        self._rest = rest
        self._rested_at = 0.0
        self._waiting = 0
        self._turn = Lock()
        self._kept: dict[_Key, tuple[Shown, bytes]] = {}

    async def made(
        self,
        request: web.BaseRequest,
        asked: tuple[bytes, float],
        read: Callable[[], Awaitable[Shown | None]],
        estimated: Callable[[Shown], Mapping[str, object]],
    ) -> bytes | None:
        """Return a histogram as JSON, made once while nothing new has come.

        Also the store is asked in turn only: reading 65,536 counts takes a while, too.

        Args:
            request: who wants it.
            asked: survey id and level.
            read: reads what it is made of.
            estimated: makes it.

        Returns:
            None if there is nothing to show.

        Raises:
            Overloaded: if too many wait.
            ConnectionError: if the reader is gone; nothing was made.
        """
        if self._waiting >= _MOST_WAITING:
            raise Overloaded("too many histograms are asked for")
        self._waiting += 1
        try:
            async with self._turn:
                if request.transport is None:
                    raise ConnectionResetError
                await sleep(self._rested_at - monotonic())
                begun = monotonic()
                try:
                    return await self._made(asked, await read(), estimated)
                finally:
                    done = monotonic()
                    self._rested_at = done + self._rest * (done - begun)
        finally:
            self._waiting -= 1

    async def _made(
        self,
        asked: tuple[bytes, float],
        shown: Shown | None,
        estimated: Callable[[Shown], Mapping[str, object]],
    ) -> bytes | None:
        if shown is None:
            return None
        survey_id, level = asked
        key = (survey_id, shown.figures.epoch, level)
        kept = self._known(key, shown)
        if kept is None:
            kept = await to_thread(lambda: _packed(estimated(shown)))
            self._keep(key, shown, kept)
        return kept

    def _known(self, key: _Key, shown: Shown) -> bytes | None:
        found = self._kept.get(key)
        if found is None or found[0] != shown:
            return None
        self._kept[key] = self._kept.pop(key)  # the one asked for last is forgotten last
        return found[1]

    def _keep(self, key: _Key, shown: Shown, body: bytes) -> None:
        self._kept.pop(key, None)
        self._kept[key] = shown, body
        while (
            len(self._kept) > _MOST_KEPT
            or sum(len(kept) for _, kept in self._kept.values()) > _MOST_KEPT_BYTES
        ):
            del self._kept[next(iter(self._kept))]


def _packed(histogram: Mapping[str, object]) -> bytes:
    """Return JSON as ``json.dumps`` has it, made piece by piece.

    That function lets nobody else run before its end, in no thread: for 65,536 categories a third
    of a second.
    """

    def text(value: object) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(json.dumps(each, allow_nan=False) for each in value) + "]"
        return json.dumps(value, allow_nan=False)

    fields = (f"{json.dumps(name)}: {text(value)}" for name, value in histogram.items())
    return ("{" + ", ".join(fields) + "}").encode()
