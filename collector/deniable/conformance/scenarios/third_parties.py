"""Third parties: relays that fail, work or go, and witnesses who have not seen a manifest."""

import os
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from email.utils import formatdate
from itertools import cycle
from typing import Any, Final

from deniable.conformance.hostile_collector import CUT, Answer, HostileCollector
from deniable.conformance.hostile_operator import DAY, declared, problem
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.scenarios.manifests import judged
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.logs import (
    COSIGNER,
    LOG,
    Checkpoint,
    Log,
    LogPolicy,
    LogProof,
    VerifierKey,
    Witness,
    cosign,
    leaf_hash,
    log_origin,
    sign_checkpoint,
)
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    GatewayKeys,
    RefusalCode,
    Schedule,
    SigningKey,
    encapsulated_answer_bytes,
    log_entry,
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
from deniable.public_log.publish.tree import inclusion_path, root_hash

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
        self.close = self.server.stop
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
        yield Conviction("D13", "the collector got a request that did not come by the relay")
    for fault in sorted(relay.faults):
        yield Conviction("D13", fault)


@scenario("D13", title="a relay that works", needs=("relay",))
def working(stage: Stage) -> Iterator[Conviction]:
    """Fetches and reports come by the relay, sealed, and of one size."""
    with closing(_Relay(stage)) as relay:
        _open(stage, relay.settings)
        stage.deliver(NAME)
        stage.run(2 * DAY)
        yield from _gone_round(stage, relay)
        if len(stage.log.sent(NAME)) > 1:
            yield Conviction("D13", "a report was sent again after a sealed answer that took it")


@scenario("D13", title="a relay that fails", needs=("relay",))
def failing(stage: Stage) -> Iterator[Conviction]:
    """Nothing is sent another way, whatever the relay itself says, and the report waits."""
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
            yield Conviction("D13", "a word of the relay was taken for the collector's")


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
                yield Conviction("D13", "a report drawn under a relay was sent without one")
        stage.must_report(NAME)
        stage.deliver(NAME)


PINNED, QUORUM = 3, 2
"""Witnesses that the app pins, and how many of them must have seen a manifest."""


class _WitnessedLog:
    """A log of all that a scenario serves, with its witnesses."""

    def __init__(self, stage: Stage) -> None:
        self.origin = log_origin(stage.origin)
        self.time = int(stage.now)
        self.key, self.stranger = SigningKey(os.urandom(32)), SigningKey(os.urandom(32))
        self.witnesses = [SigningKey(os.urandom(32)) for _ in range(PINNED)]
        self.names = [f"witness-{number}.example" for number in range(PINNED)]
        self.leaves = [leaf_hash(b"what came before")]

    @property
    def policy(self) -> str:
        """Return the text that the app pins."""
        log = Log(VerifierKey(self.origin, LOG, self.key.public_key))
        witnesses = (
            Witness(name, VerifierKey(name, COSIGNER, key.public_key))
            for name, key in zip(self.names, self.witnesses, strict=True)
        )
        return LogPolicy((log,), tuple(witnesses), QUORUM).text

    def append(self, envelope: bytes) -> int:
        """Append an envelope; return its index."""
        self.leaves.append(leaf_hash(log_entry(envelope)))
        return len(self.leaves) - 1

    def proof(
        self,
        envelope: bytes,
        *,
        witnesses: Sequence[int] = (0, 1),
        signer: SigningKey | None = None,
        cosigners: Sequence[SigningKey] | None = None,
        index: int | None = None,
    ) -> bytes:
        """Return the proof that an envelope is in the log, honest but for what is given."""
        appended = self.append(envelope)
        at = appended if index is None else index
        checkpoint = Checkpoint(self.origin, len(self.leaves), root_hash(self.leaves))
        keys = self.witnesses if cosigners is None else cosigners
        lines = [cosign(checkpoint, self.names[n], keys[n], self.time) for n in witnesses]
        signed = sign_checkpoint(checkpoint, signer or self.key).with_signatures(lines)
        return LogProof(at, inclusion_path(self.leaves, at), signed).text.encode()


Prove = Callable[[_WitnessedLog, bytes], bytes]
UNSEEN: Final[dict[str, tuple[str, Prove]]] = {
    "unproved": ("without a proof", lambda *_: b""),
    "garbled": ("with a proof that is none", lambda log, e: log.proof(e)[:-9]),
    "seen-by-none": ("that no witness saw", lambda log, e: log.proof(e, witnesses=())),
    "seen-by-one": ("that too few witnesses saw", lambda log, e: log.proof(e, witnesses=(2,))),
    "seen-twice": ("that one witness saw twice", lambda log, e: log.proof(e, witnesses=(1, 1))),
    "strangers": (
        "that others saw under the witnesses' names",
        lambda log, e: log.proof(e, cosigners=[log.stranger] * PINNED),
    ),
    "other-key": ("of a log with another key", lambda log, e: log.proof(e, signer=log.stranger)),
    "other-entry": ("with the proof of another entry", lambda log, e: log.proof(e, index=0)),
}
"""By a survey's name, how its proof does not show that a quorum of witnesses has seen it."""


@scenario("log", title="manifests that no quorum of witnesses saw", needs=("log_policy", "fetches"))
def unseen(stage: Stage) -> Iterator[Conviction]:
    """The authority's own manifests, with proofs that the pinned policy does not accept."""
    log = _WitnessedLog(stage)
    for name in UNSEEN:
        stage.publish(stage.manifest(name))
    wrong = {stage.served[name][0]: prove for name, (_, prove) in UNSEEN.items()}
    stage.prove = lambda envelope: wrong.get(envelope, _WitnessedLog.proof)(log, envelope)
    names = {name: ("log", how) for name, (how, _) in UNSEEN.items()}
    yield from judged(stage, names, opens={"log_policy": log.policy})
