"""Connections, each limited in time and memory, around aiohttp's public interface.

aiohttp parses heads and bodies, and runs handlers. It receives a complete head, the bytes of its
body, and nothing more before the answer; its transport is a wrapper. Invariants, whatever is sent:

N1. Every connection is always arriving (a head, a body), being answered, or idle, and each of these
    phases has an end: by a sweep, if nothing else ends it.
N2. A client that does not read is cut off: waiting bytes never exceed their time; at most a slice
    of them is copied for it in this process, and some more in the kernel.
N3. Every answer comes from this server; a request that cannot be parsed gets 400, as the last
    answer.
N4. Nothing is read after a request whose end is doubtful (its body had not arrived when it was
    answered, or would come in chunks, which are refused; CONNECT): bytes that a proxy treats as a
    body are never a request here.
"""

import asyncio
import logging
import math
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, cast

from aiohttp import HttpVersion11, web
from aiohttp.http import HttpProcessingError

from deniable.directory import Config
from deniable.messages import MAX_UPLOAD_BYTES, RefusalCode
from deniable.server.connection_slots import SLICE_BYTES, ConnectionSlots
from deniable.server.framing import MOST_LINE_BYTES, BadHead, take_head
from deniable.server.metrics import Meters
from deniable.server.problems import answer_headers, bare_answer, complete, plain_problem, problem

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]

HEAD_SECONDS: Final = 10.0
"""Seconds for a request's head, or a handshake: a few packets over a poor mobile network."""
BODY_SECONDS: Final = 10.0
"""Seconds for a request's body, which is at most 64 KiB."""
ANSWER_SECONDS: Final = 120.0
"""Seconds for preparing an answer, and for reading it: the largest have some MiB."""
IDLE_SECONDS: Final = 60.0
"""Seconds that a connection may wait for its next request: longer than a proxy keeps it."""
_LINGER_SECONDS: Final = 5.0
"""Seconds for which a refused body is still read, so that its sender sees the reason."""
_SWEEP_SECONDS: Final = 1.0
NO_DESCRIPTORS: Final = "socket.accept() out of system resource"
"""The message about missing file descriptors, as asyncio words it: it is logged once for all."""

# Below aiohttp's own logger, of whose records only the sentence is logged.
_LOG: Final = logging.getLogger("aiohttp.server.strangers")
_LOG.addFilter(lambda it: not (it.exc_info and isinstance(it.exc_info[1], HttpProcessingError)))


class CollectorServer:
    """A server that wraps aiohttp's connections, and sweeps them: no request needs a timer."""

    def __init__(self, handler: Handler, config: Config, meters: Meters) -> None:
        self.meters = meters
        self.slots = ConnectionSlots(config, meters)
        self.headers = answer_headers(config)
        self.connections = set[Connection]()
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._sweeping = asyncio.create_task(self._sweep())
        # No access log: an address beside a time would link what the protocol keeps apart. No
        # decompression: an encoded body is refused, and must not be unpacked only to be discarded.
        self._server = web.Server(
            self._answer,
            access_log=None,
            logger=_LOG,
            auto_decompress=False,
            tcp_keepalive=False,  # the sweep comes sooner
            lingering_time=_LINGER_SECONDS,
            max_line_size=MOST_LINE_BYTES,
            max_field_size=MOST_LINE_BYTES,
            read_bufsize=MAX_UPLOAD_BYTES,
        )

    def __call__(self) -> "Connection":
        """Return the protocol of a new connection."""
        return Connection(self, self._server())

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if not isinstance(request.transport, _Outgoing):
            return web.Response()  # the request's sender is gone
        return await request.transport.connection.answer(request, self._handler)

    async def shutdown(self, seconds: float | None = None) -> None:
        """Finish the requests in progress, except overdue ones; close every connection."""
        try:
            self._server.pre_shutdown()
            await self._server.shutdown(seconds)
        finally:
            self._sweeping.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self._loop.time()
            self._look_for_descriptors()
            for connection in list(self.connections):
                try:
                    connection.sweep(now)
                except Exception as error:  # noqa: BLE001 - all others must be swept all the same
                    self._loop.call_exception_handler(
                        {"message": "a connection's age could not be checked", "exception": error}
                    )

    def _look_for_descriptors(self) -> None:
        """Log a lack of descriptors for new connections: uvloop closes these silently."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            self._loop.call_exception_handler({"message": NO_DESCRIPTORS, "exception": error})


class _Outgoing(asyncio.Transport):
    """The transport for aiohttp: only this server's answers pass through."""

    def __init__(self, connection: "Connection", stream: asyncio.Transport) -> None:
        self.connection = connection
        self.stream = stream

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.stream.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self.stream.is_closing()

    def close(self) -> None:
        self.stream.close()

    def pause_reading(self) -> None:
        self.connection.read_on(filled=True)

    def resume_reading(self) -> None:
        self.connection.read_on(filled=False)

    def write(self, data: Any) -> None:
        if self.connection.answering:
            self.stream.write(data)
        else:
            self.connection.refuse()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))


