"""The public log: manifests that the witnesses whom the app pins have not seen."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.scenarios.manifests import judged
from deniable.conformance.stage import Stage
from deniable.messages import SigningKey, log_entry
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    Checkpoint,
    Log,
    LogPolicy,
    LogProof,
    VerifierKey,
    Witness,
    cosign,
    inclusion_path,
    leaf_hash,
    log_origin,
    root_hash,
    sign_checkpoint,
)

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
