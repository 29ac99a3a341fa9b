"""What DENIABLE_DEBUG says: each thing once, with what to do next, and never an answer."""

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, Consent, HttpTransport, SlidingCeiling, debug
from deniable.messages import RefusalCode
from tests.support.devices import NAME, UNREACHABLE, Bench, FakeTransport, refused
from tests.support.surveys import CATEGORIES, DAY, DECLARED, START, manifest
from tests.support.watched import WatchedTransport


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(debug, "_said", set())
    yield
    logging.getLogger("deniable").removeHandler(debug._WARNINGS)


def nobody_consented(bench: Bench) -> Client:
    client = bench.client(consent="unset", debug=True)
    client.start()
    return client


def made(**changes: Any) -> Callable[[Bench], Client]:
    return lambda bench: bench.client(debug=True, **changes)


DEMANDING = replace(DECLARED, max_epsilon="0.5")
NOBODY = HttpTransport("http://127.0.0.1:1")


def refreshed(**changes: Any) -> Callable[[Bench], Client]:
    def scene(bench: Bench) -> Client:
        client = bench.client(debug=True, **changes)
        client.refresh()
        return client

    return scene


def over_budget(bench: Bench) -> Client:
    client = bench.ready(debug=True, sliding=SlidingCeiling("1", 30))
    assert client.report(NAME, "fair").ok
    bench.clock.time += DAY
    return client


def over(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    bench.clock.time = START + 100 * DAY
    return client


def repeated(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    client.report(NAME, "fair")
    return client


def dropped(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    bench.transport.answer = refused(RefusalCode.BAD_KEY)
    client.report(NAME, "fair")
    client.flush()
    return client


def unreachable(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    bench.transport.answer = UNREACHABLE
    client.report(NAME, "fair")
    client.flush(0.01)
    return client


def local(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    client.set_consent(Consent.LOCAL)
    return client


def no_disk(bench: Bench) -> Client:
    client = bench.ready(debug=True)
    bench.path.unlink()
    return client


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (nobody_consented, ["nobody consented", "set_consent()"]),
        (made(environment={"DO_NOT_TRACK": "1"}), ["DO_NOT_TRACK"]),
        (made(), ["no verified manifest yet", "background=False", "refresh()"]),
        (refreshed(transport=NOBODY), ["not ready", "cannot be reached", "refresh()"]),
        (refreshed(surveys=[DEMANDING]), ["not ready", "too-high-epsilon"]),
        (over_budget, ["is spent; a later epoch"]),
        (over, ["explain()"]),
        (repeated, ["repeated", "a web worker that answers for many users", "one device"]),
        (lambda bench: bench.ready(debug=True), ["1 report, the first at 2", "flush()"]),
        (dropped, ["1 report dropped: {'bad-key': 1}", "the next epoch can be reported"]),
        (unreachable, ["reports wait: the collector cannot be reached", "1 report, the first at"]),
        (local, ["consent is local", "journal()"]),
        (no_disk, ["the state file was replaced", "state="]),
    ],
)
def test_what_does_not_happen_is_said_once_with_its_reason(
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
    scene: Callable[[Bench], Client],
    said: list[str],
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
    assert "no manifest was taken: the collector has no manifest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "talks"),
    [({}, False), ({"DENIABLE_DEBUG": "0"}, False), ({"DENIABLE_DEBUG": "1"}, True)],
)
def test_the_environment_asks_for_it(
    bench: Bench, capsys: pytest.CaptureFixture[str], environment: dict[str, str], talks: bool
) -> None:
    client = bench.client(environment=environment)
    client.report(NAME, "good")
    client.flush()
    assert (capsys.readouterr().err != "") is talks


def test_it_raises_nothing_whatever_standard_error_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.ready(debug=True)
    closed = open("/dev/null", "w", encoding="ascii")  # noqa: PTH123, SIM115
    closed.close()
    for stderr in (None, closed):
        monkeypatch.setattr(sys, "stderr", stderr)
        assert client.report(NAME, "good").ok
        assert client.flush().error is None


def test_it_changes_nothing_that_is_sent_or_stored(bench: Bench) -> None:
    quiet, talking = FakeTransport(manifest()), FakeTransport(manifest())
    rows = []
    for transport, talks in ((quiet, False), (talking, True)):
        bench.path = bench.path.with_name(f"{talks}.sqlite")
        client = bench.client(state=bench.path, transport=transport, debug=talks)
        client.refresh()
        client.report(NAME, "good")
        client.flush()
        rows.append(bench.rows("SELECT name, epoch, status, verdict, attempts FROM decisions"))
    assert [(each.method, each.path) for each in quiet.requests] == [
        (each.method, each.path) for each in talking.requests
    ]
    assert rows[0] == rows[1]
