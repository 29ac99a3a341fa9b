"""The network: the device's own HTTP client, on connections that are no sockets."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

_EXCHANGE = "deniable.client.sending.http_exchange"


class Network:
    """Leads every connection to one host.

    Attributes:
        host: returns the bytes of an answer to those of a request, heads included.
    """

    def __init__(self) -> None:
        self.host: Callable[[bytes], bytes] = lambda _request: b""
        self.reached: set[object] = set()  # addresses and ports

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Let the client's connections lead here."""

        def connect(_deadline: float, address: object, *_: object) -> _Socket:
            self.reached.add(address)
            return _Socket(self.host)

        with (
            mock.patch(f"{_EXCHANGE}.connect_by", connect),
            mock.patch(f"{_EXCHANGE}._reachable", side_effect=lambda *_: iter([()])),
        ):
            yield


class _Socket:
    """The device's end of a connection: the host answers once the answer is read."""

    def __init__(self, host: Callable[[bytes], bytes]) -> None:
        self._host = host
        self._sent = b""
        self._answer: io.BytesIO | None = None

    def sendall(self, data: bytes) -> None:
        self._sent += data

    def recv_into(self, buffer: memoryview) -> int:
        if self._answer is None:
            self._answer = io.BytesIO(self._host(self._sent))
        return self._answer.readinto(buffer)

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO()

    def settimeout(self, _seconds: float) -> None:
        """Do nothing: who is asked answers at once."""

    setsockopt = close = lambda *_: None
