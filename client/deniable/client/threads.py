"""The client's own threads, which an app's threads, interruptions and forks cannot harm (D5a).

Calls. The caller of one waits until a deadline, and holds no lock.

1. An app's thread can be interrupted at any instruction, can run a signal handler or a finaliser in
   the middle of another call, and is stopped at the interpreter's end. So it holds no lock and has
   no transaction. It waits on a ``SimpleQueue``, whose operations are reentrant by contract.
2. A call that has not begun when its caller leaves never begins. One that has begun continues.
3. While the interpreter shuts down the client's threads no longer run: calls are refused at once.

Forks of the process. No open SQLite connection crosses a fork, and no lock or thread is lost by it.

4. A state is closed just before a fork, between two of its transactions. It is reopened on its next
   use, in the parent and in the child. SQLite remembers its file locks per process. A child
   inherits that memory but not the locks, so everything it commits while the parent's connection is
   part of it can be lost, even through a connection of its own.
5. A fork waits for a transaction of another thread, for some seconds at most.
6. The child abandons what could not be closed: the forking thread's own transaction, one that
   hangs, and a state in memory. It neither uses nor closes it, and the state cannot be used there.
7. A child has new locks, whoever held the old ones, and no thread until it has something to send.

Only the hooks of ``os.register_at_fork`` can keep rule 4; checking the process id afterwards would
be too late. They are registered with the first client, and keep no client alive.

Logging handlers run on the stack of the logging thread. Those of crash reporters collect its frames
with all their variables, and handlers may also take locks that the app holds. So the keeper's
thread logs through ``warn``, and the caller emits the warnings once no frame contains an answer.
"""

import logging
import os
import sys
import threading
import time
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary, ref

from deniable.client.errors import StateUnavailable

_LOG = logging.getLogger("deniable")
_T = TypeVar("_T")
_RETRY_SECONDS = 0.002
_NO_THREAD: Final = "no thread can be started"
DISK_SECONDS = 5.0
"""How long to wait for a call that has begun, beyond its deadline, as disks may be slow."""


