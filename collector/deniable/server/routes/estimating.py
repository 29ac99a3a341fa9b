"""Histograms are made in a thread, one at a time, and kept: whoever asks, and however often."""

import json
from asyncio import Lock, sleep, to_thread
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Final

from aiohttp import web

from deniable.stores import Figures, Overloaded

if TYPE_CHECKING:  # numpy and scipy take a second; they are imported for the first histogram
    from deniable.estimates import EpochStanding

_MOST_KEPT: Final = 32
_MOST_KEPT_BYTES: Final = 32 << 20
_MOST_WAITING: Final = 32

_Key = tuple[bytes, int, float]
_Mark = tuple[int, int, "EpochStanding"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a histogram is made of."""

    figures: Figures
    standing: "EpochStanding"  # whether they are final, which time alone can change


class Estimating:
    """One queue for histograms, and those made last.

    A matrix of thousands of categories takes seconds to invert: in a thread, so that uploads get
    their turn; and one at a time, so that many readers take no more than one. Afterwards nothing is
    made for ``rest`` times as long as that took.
    """

    def __init__(self, rest: float = 0.0) -> None:
        self._rest = rest
        self._rested_at = 0.0
        self._waiting = 0
        self._turn = Lock()
        self._kept: dict[_Key, tuple[_Mark, bytes]] = {}

    async def made(
        self,
        request: web.BaseRequest,
        asked: tuple[bytes, float],
        read: Callable[[], Awaitable[Shown | None]],
        estimated: Callable[[Shown], Mapping[str, object]],
    ) -> bytes | None:
        """Return a histogram as JSON, made once while nothing new has come; None if there is none.

        Also the store is asked in turn only: reading a million counts takes a while, too.

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
                await to_thread(import_module, "deniable.estimates")
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
        key = survey_id, shown.figures.epoch, level
        kept = self._kept.pop(key, None)
        # There may be a million counts; they only grow, so that their sum tells them apart.
        mark = shown.figures.reports, shown.figures.distrusted, shown.standing
        if kept is None or kept[0] != mark:
            kept = mark, await to_thread(lambda: _packed(estimated(shown)))
        self._kept[key] = kept  # the one asked for last is forgotten last
        while (
            len(self._kept) > _MOST_KEPT
            or sum(len(body) for _, body in self._kept.values()) > _MOST_KEPT_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        return kept[1]


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
