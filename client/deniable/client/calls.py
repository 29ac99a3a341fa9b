"""Calls that threads of our own do: whoever waits for one holds nothing, until a deadline (D5a).

1. An app's thread can be interrupted at any instruction, be in a signal's handler or a finaliser in
   the middle of another call, and is stopped at the interpreter's end. So it holds no lock and no
   transaction. It waits on a ``SimpleQueue``, whose operations are reentrant by contract.
2. A call that has not begun when its caller leaves never begins. One that has begun goes on unseen.
3. While the interpreter ends none of our threads runs any more: calls are refused at once.
"""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar
from weakref import ref

from deniable.client.errors import StateUnavailable

_T = TypeVar("_T")
_RETRY_SECONDS = 0.002
DISK_SECONDS = 5.0
"""How long a call that has begun is waited for: beyond its deadline, as disks may be slow."""


class Call(Generic[_T]):
    """Some work that one thread does, and its result, for which another one waits."""

    def __init__(self, work: Callable[[], _T], expires: float) -> None:
        self._work = [work]  # taken by whichever comes first, the worker or who withdraws it
        self._expires = expires  # by ``time.monotonic()``; nobody waits then
        self._came: SimpleQueue[None] = SimpleQueue()
        self._result: list[tuple[_T, None] | tuple[None, BaseException]] = []

    def run(self) -> None:
        """Do the work, unless it was withdrawn, and keep whatever it returns or raises."""
        try:
            work = self._work.pop()
        except IndexError:
            return
        if time.monotonic() >= self._expires:
            return
        try:
            self._result.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            # Without this frame, which has not ended: the caller may have frames forget answers.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            self._result.append((None, error))

    def answer(self) -> None:
        """Let the caller have the result, if there is one."""
        if self._result:
            self._came.put(None)

    def do(self) -> None:
        """Do the work, and let the caller have the result."""
        self.run()
        self.answer()

    def withdraw(self) -> bool:
        """Withdraw the work; tell whether it had not begun, and so is not done any more."""
        with suppress(IndexError):
            self._work.pop()
            return True
        return False

    def wait(self, seconds: float) -> bool:
        """Wait for the result so long at most; tell whether it came."""
        with suppress(Empty):
            self._came.get(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
            return True
        return False

    def result(self) -> _T:
        """Return or raise the result that came."""
        value, error = self._result.pop()
        if error is not None:
            try:
                raise error
            finally:
                del error  # or it and this frame would hold each other
        return value  # type: ignore[return-value]  # of a pair whose other half is None


class Taken:
    """A turn that was taken: given back by its holder, or by the end of whatever frame had it."""

    def __init__(self) -> None:
        self._over = False

    def give_back(self) -> None:
        """Let the next one have its turn."""
        self._over = True

    def is_over(self) -> bool:
        """Tell whether the next one may have its turn."""
        return self._over


class Turn:
    """A lock among threads of our own, which no error can leave locked, at whatever instruction.

    Turns are numbered. Each is a weak reference to what its holder has; the latest counts.
    """

    def __init__(self) -> None:
        self._turns: dict[int, ref[Taken]] = {}

    def is_taken(self) -> bool:
        """Tell whether somebody has the latest turn."""
        return _is_had(self._turns.get(self._latest()))

    def take(self, seconds: float = 0.0) -> Taken | None:
        """Take the next turn once the latest is over; None if it is not in this time."""
        end = time.monotonic() + seconds
        while (taken := self._try()) is None and time.monotonic() < end:
            time.sleep(_RETRY_SECONDS)
        return taken

    def _latest(self) -> int:
        return max(tuple(self._turns), default=0)

    def _try(self) -> Taken | None:
        mine = Taken()
        reference, number = ref(mine), self._latest()
        while (turn := self._turns.setdefault(number, reference)) is not reference:
            if _is_had(turn):
                return None
            number += 1
        if number != self._latest():  # it was over long ago, and is forgotten
            self._turns.pop(number, None)
            return None
        self._turns.pop(number - 2, None)
        return mine


def _is_had(turn: ref[Taken] | None) -> bool:
    taken = None if turn is None else turn()
    return taken is not None and not taken.is_over()


def refuse_at_the_end() -> None:
    """Raise if the interpreter is ending, when no thread but this one runs."""
    if sys.is_finalizing():
        raise StateUnavailable("the interpreter is ending")


def _start(run: Callable[[], None]) -> bool:
    """Start a daemon thread that does this; tell whether one could be started."""
    with suppress(RuntimeError):
        if not sys.is_finalizing():  # it would never come to run, and Python 3.11 waits for that
            threading.Thread(target=run, name="deniable-call", daemon=True).start()
            return True
    return False


def call_aside(work: Callable[[], _T], seconds: float) -> _T:
    """Do some work on a daemon thread of its own, or here if none starts; return its result.

    Raises:
        StateUnavailable: if it has not ended in this time.
    """
    refuse_at_the_end()
    call = Call(work, time.monotonic() + seconds + DISK_SECONDS)
    if not _start(call.do):
        call.do()
    if not call.wait(seconds + DISK_SECONDS):
        raise StateUnavailable("the disk has not answered in time; what was begun goes on")
    return call.result()


def begin_aside(work: Callable[[], object]) -> None:
    """Begin some work on a daemon thread of its own, for which nobody waits."""
    _start(Call(work, inf).run)


async def daemon_call(work: Callable[[], _T]) -> _T:
    """Do some work on a daemon thread of its own: neither the loop nor the process waits for it.

    A thread of the loop's own would be waited for at their end, for as long as a collector does not
    answer; and others of the app's work may keep all of those.
    """
    import asyncio  # 70 ms that an app without an event loop need not pay

    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    call = Call(work, inf)

    def do() -> None:
        call.run()
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(came.set)

    if not _start(do):
        do()
    await came.wait()
    return call.result()
