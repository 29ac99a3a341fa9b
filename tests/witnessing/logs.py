"""Logs for witnesses: honest ones of any size, and others that share their beginning."""

from deniable.messages import SigningKey
from deniable.transparency_log import (
    LOG,
    Checkpoint,
    SignedCheckpoint,
    VerifierKey,
    consistency_path,
    leaf_hash,
    root_hash,
    sign_checkpoint,
)
from deniable.witnessing import Submission

ORIGIN = "telemetry.example.org/log"
KEY = SigningKey(bytes(range(32)))
LOG_KEY = VerifierKey(ORIGIN, LOG, KEY.public_key)
LEAVES = [leaf_hash(b"entry %d" % number) for number in range(300)]
FORK = [*LEAVES[:3], *(leaf_hash(b"other %d" % number) for number in range(300))]
NOW = 1_800_000_000


def signed(size: int, leaves: list[bytes] = LEAVES) -> SignedCheckpoint:
    """Return the log's checkpoint of this size."""
    return sign_checkpoint(Checkpoint(ORIGIN, size, root_hash(leaves[:size])), KEY)


def submission(old: int, size: int, leaves: list[bytes] = LEAVES) -> Submission:
    """Return the submission of a checkpoint to a witness that has seen the old size."""
    path = consistency_path(leaves[:size], old) if old <= size else ()
    return Submission(old, path, signed(size, leaves))
