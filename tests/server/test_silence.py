"""What a running collector logs, at any level: nothing about who sent what."""

import asyncio
import http.client
import logging
import signal
import socket
import threading
from pathlib import Path

import pytest

from deniable.directory import Config
from deniable.messages import pack_upload, sign_manifest
from deniable.server import serve
from deniable.stores import SqliteStore
from tests.support.reports import envelope
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN

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