class Call(Generic[_T]):
    """A function that one thread runs, and the result, for which another thread waits."""

    def __init__(self, work: Callable[[], _T], expires: float) -> None:
        self._work = [work]  # removed by the worker, or by a withdrawal, whichever comes first
        self._expires = expires  # by ``time.monotonic()``; nobody waits then
        self._came: SimpleQueue[None] = SimpleQueue()
        self._result: list[tuple[_T, None] | tuple[None, BaseException]] = []

    def run(self) -> None:
        """Run the function, unless it was withdrawn, and keep its result or error."""
        try:
            work = self._work.pop()
        except IndexError:
            return
        if time.monotonic() >= self._expires:
            return
        try:
            self._result.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            # Without this frame, which is still running: the caller may clear frames with answers.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            self._result.append((None, error))

    def answer(self) -> None:
        """Give the caller the result, if there is one."""
        if self._result:
            self._came.put(None)

    def do(self) -> None:
        """Run the function, and give the caller the result."""
        self.run()
        self.answer()

    def withdraw(self) -> bool:
        """Withdraw the call; return whether it had not begun, and so never will."""
        with suppress(IndexError):
            self._work.pop()
            return True
        return False

    def wait(self, seconds: float) -> bool:
        """Wait for the result, at most so long; return whether it came."""
        with suppress(Empty):
            self._came.get(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
            return True
        return False

    def result(self) -> _T:
        """Return or raise the result."""
        value, error = self._result.pop()
        if error is not None:
            try:
                raise error
            finally:
                del error  # otherwise the error and this frame would keep each other alive
        return value  # type: ignore[return-value]  # of a pair whose other half is None


class Taken:
    """A turn that was taken: given back by its holder, or when its frame ends."""

    is_over = False

    def give_back(self) -> None:
        """Let the next holder take its turn."""
        self.is_over = True


class Turn:
    """A lock among the client's threads that no error can leave locked, at any instruction.

    Turns are numbered. Each is a weak reference to its holder's object; the latest counts.
    """

    def __init__(self) -> None:
        self._turns: dict[int, ref[Taken]] = {}

    def is_taken(self) -> bool:
        """Return whether somebody has the latest turn."""
        return _is_had(self._turns.get(self._latest()))

    def take(self, seconds: float = 0.0) -> Taken | None:
        """Take the next turn once the latest is over; None if that takes longer than this."""
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
        if number != self._latest():  # the turn was over long ago, and is forgotten
            self._turns.pop(number, None)
            return None
        self._turns.pop(number - 2, None)
        return mine


def _is_had(turn: ref[Taken] | None) -> bool:
    taken = None if turn is None else turn()
    return taken is not None and not taken.is_over


def refuse_at_the_end() -> None:
    """Raise if the interpreter is shutting down, when only this thread runs."""
    if sys.is_finalizing():
        raise StateUnavailable("the interpreter is ending")


def start_daemon(run: Callable[[], None]) -> bool:
    """Start a daemon thread that runs this function; return whether the thread could be started."""
    with suppress(RuntimeError):
        if not sys.is_finalizing():  # it would never run, and Python 3.11 would wait for it
            threading.Thread(target=run, name="deniable-call", daemon=True).start()
            return True
    return False


def call_aside(work: Callable[[], _T], seconds: float) -> _T:
    """Return a function's result from a daemon thread; ``StateUnavailable`` after this time."""
    refuse_at_the_end()
    call = Call(work, time.monotonic() + seconds + DISK_SECONDS)
    if not start_daemon(call.do):
        raise StateUnavailable(_NO_THREAD)
    if not call.wait(seconds + DISK_SECONDS):
        raise StateUnavailable("the disk did not respond in time; the work continues")
    return call.result()


_LONGEST_FORK = 6.0


class Keeper:
    """The thread that has a state's connection and transactions, and runs calls of other threads.

    The first call starts it. It keeps no client alive, and runs one call after another. If it is
    killed, the next call starts another.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start again in a forked child, which has no thread, whatever the parent's thread does."""
        self._calls: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._turn = Turn()
        self._ident = 0
        self._current: Call[Any] | None = None
        self._pauses: dict[int, SimpleQueue[None]] = {}  # by the forking thread

    def is_here(self) -> bool:
        """Return whether the caller is the thread, at work or in code that interrupted it."""
        return self._ident == threading.get_ident() and self._turn.is_taken()

    def do(self, work: Callable[[], _T], patience: float, disk: float) -> _T:
        """Run a function on the thread; return its result or raise its error.

        ``StateUnavailable`` if other calls occupy it for ``patience`` seconds, and then nothing is
        done; or if the function does not end ``disk`` seconds later.
        """
        refuse_at_the_end()
        call = Call(work, time.monotonic() + patience + disk)
        try:
            self._ask(call)
            if not call.wait(patience):
                self._wait_longer(call, disk)
            return call.result()
        except BaseException:
            call.withdraw()
            raise

    def _wait_longer(self, call: Call[Any], disk: float) -> None:
        """Wait for the disk, unless another call is delaying this one."""
        # An idle thread that a busy machine has not yet scheduled is awaited.
        is_elsewhere = self._current is not None and self._current is not call
        withdrawn = is_elsewhere and self._turn.is_taken() and call.withdraw()
        if not withdrawn and call.wait(disk):
            return
        if withdrawn or call.withdraw():
            raise StateUnavailable("another thread of this app is using the state; try again later")
        raise StateUnavailable("the disk did not respond in time: the call may still complete")

    def _ask(self, call: Call[Any]) -> None:
        self._calls.put(call)
        if not self._turn.is_taken():  # a signal handler may have interrupted Thread.start()
            try:
                start_new_thread(self._serve, ())
            except RuntimeError as error:  # no more threads, or shutting down
                raise StateUnavailable(_NO_THREAD) from error

    def pause(self, prepare: Callable[[], None], seconds: float) -> None:
        """Have the thread prepare for a fork within these seconds, and stop until it is over."""
        ready: SimpleQueue[None] = SimpleQueue()
        over: SimpleQueue[None] = SimpleQueue()

        def stand_still() -> None:
            prepare()
            self._current = None  # callers that wait meanwhile are behind no call
            ready.put(None)
            with suppress(Empty):
                over.get(timeout=_LONGEST_FORK)

        with suppress(Empty, StateUnavailable):
            self._ask(Call(stand_still, time.monotonic() + seconds))
            self._pauses[threading.get_ident()] = over
            ready.get(timeout=max(0.0, seconds))

    def go_on(self) -> None:
        """Let the thread continue after a fork, in the parent."""
        over = self._pauses.pop(threading.get_ident(), None)
        if over is not None:
            over.put(None)

    def stop(self) -> None:
        """Let the thread end after the calls so far; the next call starts one."""
        if self._turn.is_taken():
            self._calls.put(None)

    def _serve(self) -> None:
        sys.settrace(threading.gettrace())  # as each of threading's threads does
        sys.setprofile(threading.getprofile())
        with suppress(BaseException):  # the callers' deadlines end; the next call starts another
            self._serve_calls(self._calls)

    def _serve_calls(self, waiting: "SimpleQueue[Call[Any] | None]") -> None:
        while (turn := self._turn.take()) is not None:
            self._ident, self._current = threading.get_ident(), None  # one was killed
            while (call := waiting.get()) is not None:
                self._current = call
                call.run()
                self._current = None  # first, so that the next caller does not take it for busy
                call.answer()
                call = None
            turn.give_back()
            if waiting.empty():  # later callers find no thread
                return


_WAIT_SECONDS: Final = 6.0
"""Slightly longer than a transaction waits for other processes."""


class Forkable:
    """An object that must be notified of forks."""

    def before_fork(self, deadline: float) -> None:
        """Prepare by a deadline of ``time.monotonic()``, except parts that go on in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Continue after a fork, in the thread that forked; in a child it is the only one."""
        raise NotImplementedError


_LIVING: Final[WeakValueDictionary[int, Forkable]] = WeakValueDictionary()
_REGISTRATIONS: Final = count()


def keep_through_forks(forkable: Forkable) -> None:
    """Notify this object of every fork from now on, as long as it is referenced elsewhere."""
    _LIVING[id(forkable)] = forkable
    # Some systems have no fork, and two threads may create the first two clients at once.
    if hasattr(os, "register_at_fork") and next(_REGISTRATIONS) == 0:
        os.register_at_fork(
            before=_before,
            after_in_parent=partial(_after, in_child=False),
            after_in_child=partial(_after, in_child=True),
        )


def _living() -> list[Forkable]:
    # A list, created at once, since other threads may add to the dictionary.
    return [
        forkable
        for forkable in (reference() for reference in _LIVING.valuerefs())
        if forkable is not None
    ]


def _before() -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    for forkable in _living():
        forkable.before_fork(deadline)


def _after(*, in_child: bool) -> None:
    for forkable in _living():
        forkable.after_fork(in_child=in_child)


_LINES: Final[deque[tuple[str, tuple[object, ...]]]] = deque()


def warn(message: str, *arguments: object) -> None:
    """Keep a warning until a thread without an answer calls :func:`say_held`."""
    _LINES.append((message, arguments))


def say_held() -> None:
    """Log the kept warnings, on this thread."""
    while _LINES:
        try:
            message, arguments = _LINES.popleft()
        except IndexError:  # another thread was faster
            return
        _LOG.warning(message, *arguments)