class Connection(asyncio.Protocol):
    """A wrapper around aiohttp's connection, with a time at which it is overdue."""

    def __init__(self, server: CollectorServer, inner: asyncio.Protocol) -> None:
        self.transport: asyncio.Transport | None = None
        self.answering = False
        self._server, self._inner, self._slots = server, inner, server.slots
        self._loop = asyncio.get_running_loop()
        self._request: web.BaseRequest | None = None
        self._task: asyncio.Task[Any] | None = None  # computes the answer
        self._held = bytearray()  # received, and not yet passed to aiohttp
        self._given = False  # whether aiohttp has its head
        self._body_left = 0
        self._body_ended = False  # whether the body's reader knows that no more of it comes
        self._filled = False  # whether aiohttp wants no more of a body for now
        self._paused = False  # whether reading from the socket is paused
        self._over = False  # whether reading has ended
        self._overdue_at = self._loop.time() + HEAD_SECONDS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or turn it away if there are too many."""
        stream = self.transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        # After drain() nothing written is left unread in this process.
        stream.set_write_buffer_limits(high=1)
        peer, *_ = transport.get_extra_info("peername") or ("",)
        if not self._slots.enter(self, peer):
            self._hang_up(problem(RefusalCode.OVERLOADED, "too many connections; try again later"))
        else:
            self._inner.connection_made(_Outgoing(self, stream))

    def data_received(self, data: bytes) -> None:
        """Receive bytes; the first ones after an answer start the next request's time."""
        if not self._over:
            searched = len(self._held)
            self._held += data
            self._pass_on(searched)

    def _pass_on(self, searched: int = 0) -> None:
        """Pass allowed bytes to aiohttp; stop reading while too much is left."""
        if not self._given:
            self._give_head(searched)
        elif self._body_left:
            self._inner.data_received(self._take(self._body_left))
        self.read_on(filled=self._filled)

    def read_on(self, *, filled: bool) -> None:
        """Read from the socket unless aiohttp is full, or too much is left for it here."""
        self._filled = filled
        paused = filled or len(self._held) > 2 * MAX_UPLOAD_BYTES
        if paused is not self._paused and self.transport is not None:
            self._paused = paused
            (self.transport.pause_reading if paused else self.transport.resume_reading)()

    def _give_head(self, searched: int) -> None:
        """Pass the next head to aiohttp once it is complete, with the received part of its body."""
        if not searched:
            self._overdue_at = self._loop.time() + HEAD_SECONDS
        try:
            head = take_head(self._held, searched)
        except BadHead as error:
            self.refuse(*error.args)
            return
        if head is not None:
            self._given = True
            text, self._body_left = head
            self._inner.data_received(text + self._take(self._body_left))

    def _take(self, most: int) -> bytes:
        part = bytes(self._held[:most])
        del self._held[:most]
        self._body_left -= len(part)
        return part

    async def answer(self, request: web.BaseRequest, handler: Handler) -> web.Response:
        """Have the request with this head answered, and send the answer."""
        self._request, self._task, self._body_ended = request, asyncio.current_task(), False
        if request.content.is_eof():
            self.work()
        else:
            self._overdue_at = self._loop.time() + BODY_SECONDS
        answer = await handler(request)
        await self._send(request, answer)
        return answer

    def work(self) -> None:
        """Start the answer's time: the request is complete."""
        self._overdue_at = self._loop.time() + ANSWER_SECONDS
        self._slots.works(self)

    async def _send(self, request: web.BaseRequest, answer: web.Response) -> None:
        """Send the answer; then start the time between requests."""
        complete(answer.headers, self._server.headers)
        content, body = request.content, answer.body or b""
        if not content.is_eof() or request.method == "CONNECT":
            answer.force_close()
        assert isinstance(body, bytes)
        self._slots.waits(self)
        self.answering = True
        try:
            if len(body) > SLICE_BYTES and request.method != "HEAD":
                await _write_slices(request, answer, body)
            else:
                await answer.prepare(request)
            await answer.write_eof()
        except ConnectionError:
            pass  # aiohttp gets the same error, and ends
        finally:
            self.answering = False
            self._body_ended = True  # aiohttp reads its rest for some seconds, and closes
            self._overdue_at = self._loop.time() + 2 * _LINGER_SECONDS
            if content.is_eof() and answer.keep_alive and not self._over:
                self._request = self._task = None
                self._given = False
                self._overdue_at = self._loop.time() + IDLE_SECONDS
                if self._held:
                    self._pass_on()

    def pause_writing(self) -> None:
        """Have aiohttp wait until its last slice is sent."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Let aiohttp continue to write."""
        self._inner.resume_writing()

    def sweep(self, now: float) -> None:
        """End the connection, or a request's body, if it is overdue at this time of the loop."""
        if now < self._overdue_at:
            return
        request = self._request
        if request is not None and not request.content.is_eof() and not self._body_ended:
            # The body's reader gets this error, and answers with a problem.
            self._body_ended = True
            self._overdue_at = now + ANSWER_SECONDS
            request.content.set_exception(TimeoutError())
            return
        if not self._over:
            self._server.meters.connections_overdue.inc()
        if request is None and (self._held or self._given) and not self._over:
            self._hang_up(problem(RefusalCode.TIMEOUT, "the request took too long to arrive"))
        else:
            self.evict()

    def refuse(self, detail: str = "not an HTTP request") -> None:
        """Hang up on anything that is not HTTP, or when aiohttp reports a failed handler."""
        if self._request is None:
            self._server.meters.requests_refused[RefusalCode.MALFORMED].inc()
            self._hang_up(problem(RefusalCode.MALFORMED, detail))
        else:
            self._hang_up(plain_problem(500, "internal error"))

    def _hang_up(self, answer: web.Response) -> None:
        """Send a last answer, and close; a client that reads nothing is cut off by a sweep."""
        self._over = True
        self._overdue_at = self._loop.time() + _LINGER_SECONDS
        if self.transport is not None:
            self.transport.write(bare_answer(answer, self._server.headers))
            self.transport.close()

    def evict(self) -> None:
        """Close, and discard bytes that the client has not read; they would otherwise be kept."""
        self._over = True
        self._overdue_at = math.inf
        if self.transport is not None:
            held = self.transport.get_extra_info("socket")
            if held is not None:  # otherwise the kernel would continue to offer it
                held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002
        """Release the connection, and stop computing an answer that nobody will read."""
        self._over, self.transport = True, None
        self._server.connections.discard(self)
        self._slots.leave(self)
        self._inner.connection_lost(None)
        # A received report is stored and counted, whether or not its sender is still there.
        if self._task is not None and self._request is not None and self._request.method != "POST":
            self._task.cancel()


async def read_body(request: web.BaseRequest) -> bytes:
    """Return the body, and start the answer's time.

    Raises:
        HTTPRequestEntityTooLarge, RequestPayloadError, TimeoutError, ConnectionError: if the body
            is too large, malformed or truncated, too slow, or its sender is gone.
    """
    transport, content, body = request.transport, request.content, b""
    if not isinstance(transport, _Outgoing):
        raise ConnectionResetError
    unfinished = not content.is_eof()
    if unfinished and "Expect" in request.headers and request.version >= HttpVersion11:
        transport.stream.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    while not content.at_eof():
        body += await content.readany()
        if len(body) > MAX_UPLOAD_BYTES:
            raise web.HTTPRequestEntityTooLarge(MAX_UPLOAD_BYTES, len(body))
    if unfinished:
        transport.connection.work()
    return body


async def _write_slices(request: web.BaseRequest, answer: web.Response, body: bytes) -> None:
    """Write a large body in slices, without copying it: many answers may share it."""
    answer.headers["Content-Length"] = str(len(body))
    answer.body = None
    await answer.prepare(request)
    for start in range(0, len(body), SLICE_BYTES):
        await answer.write(memoryview(body)[start : start + SLICE_BYTES])
        await request.writer.drain()
