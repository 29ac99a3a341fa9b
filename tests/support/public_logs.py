"""Logs made by hand: what a publisher does, without its files and witnesses."""

from collections.abc import Sequence

from deniable.counterparts.cosigning import sign_checkpoint
from deniable.logs import Checkpoint, VerifierKey, leaf_hash
from deniable.logs.notes import COSIGNER
from deniable.messages import SigningKey, log_entry
from deniable.public_log.publish.tree import root_hash, siblings, tree_levels
from deniable.stores import LogExtension, StoredLog
from tests.support.cosigning import cosign

LOG_KEY = SigningKey(b"log key seed of the tests 000001")
LOG_ORIGIN = "collector.example/log"
WITNESSES = {f"witness{n}.example": SigningKey(bytes([64 + n]) * 32) for n in range(3)}
WITNESS_KEYS = [VerifierKey(name, COSIGNER, key.public_key) for name, key in WITNESSES.items()]


def checkpoint_of(envelopes: Sequence[bytes], cosigners: int = 0) -> str:
    """Return the signed checkpoint of a log of these envelopes, cosigned by so many."""
    root = root_hash([leaf_hash(log_entry(envelope)) for envelope in envelopes])
    checkpoint = Checkpoint(LOG_ORIGIN, len(envelopes), root)
    lines = [
        cosign(checkpoint, name, key, 1_790_000_000)
        for name, key in list(WITNESSES.items())[:cosigners]
    ]
    return sign_checkpoint(checkpoint, LOG_KEY).with_signatures(lines).text


def stored_log(envelopes: Sequence[bytes], cosigners: int = 0, witnessed: int = 0) -> StoredLog:
    """Return a log as a store holds it, of which so many entries are covered by a quorum."""
    covered = checkpoint_of(envelopes[:witnessed], 3) if witnessed else ""
    return StoredLog(tuple(envelopes), checkpoint_of(envelopes, cosigners), covered)


def extension(
    before: Sequence[bytes], envelopes: Sequence[bytes], cosigners: int = 0
) -> LogExtension:
    """Return what appends envelopes to a log that has those before."""
    text = checkpoint_of([*before, *envelopes], cosigners)
    return LogExtension(len(before), tuple(envelopes), text)


def inclusion_path(leaf_hashes: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return the path from a leaf to the root."""
    return siblings(tree_levels(leaf_hashes), 0, index)
