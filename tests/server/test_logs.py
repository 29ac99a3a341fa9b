"""Logs: one form, and nothing in it of who sent what."""

import asyncio
import http.client
import io
import json
import logging
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory import Config
from deniable.messages import pack_upload
from deniable.server.logging_setup import LoopErrors, configure_logging
from deniable.server.serving import serve
from deniable.stores import SqliteStore
from tests.support.clock import FakeClock
from tests.support.logging_kept import logging_kept
from tests.support.reports import envelope
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN

MARKER = "xyzzy-192.0.2.7"
OURS = logging.getLogger("deniable.collector")


class Logs(io.StringIO):
    """What is logged from now on."""

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture(params=["text", "json"])
def logs(request: pytest.FixtureRequest) -> Iterator[Logs]:
    """Configure logging as serve does."""
    with logging_kept():
        configure_logging(request.param, made := Logs())
        yield made


in_json = pytest.mark.parametrize("logs", ["json"], indirect=True)


def fails() -> None:
    try:
        dict[str, int]()[MARKER]
    except KeyError as error:
        raise RuntimeError(f"unforeseen {MARKER}") from error


@in_json
def test_a_line_is_an_object_with_time_level_and_message(logs: Logs) -> None:
    OURS.info("two\n lines of %s", "text", extra={"fields": {"number": 3, "path": object}})
    (line,) = logs.objects()
    assert line.pop("time").endswith("Z")
    assert line.pop("process") > 0
    assert line == {
        "level": "info",
        "message": "two lines of text",
        "number": 3,
        "path": "<class 'object'>",
    }


@in_json
def test_ours_is_told_from_info_up_and_others_from_warning_up(logs: Logs) -> None:
    for name in ("deniable.collector", "aiohttp.server"):
        for level in (logging.DEBUG, logging.INFO, logging.WARNING):
            logging.getLogger(name).log(level, "said")
    assert [(line["level"], line["message"]) for line in logs.objects()] == [
        ("info", "said"),
        ("warning", "said"),
        ("warning", "aiohttp.server: said"),
    ]


def test_of_an_error_only_kinds_and_places_are_told(logs: Logs) -> None:
    try:
        fails()
    except RuntimeError:
        OURS.exception("failed")
    first, second = ValueError(MARKER), TypeError(MARKER)
    first.__cause__, second.__cause__ = second, first  # a chain that bites its tail
    OURS.error("failed", exc_info=first)
    one, other = logs.lines
    assert MARKER not in one + other
    assert "RuntimeError from KeyError" in one
    assert "server/test_logs.py:" in one
    assert "ValueError from TypeError" in other


def test_of_other_libraries_only_the_sentence_in_their_code_is_told(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("aiohttp.server").error("Error handling request from %s", MARKER)
    logging.getLogger("asyncio").error(f"Task failed\ntransport: <{MARKER}>")
    told = "\n".join(logs.lines)
    assert "aiohttp.server: Error handling request from %s" in told
    assert "asyncio: Task failed" in told
    assert len(logs.lines) == 2
    OURS.error("%d", MARKER)  # cannot be formatted
    assert MARKER not in capsys.readouterr().err + logs.getvalue()


@pytest.mark.filterwarnings("default")
def test_what_nobody_caught_is_told_likewise_and_ctrl_c_stays_what_it_was(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert logs.lines == []
    assert "KeyboardInterrupt" in capsys.readouterr().err
    try:
        fails()
    except RuntimeError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    warnings.warn(MARKER, ResourceWarning, stacklevel=1)
    lines = logs.lines
    assert ["ended a thread" in line for line in lines] == [False, True]
    assert MARKER not in "".join(lines) + capsys.readouterr().err


def test_the_event_loop_s_errors_tell_no_arguments_and_once_a_minute_each(logs: Logs) -> None:
    clock = FakeClock()
    loop: Any = None  # nothing is asked of it
    told = LoopErrors(clock)
    for number in range(100):
        told(loop, {"message": f"Exception in callback received(b'{MARKER}{number}')"})
        told(loop, {"message": f"an error during closing <transport {MARKER}{number}>"})
        told(loop, {"message": "socket.accept() out of system resource", "exception": OSError()})
    assert len(logs.lines) == 3
    assert MARKER not in "".join(logs.lines)
    assert sum("OSError" in line for line in logs.lines) == 1
    clock.time += 61
    told(loop, {})
    told(loop, {"message": "socket.accept() out of system resource"})
    assert len(logs.lines) == 5


@in_json
def test_a_callback_that_fails_in_a_real_loop_is_one_line(logs: Logs) -> None:
    def callback(_: str) -> None:
        fails()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(LoopErrors())
        loop.call_soon(callback, MARKER)
        await asyncio.sleep(0)

    asyncio.run(main())
    (line,) = logs.objects()
    assert line["error"] == "RuntimeError from KeyError"
    assert line["message"].startswith("event loop: Exception in callback")
    assert MARKER not in json.dumps(line)


SECONDS = 20
REPORT = envelope(1, 3)
KEY = REPORT[3:35]


def talk(port: int) -> list[int]:
    """Send what devices, analysts and strangers send; return the statuses."""
    statuses = []
    for method, path, body in (
        ("GET", "/healthz", b""),
        ("POST", "/v1/reports", pack_upload([REPORT])),
        ("POST", "/v1/reports", REPORT[:-1]),
        ("GET", f"/v1/surveys/{MANIFEST.name}/histogram", b""),
        ("GET", "/nowhere", b""),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request(method, path, body, {"Content-Type": "application/msgpack"})
        statuses.append(connection.getresponse().status)
        connection.close()
    head = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/msgpack\r\n"
    for rest in (b"Content-Length: 99\r\n\r\n\x91", b"Content-Length: nonsense\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as stranger:
            stranger.sendall(head + rest)
    return statuses


async def run_and_talk(config: Config) -> list[int]:
    store = await SqliteStore.open(Path(config.store))
    await store.publish(MANIFEST, sign_manifest(MANIFEST, AUTHORITY))
    await store.close()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(config, address.set_result))
    async with asyncio.timeout(SECONDS):
        port = int((await address).rpartition(":")[2])
        statuses = await asyncio.to_thread(talk, port)
        signal.raise_signal(signal.SIGTERM)
        await serving
    return statuses


def test_no_level_of_logging_records_addresses_keys_or_requests(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert threading.current_thread() is threading.main_thread()  # serve() handles signals
    config = Config(
        origin=ORIGIN,
        authority=AUTHORITY.public_key,
        port=0,
        store=tmp_path / "store.sqlite",
        upkeep_seconds=0.0,  # it logs what it seals
    )
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    caplog.set_level(logging.DEBUG)
    statuses = asyncio.run(run_and_talk(config))
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert statuses == [200, 200, 400, 401, 404]
    # asyncio's own record names the kind of event loop.
    said = [record for record in caplog.records if record.name != "asyncio"]
    assert [record.getMessage() for record in said] == []
    assert KEY.hex() not in caplog.text
