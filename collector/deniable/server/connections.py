"""Connections, each bounded in time and memory; and whatever leans on aiohttp's insides.

aiohttp does not bound how long a request's head may take, and its own answer to bytes that are no
HTTP repeats them.

What holds, whatever is sent:

N1. Every connection is at any time arriving (a head, a body), being answered, or idle, and each of
    these has its end: by a sweep, if nothing else ends it.
N2. Whoever does not read is cut off: what waits to be sent never outlives its time, nor does the
    slots' budget; at most a slice of it is in our hands, and some more in the kernel's.
N3. Every answer is one of ours; whatever cannot be parsed is answered with 400, and is the last.
N4. Nothing is read behind a request whose end is open to doubt (its body had not come when it was
    answered, or came in chunks; CONNECT): what a proxy takes for a body is never a request here.
"""

import asyncio
import math
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.payload import Payload

from deniable.directory import Config
from deniable.messages import MAX_UPLOAD_BYTES, RefusalCode
from deniable.server.limits import SLICE_BYTES, ConnectionSlots
from deniable.server.metrics import Meters
from deniable.server.problems import answer_headers, bare_problem, complete, plain_problem, problem

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

HEAD_SECONDS: Final = 10.0
"""How long a request's head may take, or a handshake: a few packets, over a poor mobile network."""
BODY_SECONDS: Final = 10.0
"""How long a request's body may take: 64 KiB at most."""
ANSWER_SECONDS: Final = 120.0
"""How long it may take to make an answer, and to read it: the largest have some MiB."""
IDLE_SECONDS: Final = 60.0
"""How long a connection may wait for its next request: longer than a proxy in front keeps it."""
_LINGER_SECONDS: Final = 5.0
"""How long a refused body is still read, so that its sender gets to see why."""
_MOST_HEADERS: Final = 64
_MOST_LINE_BYTES: Final = 8_190
_MOST_HEAD_BYTES: Final = 32_768
_MOST_BUFFERED: Final = 65_536
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_NO_LINGERING: Final = struct.pack("ii", 1, 0)
_SWEEP_SECONDS: Final = 1.0
NO_DESCRIPTORS: Final = "socket.accept() out of system resource"
"""How asyncio says that file descriptors ran out, and we: it is logged once for all."""
_OTHER_VERSION: Final = "Bad status line:\n  Invalid HTTP version:"
"""How aiohttp says that the version is one, but none that its parser in C knows."""


class _Slices(Payload):
    """A large body that any number of answers share: sent by slices, of which none copies it."""

    _value: bytes

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the bytes as text."""
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write a slice at a time, each once the connection has taken the one before."""
        whole = memoryview(self._value)
        for start in range(0, len(whole), SLICE_BYTES):
            await writer.write(whole[start : start + SLICE_BYTES])
            await writer.drain()


class CollectorServer(web.Server):
    """aiohttp's low-level server, which sweeps its connections: so no request costs a timer."""

    def __init__(self, handler: Handler, config: Config, meters: Meters) -> None:
        request = partial(
            web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=MAX_UPLOAD_BYTES
        )
        super().__init__(handler, request_factory=request)
        self.meters = meters
        self.slots = ConnectionSlots(config, meters)
        self.headers = answer_headers(config)
        self._sweeping: asyncio.Task[None] | None = None

    def connection_lost(
        self,
        handler: web.RequestHandler,
        exc: BaseException | None = None,  # noqa: ARG002
    ) -> None:
        """Forget a connection, whose place is free at once: aiohttp waits for its handler."""
        self._connections.pop(handler, None)

    def __call__(self) -> "Connection":
        """Return the protocol of a new connection."""
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        return Connection(self, self._loop)

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Finish the requests under way, but those that are overdue; close every connection."""
        try:
            await super().shutdown(timeout)
        finally:
            if self._sweeping is not None:
                self._sweeping.cancel()
                self._sweeping = None

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self._loop.time()
            self._look_for_descriptors()
            for connection in self.connections:
                assert isinstance(connection, Connection)
                try:
                    connection.sweep(now)
                except Exception as error:  # noqa: BLE001 - all others must be swept all the same
                    self._loop.call_exception_handler(
                        {"message": "a connection could not be swept", "exception": error}
                    )

    def _look_for_descriptors(self) -> None:
        """Say so if there are none for whoever comes: uvloop hangs up on him without a word."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            self._loop.call_exception_handler({"message": NO_DESCRIPTORS, "exception": error})


