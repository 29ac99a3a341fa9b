"""Relays: one that fails, one that works, and a later app without one."""

import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import cycle
from typing import Any, Final

from deniable.conformance.hostile_collector import CUT, Answer, HostileCollector
from deniable.conformance.hostile_operator import DAY, declared
from deniable.conformance.replies import problem
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    GatewayKeys,
    RefusalCode,
    Schedule,
    encapsulated_answer_bytes,
    sign_gateway_keys,
)
from deniable.oblivious_http import (
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

NAME: Final = "asked"


class _Relay:
    """A relay with the collector's gateway behind it; it says ``answers`` itself, if any."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._key = PrivateKey(os.urandom(32))
        self.faults: set[str] = set()
        self.bodies: list[bytes] = []
        self.answers: Iterator[Answer | None] | None = None
        self.server = HostileCollector(self._respond, lambda: stage.now)
        keys = GatewayKeys(stage.origin, 1, (KeyConfiguration(1, self._key.public_key),))
        self.settings = {
            "relay": f"{self.server.origin}/relay",
            "gateway_keys": b64encode(sign_gateway_keys(keys, stage.authority)).decode(),
        }

    def _respond(
        self,
        connection: int,
        method: str,
        path: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes,
    ) -> Answer | None:
        if (method, path) != ("POST", "/relay") or ("content-type", REQUEST_TYPE) not in headers:
            self.faults.add(f"the relay got {method} {path}, no sealed request")
        if len(body) != ENCAPSULATED_REQUEST_BYTES:
            self.faults.add(f"a sealed request has {len(body)} bytes")
        if body in self.bodies:
            self.faults.add("a sealed request came twice: each is sealed afresh")
        self.bodies.append(body)
        try:
            message, sealer = open_request({1: self._key}, body)
            inner = BinaryRequest.decode(message)
        except ObliviousHttpError as error:
            self.faults.add(f"a sealed request does not open: {error}")
            return Answer(400)
        fields = tuple(inner.headers)
        request = self._stage.observe(
            connection, inner.method, inner.path, fields, inner.body, relayed=True
        )
        if self.answers is not None:
            return next(self.answers)
        answer = self._stage.answer(request)
        if answer is CUT:
            return CUT
        date = format_datetime(datetime.fromtimestamp(self._stage.now, UTC), usegmt=True)
        response = BinaryResponse(answer.status, (("date", date), *answer.headers), answer.body)
        size = encapsulated_answer_bytes(len(response.encode()) + RESPONSE_OVERHEAD_BYTES)
        sealed = sealer.seal(response.encode(padded_to=size - RESPONSE_OVERHEAD_BYTES))
        return Answer(200, sealed, (("content-type", RESPONSE_TYPE),))


@contextmanager
def _relayed(stage: Stage) -> Iterator[_Relay]:
    relay = _Relay(stage)
    try:
        yield relay
    finally:
        relay.server.stop()


def _open(stage: Stage, more: dict[str, Any]) -> None:
    manifest = stage.manifest(NAME, schedule=Schedule(stage.midnight, DAY, 3, 60 * DAY))
    stage.publish(manifest)
    bundled = [stage.sign(manifest)] if stage.offers.get("fetches") else []
    stage.open([declared(NAME)], manifests=bundled, **more)
    stage.consent()
    stage.run(120)
    stage.must_report(NAME)


def _gone_round(stage: Stage, relay: _Relay) -> Iterator[Conviction]:
    if any(not request.relayed for request in stage.log.requests):
        yield Conviction("D13", "the collector got a request that did not come by the relay")
    for fault in sorted(relay.faults):
        yield Conviction("D13", fault)


@scenario("D13", title="a relay that works", needs=("relay",))
def working(stage: Stage) -> Iterator[Conviction]:
    """Fetches and reports come by the relay, sealed, and of one size."""
    with _relayed(stage) as relay:
        _open(stage, relay.settings)
        stage.deliver(NAME)
        stage.run(2 * DAY)
        yield from _gone_round(stage, relay)
        if len(stage.log.sent(NAME)) > 1:
            yield Conviction("D13", "a report was sent again after a sealed answer that took it")


@scenario("D13", title="a relay that fails", needs=("relay",))
def failing(stage: Stage) -> Iterator[Conviction]:
    """Nothing is sent another way, whatever the relay itself says, and the report waits."""
    with _relayed(stage) as relay:
        taken = Answer(200, b'{"accepted": 1, "duplicates": 0, "refused": []}')
        said = (problem(RefusalCode.MALFORMED), Answer(502), taken, CUT)
        relay.answers = cycle(said)
        _open(stage, relay.settings)
        stage.run(9 * DAY)
        yield from _gone_round(stage, relay)
        sends = len(stage.log.sent(NAME))
        if not sends:
            raise Unjudgeable("the report was not sent")
        if sends == 1:
            yield Conviction("D13", "a word of the relay was taken for the collector's")


@scenario("D13", title="a later app without a relay", needs=("relay",))
def given_up(stage: Stage) -> Iterator[Conviction]:
    """A report drawn under a relay is never sent without one."""
    with _relayed(stage) as relay:
        relay.answers = cycle((Answer(502),))
        _open(stage, relay.settings)
        stage.reopen()
        stage.consent()
        stage.run(3 * 3600)
        stage.reopen()
        stage.run(2 * DAY)
        for sent in stage.log.sent(NAME):
            if not sent.request.relayed:
                yield Conviction("D13", "a report drawn under a relay was sent without one")
        stage.must_report(NAME)
        stage.deliver(NAME)
