"""The parties behind the network, real but for their sockets, each with its log."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from deniable.messages.gateway import GATEWAY_PATH
from deniable.oblivious_http import BinaryRequest, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import REQUEST_TYPE, ResponseOpener
from deniable.server.sealed_requests import decode_request, open_request
from tests.system.simulation.wire import Wire
from tests.unlinkability.active import UNANSWERED
from tests.unlinkability.logs import Entry, Log
from tests.unlinkability.servers import RELAY_ADDRESS, Clock

Opened = tuple[BinaryRequest, BinaryResponse]

_HEAD: Final = b"\r\n\r\n"


class Party:
    """A server that is reached through wires, and writes down what comes."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        server: Any,
        clock: Clock,
        unanswered: Callable[[bytes], bool],
        opened: Callable[[bytes, bytes], Opened] | None = None,
    ) -> None:
        self.log: Log = []
        self._loop = loop
        self._server = server
        self._clock = clock
        self._unanswered = unanswered
        self._opened = opened

    def exchange(self, device: int, peer: str, request: bytes) -> bytes:
        """Answer the bytes of a request, and note both."""
        if self._unanswered(request):
            answer = UNANSWERED
        else:
            answer = self._loop.run_until_complete(self._through_wire(peer, request))
        opened = None if self._opened is None else self._opened(request, answer)
        self.log.append(Entry(self._clock(), peer, request, answer, device, opened))
        return answer

    async def _through_wire(self, peer: str, request: bytes) -> bytes:
        wire = Wire(self._server, peer)
        await asyncio.sleep(0)  # a connection lives for a turn of the event loop at least
        wire.send(request)
        answer = await wire.answered
        wire.lose()
        assert answer is not None
        return answer


class Relay:
    """A relay: passes contents on, and nothing of the heads; it too writes down what comes."""

    def __init__(self, collector: Party, clock: Clock) -> None:
        self.log: Log = []
        self._collector = collector
        self._clock = clock

    def exchange(self, device: int, peer: str, request: bytes) -> bytes:
        """Pass on what a device has sent, and the answer to it."""
        content = request.partition(_HEAD)[2]
        head = f"POST {GATEWAY_PATH} HTTP/1.1\r\nHost: collector\r\nContent-Type: {REQUEST_TYPE}"
        head += f"\r\nContent-Length: {len(content)}\r\n\r\n"
        answer = self._collector.exchange(device, RELAY_ADDRESS, head.encode() + content)
        self.log.append(Entry(self._clock(), peer, request, answer, device))
        return answer


def opened_by(keys: Mapping[int, PrivateKey]) -> Callable[[bytes, bytes], Opened]:
    """Return what reads an exchange as whoever holds these keys can."""

    def opened(request: bytes, answer: bytes) -> Opened:
        message, exchange = open_request(keys, request.partition(_HEAD)[2])
        if answer == UNANSWERED:
            return decode_request(message), BinaryResponse(503)
        opener = ResponseOpener.__new__(ResponseOpener)  # both sides have the same secrets
        for secret in ("_encapsulated", "_exporter_secret"):
            setattr(opener, secret, getattr(exchange, secret))
        content = opener.open(answer.partition(_HEAD)[2])
        return decode_request(message), BinaryResponse.decode(content)

    return opened