class Connection(web.RequestHandler):
    """One connection: aiohttp's, with a time at which it is overdue."""

    __slots__ = (
        *("_slots", "_meters", "_headers", "_socket", "_stream", "_request", "_parsed"),
        *("_head_bytes", "_body_ended", "_reading_held", "_hanging_up", "_overdue_at"),
    )

    def __init__(self, server: CollectorServer, loop: asyncio.AbstractEventLoop) -> None:
        # No access log: an address beside a time would link what the protocol keeps apart.
        # No decompression: an encoded body is refused, and must not be unpacked to be thrown away.
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]
            auto_decompress=False,
            lingering_time=_LINGER_SECONDS,
            max_headers=_MOST_HEADERS,
            max_line_size=_MOST_LINE_BYTES,
            max_field_size=_MOST_LINE_BYTES,
            read_bufsize=_MOST_BUFFERED,
        )
        self._slots, self._meters, self._headers = server.slots, server.meters, server.headers
        self._socket: socket.socket | None = None
        # aiohttp forgets its own before the last bytes are sent.
        self._stream: asyncio.Transport | None = None
        self._request: web.BaseRequest | None = None
        self._parsed = False  # a request's head has come, and its answer is not made
        self._head_bytes = 0  # of the head that is arriving, or behind the request being answered
        self._body_ended = False  # whoever reads the body was told that no more of it comes
        self._reading_held = False  # nothing is read from the socket before the answer
        self._hanging_up = False  # a problem was sent, and the connection closes
        self._overdue_at = loop.time() + HEAD_SECONDS

    def shake_hands(self, accepted: socket.socket, peer: str) -> bool:
        """Take a place for the handshake before the connection; return False if there is none."""
        self._socket = accepted
        return self._slots.enter(self, peer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or turn it away if there are too many."""
        super().connection_made(transport)
        assert self.transport is not None
        self._stream = self.transport
        # Nothing written is unread in our hands once drain() has returned.
        self._stream.set_write_buffer_limits(high=1)
        peer, *_ = transport.get_extra_info("peername") or ("",)
        if self._socket is None and not self._slots.enter(self, peer):
            self._hang_up(RefusalCode.OVERLOADED, "too many connections; send it later")

    def data_received(self, data: bytes) -> None:
        """Take bytes; the first after an answer start the next request's time."""
        request = self._request
        if not self._parsed:
            if not self._head_bytes:
                self._overdue_at = self._loop.time() + HEAD_SECONDS
            self._head_bytes += len(data)
        elif request is not None and request.content.is_eof():
            # Nothing more is read before the answer, if enough has come behind its request.
            self._head_bytes += len(data)
            if (
                self._head_bytes > _MOST_BUFFERED
                and not self._reading_held
                and self.transport is not None
            ):
                self._reading_held = True
                self.transport.pause_reading()
        super().data_received(data)
        if self._messages:
            self._parsed = True
            if request is not None:
                self._look_at_body(request)
        elif not self._parsed and self._head_bytes > _MOST_HEAD_BYTES:
            self._meters.requests_refused[RefusalCode.MALFORMED].inc()
            self._hang_up(RefusalCode.MALFORMED, "the request's head is too large")

    def _look_at_body(self, request: web.BaseRequest) -> None:
        """End the body of a request for its reader, if no more of it will come.

        Nothing is parsed behind an incomplete body but the error that ends it.
        """
        if self._messages and not request.content.is_eof():
            if self._body_ended:
                request.content.feed_eof()  # it is read to be thrown away
            else:
                self._body_ended = True
                request.content.set_exception(web.RequestPayloadError())

    def begin(self, request: web.BaseRequest) -> None:
        """Start a request's time: its head is complete."""
        self._request, self._body_ended, self._head_bytes = request, False, 0
        if request.content.is_eof():
            self._work()
        else:
            self._overdue_at = self._loop.time() + BODY_SECONDS
            self._look_at_body(request)

    async def read(self, request: web.BaseRequest) -> bytes:
        """Return the body, and start the answer's time.

        Raises:
            HTTPRequestEntityTooLarge, RequestPayloadError, TimeoutError, ConnectionError: if it is
                too large, malformed or cut short, too slow, or its sender is gone.
        """
        if "Expect" in request.headers and request.version >= HttpVersion11:
            await request.writer.write(_CONTINUE)
            # aiohttp would take those bytes for the begun answer.
            request.writer.output_size = 0
        if self.transport is None and not request.content.is_eof():
            raise ConnectionResetError  # aiohttp would raise what looks like a mistake of ours
        body = await request.read()
        self._work()
        return body

    def _work(self) -> None:
        self._overdue_at = self._loop.time() + ANSWER_SECONDS
        self._slots.works(self)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the answer; then start the time between requests."""
        complete(resp.headers, self._headers)
        if resp.status == 505:
            request._cache["version"] = HttpVersion11  # or the answer speaks what was asked
        body = request.content
        chunked = "Transfer-Encoding" in request.headers
        if not body.is_eof() or chunked or request.method == "CONNECT":
            # aiohttp takes a chunked body's trailer for the first header of the next request.
            resp.force_close()
        assert isinstance(resp, web.Response)
        said = resp.body or b""
        assert isinstance(said, bytes)
        self._slots.sends(self, said)  # also where it is empty: the request is out of our hands
        if len(said) > SLICE_BYTES:
            resp.body = _Slices(said)
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._slots.sent(self)
            if isinstance(body.exception(), web.RequestPayloadError):
                body.feed_eof()  # aiohttp would read on, fail, and log it
            if body.is_eof():
                self._end()
            else:
                # aiohttp reads the rest for some seconds, and closes.
                self._body_ended = True
                self._overdue_at = self._loop.time() + 2 * _LINGER_SECONDS

    def _end(self) -> None:
        self._request, self._head_bytes = None, 0
        self._parsed = bool(self._messages)
        self._overdue_at = self._loop.time() + IDLE_SECONDS
        if self._reading_held:
            self._reading_held = False
            if self.transport is not None and not (self._reading_paused or self._buffer_paused):
                self.transport.resume_reading()

    def sweep(self, now: float) -> None:
        """End the connection, or a request's body, that is overdue at this time of the loop."""
        if now < self._overdue_at:
            return
        request = self._request
        if request is not None and not request.content.is_eof() and not self._body_ended:
            # Whoever reads the body gets this, and answers with a problem.
            self._body_ended = True
            self._overdue_at = now + ANSWER_SECONDS
            request.content.set_exception(TimeoutError())
            return
        if not self._hanging_up:
            self._meters.connections_overdue.inc()
        if request is None and self._head_bytes and not self._hanging_up:
            self._hang_up(RefusalCode.TIMEOUT, "the request took too long to arrive")
        else:
            self._cut_off()

    def _hang_up(self, code: RefusalCode, detail: str) -> None:
        """Answer with the reason, and close; a client that reads nothing is cut off by a sweep."""
        self._hanging_up = True
        self._overdue_at = self._loop.time() + _LINGER_SECONDS
        if self.transport is not None:
            self.transport.write(bare_problem(code, detail, self._headers))
        self.force_close()

    def evict(self) -> None:
        """End at once, for another's sake."""
        if self._stream is not None:
            self._cut_off()
        elif self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # the handshake fails

    def _cut_off(self) -> None:
        """Close, and throw away what was not read, which would be kept for as long as not."""
        self._overdue_at = math.inf
        self.force_close()
        if self._stream is not None:
            held = self._stream.get_extra_info("socket")
            if held is not None:  # the kernel would go on offering it
                held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
            self._stream.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let go of the connection; what nobody will read is not made any more."""
        self._slots.leave(self)
        # A report that has come is stored and counted, whether or not its sender hears of it.
        unread = self._request is not None and self._request.method != "POST"
        task = self._task_handler
        super().connection_lost(exc)
        if unread and task is not None:
            task.cancel()
        self._stream = None

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature, here and below
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """Answer bytes that are no HTTP, without repeating or logging them."""
        if isinstance(exc, BadStatusLine) and exc.message.startswith(_OTHER_VERSION):
            answer = plain_problem(505, "HTTP Version Not Supported")
        elif status == 400:
            self._meters.requests_refused[RefusalCode.MALFORMED].inc()
            answer = problem(RefusalCode.MALFORMED, "this is no HTTP request")
        else:
            answer = plain_problem(status, "internal error")
        answer.force_close()
        return answer
