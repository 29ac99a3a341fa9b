"""The thread that holds a state's connection and transactions, and does what others ask of it.

It is started by the first call, holds no client alive, and does one call after another. Whatever
kills it, the next call starts another.
"""

import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from deniable.client.calls import Call, Turn, refuse_at_the_end
from deniable.client.errors import StateUnavailable

_T = TypeVar("_T")
_LONGEST_FORK = 6.0


class Keeper:
    """The thread of one state."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin anew, in the child of a fork: it has no thread, whatever the parent's is doing."""
        self._calls: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._turn = Turn()
        self._ident = 0
        self._current: Call[Any] | None = None
        self._pauses: dict[int, SimpleQueue[None]] = {}  # by the thread that forks

    def is_here(self) -> bool:
        """Tell whether the thread is this one, at work or in what has interrupted that."""
        return self._ident == threading.get_ident() and self._turn.is_taken()

    def do(self, work: Callable[[], _T], patience: float, disk: float) -> _T:
        """Do some work on the thread; return or raise what it does.

        Raises:
            StateUnavailable: if what others asked for takes longer than ``patience`` seconds, and
                then nothing is done; or if the work itself does not end ``disk`` seconds later.
        """
        refuse_at_the_end()
        call = Call(work, time.monotonic() + patience + disk)
        try:
            self._ask(call)
            came, withdrawn = call.wait(patience), False
            if not came:
                # An idle thread that has not come round to it, on a busy machine, is waited for.
                withdrawn = self._is_elsewhere(call) and call.withdraw()
                came = not withdrawn and call.wait(disk)
            if came:
                return call.result()
        except BaseException:
            call.withdraw()
            raise
        if withdrawn or call.withdraw():
            raise StateUnavailable("another thread of this app uses the state; try again later")
        raise StateUnavailable(
            "the disk has not answered in time: what was asked for may still be done"
        )

    def _is_elsewhere(self, call: Call[Any]) -> bool:
        return self._current is not None and self._current is not call

    def _ask(self, call: Call[Any]) -> None:
        self._calls.put(call)
        if not self._turn.is_taken():  # a signal's handler may be in the middle of Thread.start()
            try:
                start_new_thread(self._serve, ())
            except RuntimeError:  # no more threads, or the interpreter ends: it is done here
                self._serve_calls(self._calls, waits=False)

    def pause(self, prepare: Callable[[], None], seconds: float) -> None:
        """Have the thread prepare for a fork, so long at most, and stand still until it is over."""
        ready: SimpleQueue[None] = SimpleQueue()
        over: SimpleQueue[None] = SimpleQueue()

        def stand_still() -> None:
            prepare()
            self._current = None  # whoever waits meanwhile waits for nobody's call
            ready.put(None)
            with suppress(Empty):
                over.get(timeout=_LONGEST_FORK)

        with suppress(Empty, StateUnavailable):
            self._ask(Call(stand_still, time.monotonic() + seconds))
            self._pauses[threading.get_ident()] = over
            ready.get(timeout=max(0.0, seconds))

    def go_on(self) -> None:
        """Let the thread go on after a fork, in the parent."""
        over = self._pauses.pop(threading.get_ident(), None)
        if over is not None:
            over.put(None)

    def stop(self) -> None:
        """Let the thread end, once it has done what was asked before; the next call starts one."""
        if self._turn.is_taken():
            self._calls.put(None)

    def _serve(self) -> None:
        sys.settrace(threading.gettrace())  # as each thread of threading's does
        sys.setprofile(threading.getprofile())
        with suppress(BaseException):  # the callers' deadlines end; the next call starts another
            self._serve_calls(self._calls)

    def _serve_calls(self, waiting: "SimpleQueue[Call[Any] | None]", *, waits: bool = True) -> None:
        while (turn := self._turn.take()) is not None:
            self._ident = threading.get_ident()
            while (call := _next(waiting, waits=waits)) is not None:
                self._current = call
                call.run()
                self._current = None  # first: whoever asks next must not take it for busy
                call.answer()
                call = None
            turn.give_back()
            if waiting.empty():  # who asks from now on finds no thread
                return


def _next(waiting: "SimpleQueue[Call[Any] | None]", *, waits: bool) -> Call[Any] | None:
    """Return the next call; None to end, which a thread of the app's does once there is none."""
    with suppress(Empty):
        return waiting.get(block=waits)
    return None
