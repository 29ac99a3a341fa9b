"""Floods over real sockets: idle strangers, unread answers."""

import asyncio
import gc
import socket
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path

import pytest

from deniable.server import connection_slots
from deniable.server.connection_slots import SLICE_BYTES
from tests.server.collector import running
from tests.server.sockets import (
    CLOSE,
    HEALTH,
    SECONDS,
    UPLOAD,
    connected,
    exchange,
    read_answer,
    until,
    upload,
)
from tests.server.test_overload import resident_bytes
from tests.server.test_slow_strangers import LARGE
from tests.support.effort import THOROUGH
from tests.support.surveys import AUTHORITY

LIST = b"GET /v1/surveys HTTP/1.1\r\nHost: x\r\n\r\n"
KNOWN = b'GET /v1/authority HTTP/1.1\r\nHost: x\r\nIf-None-Match: "%b"\r\n\r\n' % (
    AUTHORITY.public_key.hex().encode()
)


async def stranger(port: int, address: str, said: bytes, stack: ExitStack) -> socket.socket:
    """Return a connection from an address of this machine, which says something and waits."""
    made = stack.enter_context(socket.socket())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setblocking(False)
    made.bind((address, 0))
    async with asyncio.timeout(SECONDS):
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
        await asyncio.get_running_loop().sock_sendall(made, said)
    return made


IDLE = {
    "nothing": b"",
    "a head": b"GET /",
    "a body": UPLOAD + b"Content-Length: 99\r\n\r\n\x91",
    "an answer": HEALTH + b"\r\n",
    "an answer without a body": KNOWN,
    "an unread answer": LIST * 9,
}


@pytest.mark.parametrize("said", IDLE.values(), ids=IDLE)
@pytest.mark.parametrize("addresses", [1, 50])
async def test_strangers_who_fill_all_places_keep_no_honest_upload_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes, addresses: int
) -> None:
    most, uploads = (30, 40) if THOROUGH else (10, 6)
    monkeypatch.setattr(connection_slots, "MOST_CONNECTIONS", most)
    async with running(tmp_path) as collector:
        await collector.publish(LARGE)
        port = collector.client.port
        assert port is not None
        with ExitStack() as strangers:
            for number in range(2 * most):
                address = f"127.0.1.{1 + number % addresses}"
                await stranger(port, address, said, strangers)
            await until(lambda: collector.total("connections") == most)
            for device in range(uploads):
                for number in range(3):
                    address = f"127.0.1.{1 + (device + number) % addresses}"
                    await stranger(port, address, said, strangers)
                (answer,) = await exchange(collector, upload(device, head=UPLOAD + CLOSE))
                assert answer.status == 200
                assert collector.total("connections") <= most
        assert collector.total("reports_accepted") == uploads
        assert collector.total("connections_refused") == 0


@pytest.mark.parametrize("trusted", [False, True])
async def test_an_address_has_its_share_of_the_places_and_a_trusted_proxy_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    monkeypatch.setattr(connection_slots, "_MOST_OF_ADDRESS", 5)
    proxies = (ip_network("127.0.1.1"),) if trusted else ()
    async with running(tmp_path, trusted_proxies=proxies) as collector:
        assert collector.client.port is not None
        with ExitStack() as strangers:
            for _ in range(20):
                await stranger(collector.client.port, "127.0.1.1", b"", strangers)
            (answer,) = await exchange(collector, HEALTH + CLOSE + b"\r\n")
            assert answer.status == 200
            await until(lambda: collector.total("connections") == (20 if trusted else 5))


async def test_unread_answers_hold_a_bounded_number_of_bytes(tmp_path: Path) -> None:
    """200 strangers ask for 200 MB and read none of it; then somebody does read an answer."""
    strangers = 200
    async with running(tmp_path) as collector:
        await collector.publish(LARGE)
        port = collector.client.port
        assert port is not None
        (whole,) = await exchange(collector, LIST[:-2] + CLOSE + b"\r\n")
        assert len(whole.body) > 10 * SLICE_BYTES
        gc.collect()
        before = resident_bytes()

        def waiting() -> list[int]:
            return [
                connection.transport.get_write_buffer_size()
                for connection in collector.server.connections
                if connection.transport is not None
            ]

        with ExitStack() as stack:
            for _ in range(strangers):
                await stranger(port, "127.0.0.1", LIST, stack)
            assert max(waiting()) <= SLICE_BYTES + 1_024
            # What the allocator keeps of the slices, and the connections themselves.
            assert resident_bytes() - before < (16 << 20) + 2 * strangers * SLICE_BYTES
            async with connected(collector) as (reader, writer):
                writer.write(LIST)
                answer = await read_answer(reader)
                assert answer.body == whole.body
        await until(lambda: not collector.server.connections)
