"""A transparency log: a list that only grows, which everybody can check.

Merkle trees (RFC 6962), and C2SP's signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof, and
tlog-policy, as far as devices, publishers and auditors need them: only Ed25519, and policies
without nested groups. It knows nothing about surveys: an entry is bytes.
"""

from deniable.logs.notes import (
    Checkpoint as Checkpoint,
    SignedCheckpoint as SignedCheckpoint,
    TransparencyLogError as TransparencyLogError,
    VerifierKey as VerifierKey,
    log_origin as log_origin,
)
from deniable.logs.policies import LogPolicy as LogPolicy, Witness as Witness
from deniable.logs.proofs import LogProof as LogProof, leaf_hash as leaf_hash
