"""Third parties: failing, working and abandoned relays, and the issuers of blind surveys."""

import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate
from itertools import cycle
from random import SystemRandom
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, generate_private_key

from deniable.conformance.hostile_collector import (
    CATEGORIES,
    CUT,
    DAY,
    Answer,
    HostileCollector,
    Incoming,
    declared,
    problem,
)
from deniable.conformance.observations import Conviction
from deniable.conformance.scenarios.noise import FALSE_ALARM, binomial_tail
from deniable.conformance.stage import Stage, Unjudgeable, scenario
from deniable.counterparts.bodies import read_token_request
from deniable.counterparts.gateway import decode_request, open_request
from deniable.counterparts.signing import sign_gateway_keys
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    Enrolment,
    GatewayKeys,
    RefusalCode,
    Schedule,
    encapsulated_answer_bytes,
)
from deniable.oblivious_http import (
    REQUEST_TYPE,
    RESPONSE_OVERHEAD_BYTES,
    RESPONSE_TYPE,
    BinaryResponse,
    KeyConfiguration,
    ObliviousHttpError,
    PrivateKey,
)
from deniable.privacy_pass import EXPONENT, MODULUS_BYTES, InvalidToken, token_key_id
from deniable.privacy_pass import REQUEST_TYPE as TOKEN_REQUEST_TYPE
from deniable.privacy_pass import RESPONSE_TYPE as TOKEN_RESPONSE_TYPE

NAME: Final = "asked"


