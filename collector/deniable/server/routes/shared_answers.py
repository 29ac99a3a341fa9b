"""One answer for all who ask within some seconds: nobody has it made as often as they like."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

from deniable.stores import Unreachable

Result = TypeVar("Result")

_FRESH_SECONDS: Final = 5.0


class SharedAnswer(Generic[Result]):
    """One answer of the store for all who ask within five seconds; waited for in patience."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[Result]],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._patience = patience
        self._asking: asyncio.Future[Result] | None = None
        self._asked_at = 0.0

    async def get(self) -> Result:
        """Return the answer, or raise what asking raised, also to whoever asks a little later.

        Raises:
            Unreachable: besides, if there is no answer in time; what is under way is waited for by
                whoever asks next, and not begun a second time.
        """
        now = self._clock()
        asking = self._asking
        if asking is None or (asking.done() and now - self._asked_at >= _FRESH_SECONDS):
            asking = self._asking = asyncio.ensure_future(self._ask())
            asking.add_done_callback(retrieve_outcome)
            self._asked_at = now
        await asyncio.wait({asking}, timeout=max(0.0, self._asked_at + self._patience - now))
        if not asking.done():
            raise Unreachable(f"the store has not answered for {self._patience:g} s")
        return asking.result()


def retrieve_outcome(answer: "asyncio.Future[Any]") -> None:
    """Look at an error, which asyncio logs if nobody does: perhaps whoever asked is gone."""
    if not answer.cancelled():
        answer.exception()
