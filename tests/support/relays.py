"""A gateway in front of a collector's double, and relays between it and a device."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from deniable.client import HttpAnswer, TransportError
from deniable.counterparts.bodies import pack_logged, pack_problem
from deniable.counterparts.signing import sign_gateway_keys
from deniable.messages import PROBLEM_JSON, RefusalCode, SigningKey
from deniable.messages.gateway import (
    ENCAPSULATED_REQUEST_BYTES,
    GATEWAY_KEYS_PATH,
    GatewayKeys,
    encapsulated_answer_bytes,
)
from deniable.oblivious_http import BinaryRequest, KeyConfiguration, ObliviousHttpError, PrivateKey
from deniable.oblivious_http.binary_http import BinaryResponse
from deniable.oblivious_http.encapsulation import (
    KEY_PROBLEM,
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
)
from deniable.server.sealed_requests import decode_request, open_request
from tests.support.devices import OFFLINE, PORTAL, UNREACHABLE
from tests.support.surveys import AUTHORITY, ORIGIN
from tests.support.transports import Call, TransportDouble

RELAY: Final = "http://127.0.0.1:9/relay?of=all"
"""A relay's URL; the doubles here stand for it."""
SEALED: Final = {"content-type": RESPONSE_TYPE}


class Gateway:
    """The gateway of a collector, which opens what was sealed and passes it on.

    Attributes:
        authority, sequence: by which the list of keys is signed.
        opened: all that was opened, in order.
    """

    def __init__(self, collector: TransportDouble) -> None:
        self.collector = collector
        self.authority: SigningKey = AUTHORITY
        self.sequence = 0
        self.keys: dict[int, PrivateKey] = {}  # the newest last
        self.opened: list[BinaryRequest] = []
        self.proof = b""  # of the list of keys
        self.rotate()

    def rotate(self) -> None:
        """Add a key to the front of the list."""
        self.sequence += 1
        self.keys[self.sequence] = PrivateKey(os.urandom(32))

    def envelope(self, origin: str = ORIGIN) -> bytes:
        """Return the signed list of keys."""
        listed = tuple(KeyConfiguration(n, self.keys[n].public_key) for n in reversed(self.keys))
        return sign_gateway_keys(GatewayKeys(origin, self.sequence, listed), self.authority)

    def answer(self, sealed: bytes) -> HttpAnswer:
        """Answer a sealed request: sealed, if it can be opened."""
        try:
            message, sealer = open_request(self.keys, sealed)
        except ObliviousHttpError:
            problem = json.dumps({"type": KEY_PROBLEM}).encode()
            return HttpAnswer(400, {"content-type": PROBLEM_JSON}, problem)
        request = decode_request(message)
        assert f"{request.scheme}://{request.authority}" == ORIGIN
        self.opened.append(request)
        if request.path == GATEWAY_KEYS_PATH:
            answer = HttpAnswer(200, {}, pack_logged(self.envelope(), self.proof))
        else:
            answer = self.collector.request(
                request.method, request.path, dict(request.headers), request.body, 2 << 20
            )
        response = BinaryResponse(answer.status, tuple(answer.headers.items()), answer.body)
        least = len(response.encode()) + RESPONSE_OVERHEAD_BYTES
        size = encapsulated_answer_bytes(least) - RESPONSE_OVERHEAD_BYTES
        return HttpAnswer(200, SEALED, sealer.seal(response.encode(padded_to=size)))


