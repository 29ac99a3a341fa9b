"""One kept connection to the collector: a request, its answer, and then the next."""

import asyncio
from collections.abc import Callable
from typing import Final, cast

Answer = tuple[int, bytes]
"""Status and body."""

ANSWER_SECONDS: Final = 30.0


class DeviceConnection(asyncio.Protocol):
    """A connection from which at most one request is under way; ``gone`` is told of its loss."""

    def __init__(self, gone: Callable[["DeviceConnection"], None]) -> None:
        self.deadline = 0.0
        self._gone = gone
        self._answered: Callable[[Answer | None], None] | None = None
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of it."""
        # By uvloop's own class it is none of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def request(self, data: bytes, now: float, answered: Callable[[Answer | None], None]) -> None:
        """Send a request, whole or not; ``answered`` gets None if the connection is lost before."""
        self.deadline = now + ANSWER_SECONDS
        if self._transport is None:  # lost between its opening and now
            answered(None)
            return
        self._answered = answered
        self._transport.write(data)

    def cut(self) -> None:
        """Close it at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    def hang_up(self) -> None:
        """Close it once everything is sent."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Read the answer."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) >= length:
            self._received = b""
            self.deadline = 0.0
            answered, self._answered = self._answered, None
            if b"connection: close" in head.lower():
                self.hang_up()
            if answered is not None:
                answered((int(head.split(maxsplit=2)[1]), body))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell whoever waits."""
        self._transport = None
        answered, self._answered = self._answered, None
        self._gone(self)
        if answered is not None:
            answered(None)
