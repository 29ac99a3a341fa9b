"""Calls that wait for the network, on asyncio: for them neither the loop nor the process waits."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

_T = TypeVar("_T")


async def daemon_call(call: Callable[[], _T]) -> _T:
    """Do a call on a daemon thread of its own, and return or raise what it does.

    The threads of ``asyncio.to_thread`` are waited for when the loop ends, and when the interpreter
    does: an app that is interrupted would hang for as long as a collector does not answer.
    """
    import asyncio  # 70 ms that an app without an event loop need not pay

    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        if not done.done():  # as it is if whoever waited was cancelled
            result()

    def run() -> None:
        try:
            result = partial(done.set_result, call())
        except Exception as error:  # noqa: BLE001 - it is the awaiting task's
            result = partial(done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, name="deniable-call", daemon=True).start()
    return await done


async def thread_call(call: Callable[[], _T]) -> _T:
    """Return the result of a call that is made on a thread of the event loop's own."""
    import asyncio  # 70 ms that an app without an event loop need not pay

    return await asyncio.to_thread(call)