class Relay(TransportDouble):
    """A relay that does its duty, and notes what it sees."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.seen: list[bytes] = []  # the sealed requests

    def respond(self, call: Call) -> HttpAnswer:
        # All that is ever sent looks like this.
        assert (call.method, call.path) == ("POST", "/relay?of=all")
        assert call.headers == {"Content-Type": REQUEST_TYPE}
        assert len(call.body) == ENCAPSULATED_REQUEST_BYTES
        call.stands()
        self.seen.append(call.body)
        answer = self.treat(call)
        if len(answer.body) > call.most:
            raise TransportError("the answer is too long")
        return answer

    def treat(self, call: Call) -> HttpAnswer:
        return self.gateway.answer(call.body)


class HostileRelay(Relay):
    """A relay that does what it likes at each request; what it does follows from a seed."""

    def __init__(self, gateway: Gateway, rng: random.Random) -> None:
        super().__init__(gateway)
        self.rng = rng
        self.honest = False
        self.fate = ""  # the only one; any if empty
        self.down = 0  # how many of the next requests find nobody
        self.held: list[Call] = []
        self.answers: list[HttpAnswer] = []
        self.fates: Counter[str] = Counter()

    def treat(self, call: Call) -> HttpAnswer:
        if self.honest:
            return super().treat(call)
        if self.down:
            self.down -= 1
            raise UNREACHABLE
        fate = self.fate or self.rng.choice(sorted(FATES))
        self.fates[fate] += 1
        return FATES[fate](self, call)

    def passed_on(self, call: Call) -> HttpAnswer:
        answer = self.gateway.answer(call.body)
        self.answers.append(answer)
        return answer

    def lost(self, call: Call) -> HttpAnswer:
        self.passed_on(call)
        raise UNREACHABLE

    def drops(self, _: Call) -> HttpAnswer:
        raise UNREACHABLE

    def offline(self, _: Call) -> HttpAnswer:
        raise OFFLINE

    def goes_down(self, _: Call) -> HttpAnswer:
        self.down = self.rng.randrange(6)
        raise UNREACHABLE

    def delays(self, call: Call) -> HttpAnswer:
        self.held.append(call)
        raise UNREACHABLE

    def delivers_what_it_held(self, call: Call) -> HttpAnswer:
        self.rng.shuffle(self.held)
        while self.held:
            self.passed_on(self.held.pop())
        return self.passed_on(call)

    def repeats(self, call: Call) -> HttpAnswer:
        return self.rng.choice([self.passed_on(call) for _ in range(3)])

    def replays(self, call: Call) -> HttpAnswer:
        self.passed_on(replace(call, body=self.rng.choice(self.seen)))
        return self.passed_on(call)

    def answers_another(self, _: Call) -> HttpAnswer:
        return self.rng.choice([PORTAL, *self.answers])

    def problem(self, _: Call) -> HttpAnswer:
        code = self.rng.choice([code for code in RefusalCode if code.http_status])
        assert code.http_status is not None
        headers = {"content-type": PROBLEM_JSON, "retry-after": "999999999"}
        return HttpAnswer(code.http_status, headers, pack_problem(code, "says the relay"))

    def numbers(self, _: Call) -> HttpAnswer:
        body = json.dumps({"accepted": 1, "duplicates": 0, "refused": []}).encode()
        kind = self.rng.choice(["application/json", RESPONSE_TYPE])
        headers = {"content-type": kind, "date": "Tue, 01 Jan 2097 00:00:00 GMT"}
        return HttpAnswer(200, headers, body)

    def portal(self, _: Call) -> HttpAnswer:
        return PORTAL

    def altered(self, call: Call) -> HttpAnswer:
        answer = self.passed_on(call)
        bits = bytearray(answer.body)
        bits[self.rng.randrange(len(bits))] ^= 1 << self.rng.randrange(8)
        cut = bits[: self.rng.randrange(len(bits))]
        return replace(answer, body=bytes(self.rng.choice([bits, cut, bits + b"\0" * 9])))

    def oversized(self, call: Call) -> HttpAnswer:
        answer = self.passed_on(call)
        return replace(answer, body=answer.body + bytes(3 << 20))

    def another_status(self, call: Call) -> HttpAnswer:
        return replace(self.passed_on(call), status=self.rng.choice([201, 304, 404, 429, 503]))


FATES: Final[dict[str, Callable[[HostileRelay, Call], HttpAnswer]]] = {
    "passes": HostileRelay.passed_on,
    "loses the answer": HostileRelay.lost,
    "drops": HostileRelay.drops,
    "is not reached": HostileRelay.offline,
    "goes down": HostileRelay.goes_down,
    "delays": HostileRelay.delays,
    "delivers late": HostileRelay.delivers_what_it_held,
    "repeats": HostileRelay.repeats,
    "replays": HostileRelay.replays,
    "gives another's answer": HostileRelay.answers_another,
    "forges a problem": HostileRelay.problem,
    "forges numbers": HostileRelay.numbers,
    "shows a page": HostileRelay.portal,
    "alters the answer": HostileRelay.altered,
    "pours": HostileRelay.oversized,
    "changes the status": HostileRelay.another_status,
}
"""What becomes of a request at a relay that follows no rule."""
