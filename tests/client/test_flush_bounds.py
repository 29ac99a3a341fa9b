"""A flush: how long it may last, what it leaves, and the last look before a byte leaves."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deniable.client import (
    Client,
    Delivery,
    HttpAnswer,
    HttpTransport,
    NotRecorded,
    StateUnavailable,
    TransportError,
    engine,
)
from deniable.client.client import engine_of
from deniable.client.clock import SystemClock
from deniable.client.state import state_file
from deniable.client.threads import Taken, Turn
from deniable.messages import RefusalCode
from tests.client.test_http_transport import no_handshake, nothing, slow_body, slow_handshake
from tests.support.certificates import certificate
from tests.support.devices import (
    ACCEPTED,
    NAME,
    PORTAL,
    UNREACHABLE,
    Bench,
    FakeTransport,
    refused,
)
from tests.support.effort import some
from tests.support.raw_server import RawServer, Script, answer
from tests.support.surveys import DAY, START
from tests.support.transports import Call
from tests.support.watched import until

SECONDS = 10.0


Meanwhile = Callable[[Client, dict[str, str]], object]
WITHDRAWALS: dict[str, Meanwhile] = {
    "off": lambda client, _: client.set_consent("off"),
    "purge": lambda client, _: client.purge(),
    "environment": lambda _, environment: environment.update(DO_NOT_TRACK="1"),
}


@pytest.mark.parametrize("withdraw", WITHDRAWALS.values(), ids=WITHDRAWALS)
@pytest.mark.parametrize("how", ["flush", "thread"])
def test_d7_who_withdraws_during_the_handshake_has_no_byte_sent(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, withdraw: Meanwhile, how: str
) -> None:
    file, context = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    bench.reported().close()
    environment: dict[str, str] = {}
    other = bench.client(environment=environment)  # as another process

    with RawServer(answer("200 OK"), context) as server:
        server.before_handshake = lambda: withdraw(other, environment)
        transport = HttpTransport(server.origin, SECONDS)
        client = bench.client(transport=transport, environment=environment)
        if how == "flush":
            assert client.flush(SECONDS).pending == 0
        else:
            bench.clock.time += 3600
            engine_of(client).uploader.send_due()
        assert server.hands_shaken.wait(SECONDS)
    assert server.requests == [b""]
    assert bench.rows("SELECT attempts, unanswered FROM decisions") == [(0, 0)]


def test_what_another_process_delivered_in_the_handshake_is_not_resent(bench: Bench) -> None:
    other = bench.reported()

    class Slow(FakeTransport):
        def respond(self, call: Call) -> HttpAnswer:
            assert other.flush() == Delivery(delivered=1)
            return super().respond(call)

    slow = Slow()
    assert bench.client(transport=slow).flush() == Delivery()
    assert (len(bench.transport.uploads), slow.uploads) == (1, [])
    assert bench.rows("SELECT attempts, unanswered, status FROM decisions") == [(1, 0, "delivered")]


class Running(SystemClock):
    """The bench's time of day, and a true monotonic clock."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def now(self) -> float:
        return self._bench.clock.time


@pytest.mark.parametrize("script", some([nothing, slow_body, no_handshake, slow_handshake]))
def test_a_flush_ends_in_time_if_the_server_hangs(bench: Bench, script: Script) -> None:
    # Each script goes on for seconds, and three reports wait.
    shakes = "handshake" in script.__name__
    bench.several(3).close()
    with RawServer(script, headless=shakes) as server:
        origin = f"http{'s' if shakes else ''}://127.0.0.1:{server.port}"
        client = bench.client(transport=HttpTransport(origin), clock=Running(bench))
        with ThreadPoolExecutor(1) as pool:
            delivery = pool.submit(client.flush, 0.25).result(SECONDS)
        assert delivery == Delivery(pending=3)
        assert bench.rows("SELECT sum(attempts) FROM decisions") == [(1,)]


def test_a_flush_has_only_the_time_that_the_thread_leaves_it(bench: Bench) -> None:
    client = bench.reported()

    class Late(Turn):
        """The thread's turn, which it gives back after seven seconds."""

        def take(self, seconds: float = 0.0) -> Taken | None:
            bench.clock.time += 7.0
            return super().take()

    engine_of(client).uploader._sending = Late()
    assert client.flush(10.0).delivered == 1
    assert bench.transport.requests[-1].timeout == 3.0


