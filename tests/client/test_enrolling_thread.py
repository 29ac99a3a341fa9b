"""The issuer is asked in the background: nothing it does harms the app. Every wait is bounded."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any
from unittest.mock import Mock, patch

import pytest

from deniable.client import Client, EnrolmentRequest, NotEnrolled, StateUnavailable
from deniable.client import engine as engine_module
from deniable.client.client import engine_of
from deniable.client.sending import uploader
from deniable.client.sending.reply import Backoff
from deniable.fakes import FakeIssuer
from deniable.messages import RefusalCode
from tests.support.devices import ACCEPTED, NAME, NO_THREAD, Bench, refused
from tests.support.surveys import DAY, DECLARED, START, manifest
from tests.support.vouched import Vouched, enroller_of
from tests.support.watched import SECONDS, WatchedTransport, threads, until


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


@pytest.fixture
def vouched(bench: Bench, transport: WatchedTransport) -> Vouched:
    return Vouched(bench)


@pytest.fixture
def hanging(vouched: Vouched) -> Iterator[Hanging]:
    hanging = Hanging(vouched.issuer)
    yield hanging
    hanging.gate.set()
    until(lambda: asking() == [])


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a call under way as closing does, but for less than a second."""
    monkeypatch.setattr(engine_module, "CLOSE_SECONDS", 0.01)


def asking() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "deniable-enrol"]


def device(vouched: Vouched, **changes: Any) -> Client:
    """Return a client with a thread that does everything at once."""
    arguments: dict[str, Any] = {"enrol": vouched.issuer, "delivery_seconds": 0.0, **changes}
    return vouched.bench.client(background=True, **arguments)


def holds(vouched: Vouched) -> bool:
    return vouched.bench.rows("SELECT 1 FROM credentials WHERE credential NOT NULL") == [(1,)]


def test_it_is_asked_at_the_start_of_each_epoch(vouched: Vouched) -> None:
    vouched.bench.clock.time = START - 500.0
    client = vouched.holding()
    for epoch, wait in enumerate((500.0, DAY)):
        assert enroller_of(client).step() == wait
        vouched.bench.clock.time += wait - 0.5
        assert enroller_of(client).step() == 0.5
        assert len(vouched.issuer.requests) == epoch
        vouched.bench.clock.time += 0.5
        enroller_of(client).step()
        until(lambda: asking() == [])
    vouched.bench.clock.time = START + 7.0 * DAY
    client.refresh(force=True)
    assert enroller_of(client).step() == inf  # it was the last epoch
    assert [request.epoch for request in vouched.issuer.requests] == [0, 1, 7]


@pytest.mark.parametrize("jitter", [0.0, 0.25, 0.999])
def test_devices_ask_at_different_times(vouched: Vouched, jitter: float) -> None:
    client = vouched.bench.client(enrol=vouched.issuer, delivery_seconds=3600.0)
    engine_of(client).jitter = lambda: jitter
    engine_of(client).manifests.refresh(5.0)
    wait = enroller_of(client).step()
    if jitter:
        assert wait == pytest.approx(jitter * 3600)
        assert vouched.row("due") == (START + jitter * 3600,)
        assert vouched.issuer.requests == ()
        vouched.bench.clock.time += jitter * 3600
        enroller_of(client).step()
    until(lambda: holds(vouched) and asking() == [])
    # Late in an epoch it is asked before half of what is left is over.
    vouched.bench.clock.time = START + 2 * DAY - 100.0
    assert jitter == 0.0 or enroller_of(client).step() < 50.0


def test_a_time_that_no_wait_reaches_is_a_clock_that_was_put_back(vouched: Vouched) -> None:
    client = vouched.holding()
    vouched.issuer.error = ConnectionError()
    client.refresh(force=True)
    vouched.issuer.error = None
    vouched.bench.rows(f"UPDATE credentials SET due = {START + 30 * DAY}.0")
    enroller_of(client).step()
    until(lambda: holds(vouched))


def test_failed_calls_come_ever_later(vouched: Vouched, caplog: pytest.LogCaptureFixture) -> None:
    vouched.issuer.error = ConnectionError("the account's name")
    client = vouched.holding()
    enroller_of(client)._jitter = lambda: 0.0
    for number, wait in enumerate((30, 60, 120, 240), start=1):
        enroller_of(client).step()
        until(lambda: asking() == [])
        assert len(vouched.issuer.requests) == number
        assert enroller_of(client).step() == wait
        vouched.bench.clock.time += wait
    lines = [line.getMessage() for line in caplog.records if line.levelname == "WARNING"]
    assert lines == ["enrolment is waiting: enrol= raised ConnectionError"]
    assert "the account's name" not in caplog.text
    vouched.issuer.error = None
    enroller_of(client).step()
    until(lambda: holds(vouched))


