"""Small apps: ``python -m tests.support.plain_app SCENE STATE ORIGIN`` embeds the SDK and ends."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from deniable.client import Client, ClientSettings, HttpAnswer, HttpTransport
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule
from tests.support.devices import NAME
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, DECLARED, manifest
from tests.support.watched import be_patient

_SECONDS = 20.0


class Announcing(HttpTransport):
    """The real transport; tells when a request is on its way."""

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.entered = threading.Event()

    def request(self, *arguments: Any, **named: Any) -> HttpAnswer:
        self.entered.set()
        return super().request(*arguments, **named)


def embed(state: str, origin: str) -> tuple[Client, Announcing]:
    """Return an app's client, whose survey runs now, and its transport."""
    schedule = Schedule(int(time.time()) - 60, DAY, 8, DAY)
    running = sign_manifest(manifest(origin=origin, schedule=schedule), AUTHORITY)
    transport = Announcing(origin)
    client = Client(
        origin,
        authority=AUTHORITY.public_key,
        surveys=[DECLARED],
        state=state,
        consent="on",
        settings=ClientSettings(
            first_epoch="now", manifests=[running], delivery_seconds=0.0, transport=transport
        ),
    )
    return client, transport


def _report(client: Client) -> None:
    assert client.report(NAME, CATEGORIES[1], strict=True).ok


def _report_while_sending(client: Client, transport: Announcing) -> None:
    _report(client)
    assert transport.entered.wait(_SECONDS)


def returns(client: Client, transport: Announcing) -> None:
    """End while the thread waits for an answer."""
    _report_while_sending(client, transport)


def calls_exit(client: Client, transport: Announcing) -> None:
    _report_while_sending(client, transport)
    sys.exit(3)


def raises(client: Client, transport: Announcing) -> None:
    """End by an exception that nobody handles."""
    _report_while_sending(client, transport)
    raise RuntimeError("the app's own")


def leaves_at_once(client: Client, transport: Announcing) -> None:
    """End without any ceremony, right after report() has returned."""
    _report(client)
    os._exit(4)


def is_killed(client: Client, transport: Announcing) -> None:
    """End by a signal, right after report() has returned."""
    _report(client)
    os.kill(os.getpid(), signal.SIGKILL)


def in_late_thread(client: Client, transport: Announcing) -> None:
    """Report from a thread that outlives the main one."""
    main = threading.main_thread()

    def live() -> None:
        main.join(_SECONDS)
        _report(client)

    threading.Thread(target=live).start()


def closes(client: Client, transport: Announcing) -> None:
    with client:
        _report_while_sending(client, transport)


def threads(client: Client, transport: Announcing) -> None:
    """Report from many threads, let the thread send, and close."""
    be_patient()
    reporters = [threading.Thread(target=partial(_report, client)) for _ in range(8)]
    for reporter in reporters:
        reporter.start()
    for reporter in reporters:
        reporter.join(_SECONDS)
    assert transport.entered.wait(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while client.flush(1.0).pending:
        assert time.monotonic() < deadline
    client.close()


SCENES: dict[str, Callable[[Client, Announcing], None]] = {
    scene.__name__: scene
    for scene in (returns, calls_exit, raises, leaves_at_once, is_killed, in_late_thread, closes)
}


def main() -> None:
    _, scene, state, origin = sys.argv
    SCENES[scene](*embed(state, origin))


if __name__ == "__main__":
    main()
