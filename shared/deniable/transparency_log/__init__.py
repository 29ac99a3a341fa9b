"""A transparency log: what everybody can check of a list that only grows.

Merkle trees (RFC 6962), and C2SP's signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof,
tlog-tiles and tlog-policy, of these what devices, publishers, witnesses and auditors need: Ed25519
alone, and policies without groups in groups. It knows nothing of surveys: an entry is bytes.
"""

from deniable.transparency_log.checkpoint import (
    MAX_CHECKPOINT_BYTES,
    MAX_SIGNATURES,
    Checkpoint,
    NoteSignature,
    SignedCheckpoint,
    cosign,
    log_origin,
    sign_checkpoint,
)
from deniable.transparency_log.errors import TooFewWitnesses, TransparencyLogError
from deniable.transparency_log.merkle import (
    EMPTY_ROOT,
    HASH_BYTES,
    MAX_PATH,
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_hash,
)
from deniable.transparency_log.policy import MAX_POLICY_BYTES, Log, LogPolicy, Witness
from deniable.transparency_log.proof import LogProof
from deniable.transparency_log.tiles import (
    MAX_ENTRY_BYTES,
    TILE_WIDTH,
    entry_bundle,
    entry_bundle_path,
    hash_tile,
    read_entry_bundle,
    read_tile_path,
    tile_path,
    tiles_of,
)
from deniable.transparency_log.verifier_key import COSIGNER, LOG, VerifierKey

__all__ = [
    "COSIGNER",
    "EMPTY_ROOT",
    "HASH_BYTES",
    "LOG",
    "MAX_CHECKPOINT_BYTES",
    "MAX_ENTRY_BYTES",
    "MAX_PATH",
    "MAX_POLICY_BYTES",
    "MAX_SIGNATURES",
    "TILE_WIDTH",
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
    "check_consistency",
    "check_inclusion",
    "consistency_path",
    "cosign",
    "entry_bundle",
    "entry_bundle_path",
    "hash_tile",
    "inclusion_path",
    "leaf_hash",
    "log_origin",
    "read_entry_bundle",
    "read_tile_path",
    "root_hash",
    "sign_checkpoint",
    "tile_path",
    "tiles_of",
]
