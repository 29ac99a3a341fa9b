"""Small apps whose issuer never answers: ``python -m tests.support.enrolling_app SCENE FOLDER``.

Each prints one line of JSON, and ends although the callback still waits.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.client import Client, EnrolmentRequest
from deniable.fakes import FakeIssuer
from tests.support.devices import NAME, Bench
from tests.support.surveys import START
from tests.support.vouched import Vouched
from tests.support.watched import SECONDS


class Hanging:
    """An issuer that says that it was asked, and answers once it is let."""

    def __init__(self, issuer: FakeIssuer) -> None:
        self._issuer = issuer
        self.asked = threading.Event()
        self.gate = threading.Event()

    def __call__(self, request: EnrolmentRequest) -> bytes | None:
        self.asked.set()
        self.gate.wait()
        return self._issuer(request)


def begin(bench: Bench) -> tuple[Client, Hanging]:
    """Return a client whose thread is waiting for the issuer."""
    vouched = Vouched(bench)
    vouched.issuer.error = ConnectionError()
    vouched.client().close()
    vouched.issuer.error = None
    bench.clock.time = START + 4000.0
    hanging = Hanging(vouched.issuer)
    client = bench.client(background=True, delivery_seconds=0.0, enrol=hanging)
    client.start()
    assert hanging.asked.wait(SECONDS)
    return client, hanging


def returns(client: Client, _: Hanging) -> Any:
    return type(client.report(NAME, "good").error).__name__


def closes(client: Client, _: Hanging) -> Any:
    client.close()
    return "closed"


def calls_exit(client: Client, _: Hanging) -> Any:
    print(json.dumps("exit"), flush=True)
    sys.exit(0)


def forks(client: Client, hanging: Hanging) -> Any:
    """Fork while the thread waits, and let the child ask for itself."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        signal.alarm(int(SECONDS))  # a deadlock ends it
        hanging.gate = threading.Event()  # who held its lock is not here
        hanging.gate.set()
        errors = client.refresh().errors
        told = [list(errors), client.report(NAME, "good").status]
        client.close()
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        child = json.loads(pipe.read())
    os.wait()
    return [child, client.report(NAME, "good").status]


SCENES: dict[str, Callable[[Client, Hanging], Any]] = {
    scene.__name__: scene for scene in (returns, closes, calls_exit, forks)
}


def main() -> None:
    _, scene, folder = sys.argv
    signal.alarm(int(3 * SECONDS))
    client, hanging = begin(Bench(Path(folder)))
    print(json.dumps(SCENES[scene](client, hanging)), flush=True)


if __name__ == "__main__":
    main()
