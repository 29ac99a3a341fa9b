"""What DENIABLE_DEBUG prints: each thing once, and never an answer."""

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, HttpAnswer, HttpTransport, SlidingCeiling, debug
from deniable.messages import RefusalCode
from tests.support.devices import NAME, UNREACHABLE, Bench, FakeTransport, refused
from tests.support.surveys import CATEGORIES, DAY, DECLARED, MANIFEST
from tests.support.watched import WatchedTransport

DEMANDING = replace(DECLARED, max_epsilon="0.5")
NOBODY = HttpTransport("http://127.0.0.1:1")
Scene = Callable[[Bench], Client]


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(debug.LINES, "printed", set())
    logger = logging.getLogger("deniable")
    level = logger.level
    yield
    logger.removeHandler(debug.LINES)
    logger.setLevel(level)


def made(does: Callable[[Client], object] = lambda _: None, **changes: Any) -> Scene:
    """Return the scene of a client that has done this."""

    def scene(bench: Bench) -> Client:
        client = bench.client(debug=True, **changes)
        does(client)
        return client

    return scene


def ready(does: Callable[[Bench, Client], object], **changes: Any) -> Scene:
    """Return the scene of a client that holds its survey, at a bench where this was done."""

    def scene(bench: Bench) -> Client:
        client = bench.ready(debug=True, **changes)
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
            [
                "reports are waiting: the collector cannot be reached",
                "reports are waiting: {'unreachable: ",
            ],
        ),
        (ready(lambda bench, _: bench.path.unlink()), ["the state file was replaced"]),
    ],
)
def test_what_does_not_happen_is_said_once_with_its_reason(
    bench: Bench, capsys: pytest.CaptureFixture[str], scene: Scene, said: list[str]
) -> None:
    client = scene(bench)
    for _ in range(3):
        client.report(NAME, "good")
    out, err = capsys.readouterr()
    assert out == ""
    assert [text for text in said if text not in err] == []
    lines = err.splitlines()
    assert len(lines) == len(set(lines))
    assert all(line.startswith("deniable: ") for line in lines)
    assert not [text for text in CATEGORIES if text in err.replace(NAME, "")]


def test_what_the_thread_meets_is_said_too(
    bench: Bench, transport: WatchedTransport, capsys: pytest.CaptureFixture[str]
) -> None:
    transport.manifests.clear()
    client = bench.client(background=True, debug=True, delivery_seconds=0)
    client.start()
    assert transport.fetched.wait(20.0)
    client.close()
    assert "no manifest was accepted: the collector has no manifest" in capsys.readouterr().err


def test_the_environment_asks_for_it(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    for environment, talks in (
        ({}, False),
        ({"DENIABLE_DEBUG": "0"}, False),
        ({"DENIABLE_DEBUG": "1"}, True),
    ):
        client = bench.client(environment=environment)
        client.report(NAME, "good")
        client.flush()
        assert (capsys.readouterr().err != "") is talks


def test_no_standard_error_makes_it_raise(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    client = bench.ready(debug=True)
    closed = open("/dev/null", "w", encoding="ascii")  # noqa: PTH123, SIM115
    closed.close()
    for stderr in (None, closed):
        monkeypatch.setattr(sys, "stderr", stderr)
        assert client.report(NAME, "good").ok
        assert client.flush().error is None


def test_it_changes_nothing_that_is_sent_or_stored(bench: Bench) -> None:
    requests, rows = [], []
    for talks in (False, True):
        bench.transport = FakeTransport(MANIFEST)
        bench.path = bench.path.with_name(f"{talks}.sqlite")
        bench.reported(state=bench.path, debug=talks).flush()
        requests.append([(each.method, each.path) for each in bench.transport.requests])
        rows.append(bench.rows("SELECT name, epoch, status, verdict, attempts FROM decisions"))
    assert requests[0] == requests[1]
    assert rows[0] == rows[1]
