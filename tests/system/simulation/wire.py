"""A connection to a server without a socket: bytes go in, and the answer is read off."""

import asyncio
from typing import Any


class Wire(asyncio.Transport):
    """The server's end of a connection; ``answered`` is None once it is lost."""

    def __init__(self, server: Any, peer: str = "127.0.0.1") -> None:
        super().__init__()
        self._peer = peer
        self.answered: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._written = b""
        self._lost = False
        self._protocol = server()
        self._protocol.connection_made(self)

    def send(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def lose(self) -> None:
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(None)
            if not self.answered.done():
                self.answered.set_result(None)

    def write(self, data: Any) -> None:
        self._written += bytes(data)
        head, found, body = self._written.partition(b"\r\n\r\n")
        if found and not self.answered.done():
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(body) >= length:
                self.answered.set_result(self._written)

    def is_closing(self) -> bool:
        return self._lost

    def close(self) -> None:
        asyncio.get_running_loop().call_soon(self.lose)

    abort = close

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._peer, 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: all that is written is read."""

    def pause_reading(self) -> None:
        """Do nothing: a request has come as a whole."""

    resume_reading = pause_reading
