"""A log and its witnesses as devices are shown them: honest, or in league with the operator."""

from collections.abc import Iterable, Sequence
from typing import Final

from deniable.messages import SigningKey, log_entry
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    Checkpoint,
    LogProof,
    SignedCheckpoint,
    VerifierKey,
    cosign,
    inclusion_path,
    leaf_hash,
    log_origin,
    root_hash,
    sign_checkpoint,
)
from tests.support.surveys import ORIGIN, START

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
        lines = [
            cosign(checkpoint, name_of(number), self.witnesses[number], at) for number in cosigners
        ]
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
    keys = (
        VerifierKey(name_of(number), COSIGNER, key.public_key) for number, key in witnesses.items()
    )
    lines = [f"log {log_key}"]
    lines += [f"witness {name} {key}" for name, key in zip(names, keys, strict=True)]
    lines += [f"group all {quorum} {' '.join(names)}", "quorum all"]
    return "".join(f"{line}\n" for line in lines)
