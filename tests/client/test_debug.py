"""What the log says: the reason why something did not happen, and never an answer."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, HttpAnswer, HttpTransport, SlidingCeiling
from deniable.messages import RefusalCode
from tests.support.devices import NAME, UNREACHABLE, Bench, refused
from tests.support.surveys import CATEGORIES, DAY, DECLARED
from tests.support.watched import WatchedTransport

DEMANDING = replace(DECLARED, max_epsilon="0.5")
NOBODY = HttpTransport("http://127.0.0.1:1")
Scene = Callable[[Bench], Client]


def made(does: Callable[[Client], object] = lambda _: None, **changes: Any) -> Scene:
    """Return the scene of a client that has done this."""

    def scene(bench: Bench) -> Client:
        client = bench.client(**changes)
        does(client)
        return client

    return scene


def ready(does: Callable[[Bench, Client], object], **changes: Any) -> Scene:
    """Return the scene of a client that holds its survey, at a bench where this was done."""

    def scene(bench: Bench) -> Client:
        client = bench.ready(**changes)
        does(bench, client)
        return client

    return scene


def later(days: int) -> Callable[[Bench, Client], object]:
    def does(bench: Bench, client: Client) -> None:
        client.report(NAME, "fair")
        bench.clock.time += days * DAY

    return does


def answering(answer: HttpAnswer | Exception) -> Callable[[Bench, Client], object]:
    def does(bench: Bench, client: Client) -> None:
        bench.transport.answer = answer
        client.report(NAME, "fair")
        client.flush(0.01)

    return does


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (made(Client.start, consent="unset"), ["nobody has consented", "set_consent()"]),
        (made(environment={"DO_NOT_TRACK": "1"}), ["DO_NOT_TRACK"]),
        (made(), ["not-recorded", "no verified manifest yet"]),
        (made(Client.refresh, transport=NOBODY), ["not ready", "cannot be reached"]),
        (made(Client.refresh, surveys=[DEMANDING]), ["not ready", "too-high-epsilon"]),
        (ready(later(1), sliding=SlidingCeiling("1", 30)), ["of 1.000; a later epoch"]),
        (ready(later(100)), ["explain()"]),
        (ready(later(0)), [f"survey {NAME}: repeated: epoch 0"]),
        (
            ready(answering(refused(RefusalCode.BAD_KEY))),
            ["a report was dropped: bad-key", "the next epoch can be reported"],
        ),
        (
            ready(answering(UNREACHABLE)),
            ["reports are waiting: the collector cannot be reached"],
        ),
        (ready(lambda bench, _: bench.path.unlink()), ["the open state file was replaced"]),
    ],
)
def test_what_does_not_happen_is_said_with_its_reason(
    bench: Bench, caplog: pytest.LogCaptureFixture, scene: Scene, said: list[str]
) -> None:
    caplog.set_level(logging.INFO, "deniable")
    scene(bench).report(NAME, "good")
    assert [text for text in said if text not in caplog.text] == []
    assert not [text for text in CATEGORIES if text in caplog.text.replace(NAME, "")]


def test_what_the_thread_meets_is_said_too(
    bench: Bench, transport: WatchedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "deniable")
    transport.manifests.clear()
    client = bench.client(background=True, delivery_seconds=0)
    client.start()
    assert transport.fetched.wait(20.0)
    client.close()
    assert "no manifest was accepted: the collector has no manifest" in caplog.text