def test_while_it_hangs_other_reports_are_sent_and_nobody_else_is_asked(
    vouched: Vouched, transport: WatchedTransport, hanging: Hanging
) -> None:
    transport.publish(manifest(name="open-one"))
    vouched.bench.surveys = [DECLARED, replace(DECLARED, name="open-one")]
    client = device(vouched, enrol=hanging)
    client.start()
    assert hanging.asked.wait(SECONDS)
    until(lambda: client.report("open-one", "good").ok)
    assert transport.uploaded.wait(SECONDS)
    assert isinstance(client.report(NAME, "good").error, NotEnrolled)
    assert enroller_of(client).step() == inf
    assert "already" in str(client.refresh(force=True).errors[NAME])
    assert len(asking()) == 1
    hanging.gate.set()
    until(lambda: client.report(NAME, "good").ok)
    assert len(vouched.issuer.requests) == 1


def test_closing_leaves_what_comes_later(vouched: Vouched, hanging: Hanging, hurried: None) -> None:
    client = device(vouched, enrol=hanging)
    client.start()
    assert hanging.asked.wait(SECONDS)
    client.close()
    assert threads() == []
    (thread,) = asking()
    assert thread.daemon
    hanging.gate.set()
    thread.join(SECONDS)
    assert not holds(vouched)
    assert not vouched.bench.is_open
    # Nothing is lost: it is asked again, and gets the same.
    vouched.client().close()
    first, second = vouched.issuer.requests
    assert first == second
    assert holds(vouched)


def test_closing_waits_for_what_comes_in_that_second(vouched: Vouched, hanging: Hanging) -> None:
    client = device(vouched, enrol=hanging)
    client.start()
    assert hanging.asked.wait(SECONDS)
    (thread,) = asking()
    join = thread.join

    def let_it_answer(timeout: float | None = None) -> None:
        hanging.gate.set()
        join(SECONDS)

    thread.join = let_it_answer  # type: ignore[method-assign]
    client.close()
    assert holds(vouched)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_not_even_an_exit_in_the_callback_ends_more_than_its_call(
    vouched: Vouched, transport: WatchedTransport, error: BaseException
) -> None:
    enrol = Mock(side_effect=error)
    client = device(vouched, enrol=lambda request: enrol(request))
    client.start()
    until(lambda: enrol.called and asking() == [])
    assert len(threads()) == 1
    assert enroller_of(client).step() == 60.0
    enrol.side_effect = vouched.issuer
    vouched.bench.clock.time += 60.0
    client.start()
    until(lambda: holds(vouched))


def test_a_callback_may_close_the_client(vouched: Vouched, hurried: None) -> None:
    def closes(request: EnrolmentRequest) -> bytes | None:
        client.close()
        closed.set()
        return vouched.issuer(request)

    closed = threading.Event()
    client = device(vouched, enrol=closes)
    client.start()
    assert closed.wait(SECONDS)
    until(lambda: asking() == [] and threads() == [])
    assert not holds(vouched)


@pytest.mark.parametrize("what", ["state", "thread"])
def test_what_cannot_be_written_or_begun_is_tried_again_later(vouched: Vouched, what: str) -> None:
    client = vouched.holding()
    full, credentials = Mock(side_effect=StateUnavailable), enroller_of(client)._credentials
    owner: Any = threading.Thread if what == "thread" else credentials
    with patch.object(owner, *(("start", NO_THREAD) if what == "thread" else ("begin", full))):
        enroller_of(client).step()
        until(lambda: asking() == [])
        assert enroller_of(client).step() == 60.0
    assert vouched.issuer.requests == ()
    vouched.bench.clock.time += 60.0
    enroller_of(client).step()
    until(lambda: holds(vouched))


def test_of_several_processes_one_asks_or_another_does(vouched: Vouched, hanging: Hanging) -> None:
    first = vouched.holding(enrol=hanging)
    enroller_of(first).step()
    assert hanging.asked.wait(SECONDS)
    second = vouched.bench.client(enrol=vouched.issuer, delivery_seconds=0.0)
    assert enroller_of(second).step() == 60.0
    assert vouched.issuer.requests == ()
    vouched.bench.clock.time += 60.0
    enroller_of(second).step()
    until(lambda: holds(vouched))


def test_a_refused_one_is_a_chore_of_it(
    vouched: Vouched, transport: WatchedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploader, "BACKOFF", Backoff(0.0, 0.0))
    transport.answer = Mock(side_effect=[refused(RefusalCode.NOT_ENROLLED), ACCEPTED])
    client = device(vouched)
    client.start()
    until(lambda: holds(vouched))
    assert client.report(NAME, "good").ok
    # Nobody wakes it from here on.
    until(lambda: vouched.bench.rows("SELECT status FROM decisions") == [("delivered",)])
    assert len(vouched.issuer.requests) == len(transport.uploads) == 2