class _Relay:
    """A relay with the collector's gateway behind it; it gives ``answers`` itself, if any."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._key = PrivateKey(os.urandom(32))
        self.faults: set[str] = set()
        self.bodies: list[bytes] = []
        self.answers: Iterator[Answer | None] | None = None
        self.server = HostileCollector(self._respond, lambda: stage.now)
        self.close = self.server.stop
        keys = GatewayKeys(stage.origin, 1, (KeyConfiguration(1, self._key.public_key),))
        self.settings = {
            "relay": f"{self.server.origin}/relay",
            "gateway_keys": b64encode(sign_gateway_keys(keys, stage.authority)).decode(),
        }

    def _respond(self, came: Incoming) -> Answer | None:
        connection, method, path, headers, body = came
        if (method, path) != ("POST", "/relay") or ("content-type", REQUEST_TYPE) not in headers:
            self.faults.add(f"the relay got {method} {path}, not a sealed request")
        if len(body) != ENCAPSULATED_REQUEST_BYTES:
            self.faults.add(f"a sealed request has {len(body)} bytes")
        if body in self.bodies:
            self.faults.add("the same sealed request arrived twice: each must be sealed afresh")
        self.bodies.append(body)
        try:
            message, sealer = open_request({1: self._key}, body)
            inner = decode_request(message)
        except ObliviousHttpError as error:
            self.faults.add(f"a sealed request cannot be opened: {error}")
            return Answer(400)
        sealed_request = Incoming(
            connection, inner.method, inner.path, tuple(inner.headers), inner.body
        )
        request = self._stage.observe(sealed_request, relayed=True)
        if self.answers is not None:
            return next(self.answers)
        answer = self._stage.answer(request)
        if answer is CUT:
            return CUT
        date = formatdate(self._stage.now, usegmt=True)
        response = BinaryResponse(answer.status, (("date", date), *answer.headers), answer.body)
        size = encapsulated_answer_bytes(len(response.encode()) + RESPONSE_OVERHEAD_BYTES)
        sealed = sealer.seal(response.encode(padded_to=size - RESPONSE_OVERHEAD_BYTES))
        return Answer(200, sealed, (("content-type", RESPONSE_TYPE),))


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
        yield Conviction("D13", "the collector got a request that bypassed the relay")
    for fault in sorted(relay.faults):
        yield Conviction("D13", fault)


@scenario("D13", title="a relay that works", needs=("relay",))
def working(stage: Stage) -> Iterator[Conviction]:
    """Fetches and reports come through the relay, sealed, and of one size."""
    with closing(_Relay(stage)) as relay:
        _open(stage, relay.settings)
        stage.deliver(NAME)
        stage.run(2 * DAY)
        yield from _gone_round(stage, relay)
        if len(stage.log.sent(NAME)) > 1:
            yield Conviction(
                "D13", "a report was sent again after a sealed answer that accepted it"
            )


@scenario("D13", title="a relay that fails", needs=("relay",))
def failing(stage: Stage) -> Iterator[Conviction]:
    """Nothing is sent by another route, whatever the relay itself answers, and the report waits."""
    with closing(_Relay(stage)) as relay:
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
            yield Conviction("D13", "a reply by the relay was accepted as the collector's")


@scenario("D13", title="a later app without a relay", needs=("relay",))
def given_up(stage: Stage) -> Iterator[Conviction]:
    """A report drawn under a relay is never sent without one."""
    with closing(_Relay(stage)) as relay:
        relay.answers = cycle((Answer(502),))
        _open(stage, relay.settings)
        stage.reopen()
        stage.consent()
        stage.run(3 * 3600)
        stage.reopen()
        stage.run(2 * DAY)
        for sent in stage.log.sent(NAME):
            if not sent.request.relayed:
                yield Conviction("D13", "a report drawn with a relay was sent without one")
        stage.must_report(NAME)
        stage.deliver(NAME)


NAMES: Final = ("first", "second", "third")
EPOCHS: Final = 4
DEVICES: Final = 24
"""Devices, each with two epochs: if correct, all miss a given survey with a chance of 4e-9."""
_RESTARTS: Final = 4
"""Starts: a device that draws again at each requests only one survey with chance 2e-8."""
_HALF: Final = DAY // 2
_SECOND: Final = 1.0


class _Asked(NamedTuple):
    device: str
    name: str
    epoch: int
    now: float
    body: bytes


class _Issuer:
    """The issuer of all tokens, which has a key for each survey and epoch."""

    def __init__(self, stage: Stage, epochs: int) -> None:
        self._stage = stage
        self._keys = {
            (name, str(epoch)): generate_private_key(EXPONENT, 8 * MODULUS_BYTES).private_numbers()
            for name in NAMES
            for epoch in range(epochs)
        }
        self.requests: list[_Asked] = []
        self.faults: set[str] = set()
        self.silent = False
        self.server = HostileCollector(self._respond, lambda: stage.now)
        self.close = self.server.stop
        schedule = Schedule(stage.midnight, DAY, epochs, DAY)
        for name in NAMES:
            keys = tuple(_modulus(key) for (of, _), key in self._keys.items() if of == name)
            enrolment = Enrolment("blind", issuer="issuer.example", keys=keys)
            stage.publish(stage.manifest(name, schedule=schedule, enrolment=enrolment))

    def open(self, device: str = "a") -> None:
        """Start an app on a new state, with the user's consent."""
        self._stage.open([declared(name) for name in NAMES], device, issuer=self.server.origin)
        self._stage.consent()

    def requests_in(self, epoch: int, device: str = "a") -> list[_Asked]:
        """Return the requests of a device in an epoch, in order."""
        return [one for one in self.requests if (one.device, one.epoch) == (device, epoch)]

    def _respond(self, came: Incoming) -> Answer | None:
        _, method, path, headers, body = came
        base, name, number = ["", "", *path.rsplit("/", 2)][-3:]
        key = self._keys.get((name, number))
        fits = (method, base) == ("POST", "/v1/enrolments")
        if key is None or not fits or ("content-type", TOKEN_REQUEST_TYPE) not in headers:
            self.faults.add(f"the issuer got {method} {path}, not a request for a token")
            return Answer(404)
        try:
            key_id, blinded = read_token_request(body)
        except InvalidToken as error:
            self.faults.add(f"the issuer got {error}")
            return Answer(422)
        if key_id != token_key_id(_modulus(key))[-1]:
            self.faults.add(f"a token of {name!r} was requested for a different key")
        self.requests.append(_Asked(self._stage.device, name, int(number), self._stage.now, body))
        if self.silent:
            return CUT
        signed = pow(int.from_bytes(blinded), key.d, key.public_numbers.n)
        return Answer(200, signed.to_bytes(MODULUS_BYTES), (("content-type", TOKEN_RESPONSE_TYPE),))


def _modulus(key: RSAPrivateNumbers) -> bytes:
    return key.public_numbers.n.to_bytes(MODULUS_BYTES)


