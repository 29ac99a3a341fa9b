"""A log and its witnesses as devices are shown them: honest, or in league with the operator."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from deniable.client import Client, ManifestFault, ManifestRefused, OutcomeStatus
from deniable.client.client import engine_of
from deniable.counterparts.cosigning import sign_checkpoint
from deniable.counterparts.signing import sign_manifest
from deniable.logs import Checkpoint, LogProof, SignedCheckpoint, VerifierKey, leaf_hash, log_origin
from deniable.logs.notes import COSIGNER, LOG
from deniable.messages import SigningKey, log_entry
from deniable.public_log.publish.tree import root_hash
from tests.support.cosigning import cosign
from tests.support.devices import NAME, Bench
from tests.support.public_logs import inclusion_path
from tests.support.surveys import AUTHORITY, DECLARED, MANIFEST, ORIGIN, START

NOT_WITNESSED: Final = ManifestFault.NOT_WITNESSED
ENVELOPE: Final = sign_manifest(MANIFEST, AUTHORITY)

WITNESSES: Final = 5
"""There are more than anybody pins."""


class ShownLog:
    """The log of a collector; its checkpoints are cosigned by whom a test says."""

    def __init__(self, origin: str = log_origin(ORIGIN), seed: int = 100) -> None:
        self.origin = origin
        self.key = SigningKey(bytes([seed]) * 32)
        self.witnesses = [SigningKey(bytes([200 + number]) * 32) for number in range(WITNESSES)]
        self.leaves: list[bytes] = []

    def policy(self, quorum: int = 2, pinned: Sequence[int] = (0, 1, 2)) -> str:
        """Return a policy of so many of these witnesses, by their numbers."""
        keys = {number: self.witnesses[number] for number in pinned}
        return policy_text(self.log_key, keys, quorum)

    @property
    def log_key(self) -> VerifierKey:
        return VerifierKey(self.origin, LOG, self.key.public_key)

    def append(self, *envelopes: bytes) -> None:
        self.leaves += [leaf_hash(log_entry(envelope)) for envelope in envelopes]

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.origin, len(self.leaves), root_hash(self.leaves))

    def signed(self, cosigners: Iterable[int] = (0, 1, 2), at: int = START) -> SignedCheckpoint:
        """Return the newest checkpoint, cosigned by these witnesses."""
        checkpoint = self.checkpoint()
        lines = [cosign(checkpoint, name_of(n), self.witnesses[n], at) for n in cosigners]
        return sign_checkpoint(checkpoint, self.key).with_signatures(lines)

    def proof(
        self, envelope: bytes, cosigners: Iterable[int] = (0, 1, 2), at: int = START
    ) -> bytes:
        """Return the proof that an envelope is in the log, which is appended if it is not."""
        leaf = leaf_hash(log_entry(envelope))
        if leaf not in self.leaves:
            self.append(envelope)
        return self.proof_under(envelope, self.signed(cosigners, at))

    def proof_under(self, envelope: bytes, signed: SignedCheckpoint) -> bytes:
        """Return the proof of an entry under a checkpoint of the log as it is now."""
        index = self.leaves.index(leaf_hash(log_entry(envelope)))
        return LogProof(index, inclusion_path(self.leaves, index), signed).text.encode()


def name_of(number: int) -> str:
    return f"witness-{number}.example"


def policy_text(log_key: VerifierKey, witnesses: dict[int, SigningKey], quorum: int) -> str:
    """Return the policy as `deniable log policy` prints it."""
    names = [name_of(number) for number in witnesses]
    keys = [VerifierKey(name_of(n), COSIGNER, key.public_key) for n, key in witnesses.items()]
    lines = [f"log {log_key}"]
    lines += [f"witness {name} {key}" for name, key in zip(names, keys, strict=True)]
    lines += [f"group all {quorum} {' '.join(names)}", "quorum all"]
    return "".join(f"{line}\n" for line in lines)


def prove(
    bench: Bench, log: ShownLog, *envelopes: bytes, cosigners: Iterable[int] = (0, 1)
) -> None:
    """Have the collector send a proof of each of these."""
    who = tuple(cosigners)
    bench.transport.proofs |= {envelope: log.proof(envelope, who) for envelope in envelopes}


def pinned(bench: Bench, log: ShownLog, **changes: Any) -> Client:
    return bench.client(**{"log_policy": log.policy(), **changes})


def check_refused(bench: Bench, client: Client) -> str:
    """Check that nothing is drawn since nobody has seen what is offered; return the reason."""
    before = bench.draw.count
    outcome = client.report(NAME, "good")
    assert outcome.status is OutcomeStatus.NOT_RECORDED
    assert isinstance(outcome.error, ManifestRefused)
    assert outcome.error.fault is NOT_WITNESSED
    assert bench.draw.count == before
    why_not = engine_of(client).ledger.look(DECLARED, bench.clock.now())
    assert "not-witnessed" in str(why_not)
    shown = " ".join(str(client.explain()).split())
    assert "This survey waits until independent witnesses have seen it" in shown
    return outcome.error.reason
