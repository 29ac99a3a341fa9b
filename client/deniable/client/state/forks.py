"""Forks of the process: no open SQLite connection crosses one, and no lock or thread is missed.

1. A state is closed just before a fork, between two of its transactions, and opened again by
   whoever needs it next, in the parent and in the child. SQLite remembers its file locks per
   process: a child inherits that memory and not the locks, so whatever it commits while the
   parent's connection is part of it can be lost, even through a connection of its own.
2. A transaction of another thread is waited for, for some seconds at most.
3. What could not be closed is abandoned by the child, neither used nor closed, and its state cannot
   be used there: the forking thread's own transaction, one that hangs, and a state in memory.
4. A child has new locks, whoever held the old ones, and no thread until it has something to send.

Only the hooks of ``os.register_at_fork`` can keep the first rule; looking at the process id
afterwards would be too late. They are registered with the first client, and hold no client alive.
"""

import os
import time
from functools import partial
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

_WAIT_SECONDS: Final = 6.0
"""A little longer than a transaction waits for other processes."""


class Forkable:
    """An object that has to know of forks."""

    def before_fork(self, deadline: float) -> None:
        """Get ready, by a deadline of ``time.monotonic()``; what goes on in the parent need not."""

    def after_fork(self, *, in_child: bool) -> None:
        """Go on after a fork, in the thread that forked; of a child the only one."""
        raise NotImplementedError


_LIVING: Final[WeakValueDictionary[int, Forkable]] = WeakValueDictionary()
_REGISTRATIONS: Final = count()


def keep_through_forks(forkable: Forkable) -> None:
    """Tell this object of every fork from now on, for as long as somebody else holds it."""
    _LIVING[id(forkable)] = forkable
    # One system has no fork; and two threads may make the first two clients at once.
    if hasattr(os, "register_at_fork") and next(_REGISTRATIONS) == 0:
        os.register_at_fork(
            before=_before,
            after_in_parent=partial(_after, in_child=False),
            after_in_child=partial(_after, in_child=True),
        )


def _living() -> list[Forkable]:
    # A list made at once: other threads add to the dictionary meanwhile.
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
