"""A transparency log: what everybody can check of a list that only grows.

Merkle trees (RFC 6962), and C2SP's signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof,
and tlog-policy, of these what devices, publishers and auditors need: Ed25519 alone, and
policies without groups in groups. It knows nothing of surveys: an entry is bytes.
"""

from deniable.logs.checkpoints import (
    HASH_BYTES,
    MAX_CHECKPOINT_BYTES,
    MAX_SIGNATURES,
    Checkpoint,
    SignedCheckpoint,
    cosign,
    log_origin,
    sign_checkpoint,
)
from deniable.logs.notes import (
    COSIGNER,
    LOG,
    NoteSignature,
    TransparencyLogError,
    VerifierKey,
)
from deniable.logs.policies import (
    MAX_POLICY_BYTES,
    Log,
    LogPolicy,
    TooFewWitnesses,
    Witness,
)
from deniable.logs.proofs import (
    LogProof,
    check_inclusion,
    leaf_hash,
)

__all__ = [
    "COSIGNER",
    "HASH_BYTES",
    "LOG",
    "MAX_CHECKPOINT_BYTES",
    "MAX_POLICY_BYTES",
    "MAX_SIGNATURES",
    "Checkpoint",
    "Log",
    "LogPolicy",
    "LogProof",
    "NoteSignature",
    "SignedCheckpoint",
    "TooFewWitnesses",
    "TransparencyLogError",
    "VerifierKey",
    "Witness",
    "check_inclusion",
    "cosign",
    "leaf_hash",
    "log_origin",
    "sign_checkpoint",
]
