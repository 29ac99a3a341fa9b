"""A relay inside a test, and the gateway of the collector behind it."""

import http.client
import os
import socket
from collections.abc import Callable
from contextlib import closing, suppress

from deniable.client import HttpAnswer
from deniable.client.sending.transport import REQUEST_SECONDS
from deniable.fakes.loopback import LoopbackDouble, ReceivedRequest, pack_answer
from deniable.messages import PROBLEM_JSON
from deniable.messages.gateway import (
    GATEWAY_PATH,
    MAX_ENCAPSULATED_ANSWER_BYTES,
    encapsulated_answer_bytes,
)
from deniable.oblivious_http import (
    KEY_PROBLEM,
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
    BinaryRequest,
    BinaryResponse,
    KeyConfiguration,
    ObliviousHttpError,
    PrivateKey,
    open_request,
)

Seal = Callable[[HttpAnswer], HttpAnswer]
_NOT_OPENED = HttpAnswer(
    400, {"content-type": PROBLEM_JSON}, f'{{"type": "{KEY_PROBLEM}"}}'.encode()
)


class FakeGateway:
    """A gateway with a key of its own."""

    def __init__(self) -> None:
        self._key = PrivateKey(os.urandom(32))
        self.configuration = KeyConfiguration(1, self._key.public_key)

    def open(self, request: ReceivedRequest) -> tuple[ReceivedRequest, Seal]:
        """Return the request to answer, and what makes its answer of the collector's.

        What came by no relay is answered as it is; what does not open, not at all.
        """
        if (request.method, request.path) != ("POST", GATEWAY_PATH):
            return request, lambda answer: answer
        try:
            message, sealer = open_request({1: self._key}, request.body)
            inner = BinaryRequest.decode(message)
        except ObliviousHttpError:
            return request, lambda _: _NOT_OPENED

        def seal(answer: HttpAnswer) -> HttpAnswer:
            fields = tuple((name.lower(), value) for name, value in answer.headers.items())
            response = BinaryResponse(answer.status, fields, answer.body)
            size = len(response.encode()) + RESPONSE_OVERHEAD_BYTES
            if size <= MAX_ENCAPSULATED_ANSWER_BYTES:  # or it is one that no device takes
                size = encapsulated_answer_bytes(size)
            sealed = sealer.seal(response.encode(padded_to=size - RESPONSE_OVERHEAD_BYTES))
            return HttpAnswer(200, {"content-type": RESPONSE_TYPE}, sealed)

        return ReceivedRequest(inner.method, inner.path, dict(inner.headers), inner.body), seal


class FakeRelay(LoopbackDouble):
    """An in-process relay to a :class:`FakeCollector`, on an ephemeral port of 127.0.0.1.

    Use it inside of the collector's context::

        with FakeCollector() as collector, FakeRelay(collector.origin) as relay:
            Client(
                collector.origin, relay=relay.url, gateway_keys=collector.gateway_keys, ...
            )

    ``requests`` of the relay are what a relay sees; those of the collector are what was inside.
    """

    def __init__(self, collector: str) -> None:
        super().__init__()
        self._collector = collector.removeprefix("http://")
        self.url = f"{self._server.origin}/relay"
        self.answer: HttpAnswer | None = None  # what it answers itself from now on, if anything

    def __repr__(self) -> str:
        return f"FakeRelay({self.url!r}, requests={len(self._requests)})"

    def _respond(self, request: ReceivedRequest, connection: socket.socket) -> None:
        with self._changed:
            self._requests.append(request)
        answer = self._pass_on(request.body) if self.answer is None else self.answer
        if answer is not None:
            connection.sendall(pack_answer(answer))

    def _pass_on(self, body: bytes) -> HttpAnswer | None:
        upstream = http.client.HTTPConnection(self._collector, timeout=REQUEST_SECONDS)
        with closing(upstream), suppress(OSError, http.client.HTTPException):
            upstream.request("POST", GATEWAY_PATH, body, {"Content-Type": REQUEST_TYPE})
            with upstream.getresponse() as response:
                kind = {"content-type": response.headers.get("content-type", "")}
                return HttpAnswer(response.status, kind, response.read())
        return None
