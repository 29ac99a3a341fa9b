"""A fake collector with a gateway, and a relay before it, on sockets of 127.0.0.1."""

import http.client
import os
from contextlib import closing, suppress
from typing import Self

from deniable.counterparts.loopback import Answer, Incoming, LoopbackServer
from deniable.counterparts.signing import sign_gateway_keys
from deniable.fakes import FakeCollector, ReceivedRequest
from deniable.messages.gateway import GATEWAY_PATH, GatewayKeys, encapsulated_answer_bytes
from deniable.oblivious_http import KeyConfiguration, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
)
from deniable.server.sealed_requests import decode_request, open_request


class GatewayCollector(FakeCollector):
    """A collector that opens what comes through a relay, and answers all else directly."""

    def __init__(self) -> None:
        super().__init__()
        self._private = PrivateKey(os.urandom(32))
        keys = GatewayKeys(self.origin, 1, (KeyConfiguration(1, self._private.public_key),))
        self.gateway_keys = sign_gateway_keys(keys, self._key)

    def _respond(self, request: ReceivedRequest) -> Answer | None:
        if request.path != GATEWAY_PATH:
            return super()._respond(request)
        message, sealer = open_request({1: self._private}, request.body)
        inner = decode_request(message)
        opened = ReceivedRequest(inner.method, inner.path, dict(inner.headers), inner.body)
        answer = super()._respond(opened)
        assert answer is not None
        response = BinaryResponse(answer.status, answer.headers, answer.body)
        size = encapsulated_answer_bytes(len(response.encode()) + RESPONSE_OVERHEAD_BYTES)
        sealed = sealer.seal(response.encode(padded_to=size - RESPONSE_OVERHEAD_BYTES))
        return Answer(200, sealed, (("content-type", RESPONSE_TYPE),))


class Relay:
    """A relay that passes on what it gets, or gives an answer of its own."""

    def __init__(self, collector: str) -> None:
        self._collector = collector.removeprefix("http://")
        self._server = LoopbackServer(self._respond)
        self.url = f"{self._server.origin}/relay"
        self.answer: Answer | None = None
        self.close = self._server.stop

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _respond(self, request: Incoming) -> Answer | None:
        if self.answer is not None:
            return self.answer
        upstream = http.client.HTTPConnection(self._collector, timeout=20)
        with closing(upstream), suppress(OSError, http.client.HTTPException):
            upstream.request("POST", GATEWAY_PATH, request.body, {"Content-Type": REQUEST_TYPE})
            with upstream.getresponse() as response:
                kind = "content-type", response.headers.get("content-type", "")
                return Answer(response.status, response.read(), (kind,))
        return None
