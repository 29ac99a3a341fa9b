"""Connections, each of which is bounded in time and all of which are bounded in number.

aiohttp bounds neither how long a request's head may take nor how many connections there are, and
its own answer to bytes that are no HTTP repeats them. A sweep once a second closes what is overdue,
so that a request costs no timer.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from deniable.messages import MAX_UPLOAD_BYTES, RefusalCode
from deniable.server.headers import complete
from deniable.server.limits import Limits
from deniable.server.meters import Meters
from deniable.server.problems import bare_problem, plain_problem, problem
from deniable.server.routing import Route

__all__ = ["CollectorServer", "Connection"]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_SWEEP_SECONDS: Final = 1.0
_LINGER_SECONDS: Final = 5.0
"""How long a refused body is still read, so that its sender gets to see why."""
_MOST_HEADERS: Final = 64
_MOST_LINE_BYTES: Final = 8_190


class Connection(web.RequestHandler):
    """One connection: aiohttp's, with a time at which it is overdue.

    Args:
        server: whose connection it is.
        loop: the running event loop.
        options: aiohttp's.
    """

    __slots__ = ("_limits", "_overdue_at", "_request", "_server", "_told", "_unread")

    def __init__(
        self, server: "CollectorServer", loop: asyncio.AbstractEventLoop, **options: Any
    ) -> None:
        super().__init__(server, loop=loop, **options)
        self._server = server
        self._limits = server.limits
        self._request: web.BaseRequest | None = None
        self._told = self._unread = False
        self._overdue_at = loop.time() + self._limits.head_seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or turn it away if there are too many."""
        super().connection_made(transport)
        self._server.meters.count("connections")
        if len(self._server.connections) > self._limits.connections:
            self._server.meters.count("connections_refused")
            self._hang_up(RefusalCode.OVERLOADED, "too many connections; send it later")

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let go of the connection."""
        self._server.meters.count("connections", -1)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the first after an answer start the next request's time."""
        if self._request is None and not self._unread:
            self._unread = True
            self._overdue_at = self._loop.time() + self._limits.head_seconds
        super().data_received(data)

    def begin(self, request: web.BaseRequest) -> None:
        """Start a request's time: its head is complete."""
        self._request, self._told, self._unread = request, False, False
        self._overdue_at = self._loop.time() + self._limits.body_seconds

    def answer(self) -> None:
        """Start the answer's time: the body is complete."""
        self._overdue_at = self._loop.time() + self._limits.answer_seconds

    def end(self) -> None:
        """Start the time between requests: the answer is made."""
        self._request = None
        self._overdue_at = self._loop.time() + self._limits.idle_seconds

    def sweep(self, now: float) -> None:
        """End what is overdue at this time of the event loop."""
        if now < self._overdue_at:
            return
        self._overdue_at = math.inf
        request = self._request
        if request is not None and not request.content.is_eof() and not self._told:
            # Whoever reads the body gets this, and answers with a problem.
            self._told = True
            request.content.set_exception(TimeoutError())
            self._overdue_at = now + self._limits.body_seconds
            return
        self._server.meters.count("connections_overdue")
        if request is None and self._unread:
            self._hang_up(RefusalCode.TIMEOUT, "the request took too long to arrive")
        else:
            self.force_close()

    def _hang_up(self, code: RefusalCode, detail: str) -> None:
        if self.transport is not None:
            self.transport.write(bare_problem(code, detail, self._server.headers))
        self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature, here and below
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """Answer what is no HTTP, without repeating or logging it."""
        if status == 400:
            self._server.meters.count_code("requests_refused", RefusalCode.MALFORMED)
            answer = problem(RefusalCode.MALFORMED, "this is no HTTP request")
        else:
            answer = plain_problem(status, "internal error")
        complete(answer.headers, self._server.headers)
        answer.force_close()
        return answer


class CollectorServer(web.Server):
    """aiohttp's low-level server with bounded connections.

    Args:
        handler: answers a request whose head has come.
        routes: what it answers; for the documentation.
        limits: of the connections.
        meters: what is counted.
        headers: what every answer carries, unless it says it otherwise.
    """

    def __init__(
        self,
        handler: Handler,
        routes: Sequence[Route],
        limits: Limits,
        meters: Meters,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(handler, request_factory=self._request)
        self.routes = routes
        self.limits = limits
        self.meters = meters
        self.headers = headers
        self._sweeping: asyncio.Task[None] | None = None

    def __call__(self) -> Connection:
        """Return the protocol of a new connection."""
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        # No access log: an address beside a time would link what the protocol keeps apart.
        # No decompression: an encoded body is refused, and must not be unpacked to be thrown away.
        return Connection(
            self,
            self._loop,
            access_log=None,
            auto_decompress=False,
            lingering_time=_LINGER_SECONDS,
            max_headers=_MOST_HEADERS,
            max_line_size=_MOST_LINE_BYTES,
            max_field_size=_MOST_LINE_BYTES,
        )

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Finish the requests under way; then close every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        await super().shutdown(timeout)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self._loop.time()
            for connection in self.connections:
                assert isinstance(connection, Connection)
                connection.sweep(now)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            self._loop,
            client_max_size=MAX_UPLOAD_BYTES,
        )