@scenario("blind", title="many random choices of a blind survey", needs=("enrolment:blind",))
def drawn(stage: Stage) -> Iterator[Conviction]:
    """Each survey is equally likely, whatever was answered first or drawn before."""
    random = SystemRandom()
    came: dict[str, list[bool]] = {f"survey {name!r}": [] for name in NAMES}
    of_first, of_answer, of_before, late = [], [], [], []
    with closing(_Issuer(stage, 2)) as issuer:
        for number in range(DEVICES):
            device, before = f"device-{number}", ""
            for epoch in range(2):
                if epoch:
                    stage.pass_time(stage.midnight + epoch * DAY - stage.now)
                else:
                    stage.now = stage.midnight
                    issuer.open(device)
                called, answer, early = random.choice(NAMES), random.randrange(3), number % 2
                if early and stage.report(called, CATEGORIES[answer]) == "recorded":
                    yield Conviction("blind", "an answer was recorded before a token was requested")
                stage.run(_HALF, until=lambda: bool(issuer.requests_in(epoch, device)))  # noqa: B023
                names = [one.name for one in issuer.requests_in(epoch, device)]
                if not early:
                    late.append(bool(names))
                if not names:
                    continue
                for name in NAMES:
                    came[f"survey {name!r}"].append(name == names[0])
                if early:
                    of_first.append(names[0] == called)
                    of_answer.append(names[0] == NAMES[answer])
                if before:
                    of_before.append(names[0] == before)
                before = names[0]
    yield from (Conviction("blind", fault) for fault in sorted(issuer.faults))
    if not issuer.requests:
        raise Unjudgeable("no token was requested within half an epoch")
    if not all(late):
        yield Conviction("blind", "no token was requested until there was an answer")
    counts = came | {
        "the survey that was answered first": of_first,
        "the survey with the number of an answer": of_answer,
        "the survey of the epoch before": of_before,
    }
    for what, hits in counts.items():
        if binomial_tail(sum(hits), len(hits), 1 / len(NAMES)) < FALSE_ALARM / len(counts):
            yield Conviction("blind", f"{what} was drawn {sum(hits)} times of {len(hits)}")


@scenario("blind", "report", title="epochs of several blind surveys", needs=("enrolment:blind",))
def epochs(stage: Stage) -> Iterator[Conviction]:
    """No restart draws again, and the other surveys get neither a request nor a report."""
    with closing(_Issuer(stage, EPOCHS)) as issuer:
        issuer.open()
        for epoch in range(EPOCHS):
            issuer.silent = True
            for number in range(_RESTARTS):
                left = stage.midnight + epoch * DAY + _HALF - stage.now
                more = lambda: len(issuer.requests_in(epoch)) > number  # noqa: B023, E731
                if not stage.run(left, until=more):
                    raise Unjudgeable(f"a token was requested {number} times in half an epoch")
                stage.reopen(issuer=issuer.server.origin)
            issuer.silent = False
            stage.run_until_day(epoch + 0.6)
            outcomes = {name: stage.report(name) for name in SystemRandom().sample(NAMES, 3)}
            stage.run_until_day(epoch + 1)
            yield from _one(stage, issuer, epoch, outcomes)
    yield from (Conviction("blind", fault) for fault in sorted(issuer.faults))


def _one(
    stage: Stage, issuer: _Issuer, epoch: int, outcomes: dict[str, str]
) -> Iterator[Conviction]:
    """Check that an epoch had one survey, whose token and report came in separate halves."""
    requests = issuer.requests_in(epoch)
    begins = stage.midnight + epoch * DAY
    sent = [one for one in stage.log.sent() if begins <= one.request.now < begins + DAY]
    names = {one.name for one in requests}
    if len(names) > 1:
        yield Conviction("blind", f"tokens of {len(names)} surveys were requested in one epoch")
    if len({(one.name, one.body) for one in requests}) > len(names):
        yield Conviction("blind", "another token was requested after a restart")
    if any(not 0 <= one.now - begins <= _HALF + _SECOND for one in requests):
        yield Conviction("blind", "a token was requested outside the first half of its epoch")
    recorded = {name for name, outcome in outcomes.items() if outcome == "recorded"}
    if recorded - names or len(recorded) > 1:
        yield Conviction("blind", "an answer was recorded for a survey that was not drawn")
    if not {one.manifest.name for one in sent} <= names or len({s.identity for s in sent}) > 1:
        yield Conviction("blind", "a report was sent for a survey that was not drawn")
    late = [one for one in sent if one.request.now - begins < _HALF - _SECOND]
    if late or any(one.signed.report.epoch != epoch for one in sent):
        yield Conviction("blind", "a report was sent outside the second half of its epoch")
    if not sent:
        raise Unjudgeable("no report arrived in the second half of an epoch")
