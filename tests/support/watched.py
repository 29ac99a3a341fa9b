"""A device whose thread is watched: every wait is bounded, and ends when something has happened."""

import threading
import time
from collections.abc import Callable

from deniable.client import Client, HttpAnswer, engine
from deniable.client.state import state_file
from tests.support.devices import Bench, FakeTransport
from tests.support.surveys import MANIFEST
from tests.support.transports import Call

SECONDS = 20.0


def be_patient(seconds: float = SECONDS) -> None:
    """Let this process's devices wait so long for others, however slow the machine is."""
    engine.REPORT_PATIENCE = state_file.BUSY_SECONDS = seconds


def until(happened: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Ask until it has happened, and no longer than any other wait, or than so many seconds."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)  # the other threads have the interpreter meanwhile


class WatchedTransport(FakeTransport):
    """Tells when a request has come; may hold it back.

    Attributes:
        fetched, uploaded: set once such a request was answered.
    """

    def __init__(self) -> None:
        super().__init__(MANIFEST)
        self.fetched = threading.Event()
        self.entered = threading.Event()
        self.uploaded = threading.Event()
        self.gate = threading.Event()  # while clear, uploads wait for it
        self.gate.set()
        self.threads: set[str] = set()

    def respond(self, call: Call) -> HttpAnswer:
        self.threads.add(threading.current_thread().name)
        if call.method == "POST":
            self.entered.set()
            assert self.gate.wait(SECONDS)
        answer = super().respond(call)
        (self.uploaded if call.method == "POST" else self.fetched).set()
        return answer


def device(bench: Bench, *, delivery_seconds: float = 0.0) -> Client:
    return bench.client(background=True, delivery_seconds=delivery_seconds)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "deniable"]


def settled(bench: Bench, client: Client) -> list[tuple[object, ...]]:
    """Return the decisions once the thread has ended."""
    client.close()
    assert threads() == []
    return bench.rows("SELECT epoch, status FROM decisions ORDER BY epoch")
