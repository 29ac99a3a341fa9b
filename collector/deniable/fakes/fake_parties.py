"""An issuer and a relay inside a test, and the gateway of the relay's collector."""

import http.client
import os
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache, partial
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from deniable.client import Enrol, EnrolmentRequest, HttpAnswer
from deniable.client.sending.transport import REQUEST_SECONDS
from deniable.counterparts.bodies import read_token_request
from deniable.counterparts.gateway import decode_request, open_request
from deniable.fakes.loopback import LoopbackDouble, ReceivedRequest, pack_answer
from deniable.messages import PROBLEM_JSON, Enrolment, SigningKey
from deniable.messages.ed25519 import CONTEXT_ENROL
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
    BinaryResponse,
    KeyConfiguration,
    ObliviousHttpError,
    PrivateKey,
)
from deniable.privacy_pass import EXPONENT, MODULUS_BYTES, token_key_id


class FakeIssuer:
    """An issuer like an app's backend, in the test's own process, for ``Client(enrol=issuer)``.

    Use it with a :class:`FakeCollector`::

        issuer = FakeIssuer()
        collector.publish(THEME, enrolment=issuer.enrolment)
        with Client(collector.origin, enrol=issuer, ...) as client:

    ``enrolment`` lists this issuer and its next key. ``FakeIssuer("blind", epochs=2)`` never sees
    the keys that it vouches for, and has a key for each epoch of a survey published with this many
    ``epochs``.
    """

    def __init__(
        self, mode: Literal["certificate", "blind"] = "certificate", *, epochs: int = 1
    ) -> None:
        self._keys = [SigningKey(os.urandom(32)) for _ in range(2)]
        self._given: dict[tuple[str, str, int], bytes] = {}
        self._requests: list[EnrolmentRequest] = []
        self._changed = threading.Condition()
        self.enrolment = (
            Enrolment("blind", issuer="issuer.example", keys=tuple(map(_modulus, range(epochs))))
            if mode == "blind"
            else Enrolment("certificate", tuple(key.public_key for key in self._keys))
        )
        self.error: Exception | None = None  # it raises this from now on
        self.vouches = True  # otherwise it answers None

    def __call__(self, request: EnrolmentRequest) -> bytes | None:
        """Answer for the only account, unless :meth:`account` created others."""
        return self._answer("", request)

    def account(self, name: str) -> Enrol:
        """Return the argument ``enrol`` for the client of this account."""
        return partial(self._answer, name)

    def rotate(self) -> None:
        """Sign certificates with the next key from now on; surveys that list both stay."""
        with self._changed:
            self._keys = self._keys[-1:]

    @property
    def requests(self) -> tuple[EnrolmentRequest, ...]:
        """Return the received requests, in order."""
        with self._changed:
            return tuple(self._requests)

    def await_requests(self, count: int, timeout: float = 10.0) -> tuple[EnrolmentRequest, ...]:
        """Return the requests once there are this many; raise ``TimeoutError`` if too late."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._requests) >= count, timeout):
                raise TimeoutError(
                    f"{len(self._requests)} of {count} requests arrived in {timeout} s; is "
                    "consent on, and delivery_seconds=0?"
                )
            return tuple(self._requests)

    def __repr__(self) -> str:
        return f"FakeIssuer(requests={len(self._requests)})"

    def _answer(self, account: str, request: EnrolmentRequest) -> bytes | None:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            if self.error is not None:
                raise self.error
            slot = account, request.survey, request.epoch
            if not self.vouches or self._given.setdefault(slot, request.body) != request.body:
                return None
            if request.token_request is None:
                return self._keys[0].sign(CONTEXT_ENROL, request.body)
            return self._token(request.token_request)

    def _token(self, body: bytes) -> bytes:
        key, blinded = read_token_request(body)
        epoch = next(
            place
            for place, modulus in enumerate(self.enrolment.keys)
            if token_key_id(modulus)[-1] == key
        )
        n, exponent = _key(epoch)
        return pow(int.from_bytes(blinded), exponent, n).to_bytes(MODULUS_BYTES)


@cache  # takes a tenth of a second, or several
def _key(number: int) -> tuple[int, int]:
    """Return an RSA modulus and its private exponent, the same in all of a process's tests."""
    others = {token_key_id(_modulus(other))[-1] for other in range(number)}
    while True:
        numbers = generate_private_key(EXPONENT, 8 * MODULUS_BYTES).private_numbers()
        n = numbers.public_numbers.n
        if token_key_id(n.to_bytes(MODULUS_BYTES))[-1] not in others:
            return n, numbers.d


def _modulus(number: int) -> bytes:
    return _key(number)[0].to_bytes(MODULUS_BYTES)


Seal = Callable[[HttpAnswer], HttpAnswer]
_NOT_OPENED = HttpAnswer(
    400, {"content-type": PROBLEM_JSON}, f'{{"type": "{KEY_PROBLEM}"}}'.encode()
)


class FakeGateway:
    """A gateway with its own key."""

    def __init__(self) -> None:
        self._key = PrivateKey(os.urandom(32))
        self.configuration = KeyConfiguration(1, self._key.public_key)

    def open(self, request: ReceivedRequest) -> tuple[ReceivedRequest, Seal]:
        """Return the inner request, and the function that seals the collector's answer.

        A request without a relay is answered directly; one that does not open is not answered.
        """
        if (request.method, request.path) != ("POST", GATEWAY_PATH):
            return request, lambda answer: answer
        try:
            message, sealer = open_request({1: self._key}, request.body)
            inner = decode_request(message)
        except ObliviousHttpError:
            return request, lambda _: _NOT_OPENED

        def seal(answer: HttpAnswer) -> HttpAnswer:
            fields = tuple((name.lower(), value) for name, value in answer.headers.items())
            response = BinaryResponse(answer.status, fields, answer.body)
            size = len(response.encode()) + RESPONSE_OVERHEAD_BYTES
            if size <= MAX_ENCAPSULATED_ANSWER_BYTES:  # otherwise no device accepts it
                size = encapsulated_answer_bytes(size)
            sealed = sealer.seal(response.encode(padded_to=size - RESPONSE_OVERHEAD_BYTES))
            return HttpAnswer(200, {"content-type": RESPONSE_TYPE}, sealed)

        return ReceivedRequest(inner.method, inner.path, dict(inner.headers), inner.body), seal


class FakeRelay(LoopbackDouble):
    """An in-process relay to a :class:`FakeCollector`, on an ephemeral port of 127.0.0.1.

    Use it inside the collector's context::

        with FakeCollector() as collector, FakeRelay(collector.origin) as relay:
            Client(
                collector.origin, relay=relay.url, gateway_keys=collector.gateway_keys, ...
            )

    Its ``requests`` are the relay's view; those of the collector are the inner ones.
    """

    def __init__(self, collector: str) -> None:
        super().__init__()
        self._collector = collector.removeprefix("http://")
        self.url = f"{self._server.origin}/relay"
        self.answer: HttpAnswer | None = None  # its own answer from now on, if any

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