def test_due_only_sends_what_is_due_by_its_random_time_and_waits_for_nothing(bench: Bench) -> None:
    client = bench.several(3)
    bench.rows(f"UPDATE decisions SET due = {START + 2000.0}")
    bench.rows(f"UPDATE decisions SET due = {START + 60.0} WHERE name = 'survey-0'")
    assert client.flush(5000, due_only=True) == Delivery(pending=3)
    assert bench.transport.uploads == []
    bench.clock.time = START + 60.0
    bench.transport.answer = UNREACHABLE
    assert client.flush(5000, due_only=True) == Delivery(pending=3)
    assert bench.rows("SELECT name FROM decisions WHERE attempts = 1") == [("survey-0",)]
    assert bench.clock.time == START + 60.0
    bench.transport.answer = ACCEPTED
    bench.clock.time = START + 2000.0
    assert client.flush(5000, due_only=True) == Delivery(delivered=3)


@pytest.mark.parametrize("seconds", [1, 5])  # a flush with time left, and one without
def test_after_one_unanswered_request_the_others_of_a_run_wait_their_minute(
    bench: Bench, seconds: int
) -> None:
    bench.several(3).close()
    bench.clock.time += 1.25 * DAY  # the manifests are to be fetched again, too
    began = bench.clock.time
    bench.transport.requests.clear()

    def hang(_: Call) -> None:
        if len(bench.transport.requests) == 1:  # a later one might leave no time to the others
            bench.clock.time += seconds
        raise TransportError("TimeoutError")

    bench.transport.meanwhile = hang
    client = bench.client()
    assert client.flush(5).pending == 3
    assert len(client.refresh().later) == 3
    assert bench.clock.time == began + seconds
    assert len(bench.transport.requests) == 1
    assert bench.rows("SELECT sum(attempts) FROM decisions") == [(1,)]
    bench.clock.time += 60  # the minute
    client.refresh()
    assert len(bench.transport.requests) == 4


@contextmanager
def held(bench: Bench) -> Iterator[None]:
    """Hold the state's writer lock, as another process would."""
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let who has no time of its own wait for others: longer than a test."""
    monkeypatch.setattr(engine, "REPORT_PATIENCE", 0.1)
    monkeypatch.setattr(state_file, "BUSY_SECONDS", 6 * SECONDS)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("call", ["report", "flush", "refresh"])
def test_a_call_waits_for_others_no_longer_than_its_time(bench: Bench, call: str) -> None:
    client = bench.reported()
    bench.clock.time += DAY
    calls: dict[str, Callable[[], NotRecorded | None]] = {
        "report": lambda: client.report(NAME, "good").error,
        "flush": lambda: client.flush(0.1).error,
        "refresh": lambda: client.refresh(0.1, force=True).errors[NAME],
    }
    with ThreadPoolExecutor(2) as pool:
        with held(bench):
            errors = [pool.submit(calls[call]).result(SECONDS)]
            # And while another thread of this app, which has no time of its own, waits.
            waits = pool.submit(client.purge)
            until(lambda: engine_of(client).state.keeper._current is not None)
            errors.append(pool.submit(calls[call]).result(SECONDS))
        waits.result(SECONDS)
    for error, who in zip(errors, ("another process", "another thread"), strict=True):
        assert isinstance(error, StateUnavailable)
        assert who in str(error)


@pytest.mark.parametrize("end", ["delivered", "refused", "cap", "off", "purge", "unanswered"])
def test_d9_what_is_settled_keeps_its_day_and_not_its_second(bench: Bench, end: str) -> None:
    bench.clock.time = START + 5000.5
    client = bench.reported()
    bench.clock.time += 300 + 3 * DAY * (end == "cap")
    if end in {"cap", "unanswered"}:
        change = f"lived = lived - {200 * DAY}" if end == "cap" else "attempts = 5"
        bench.rows(f"UPDATE decisions SET {change}")
    answers = {"refused": refused(RefusalCode.OUT_OF_DOMAIN), "unanswered": PORTAL}
    bench.transport.answer = answers.get(end, ACCEPTED)
    if end == "off":
        client.set_consent("off")
    if end == "purge":
        client.purge()
    client.flush(1)
    columns = "decided, due, held, settled"
    ((status, *times),) = bench.rows(f"SELECT status, {columns} FROM decisions")
    assert status == ("delivered" if end == "delivered" else "dropped")
    assert [instant % DAY for instant in times] == [0, 0, 0, 0]
    assert times[0] == START // DAY * DAY
    assert times[3] == bench.clock.time // DAY * DAY
    assert time.strftime("%Y-%m-%d", time.gmtime(times[3])) in str(client.journal())
