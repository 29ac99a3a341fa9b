"""A transparency log: a list that only grows, which everybody can check.

Merkle trees (RFC 6962), and C2SP's signed-note, tlog-checkpoint, tlog-cosignature, tlog-proof, and
tlog-policy, as far as devices, publishers and auditors need them: only Ed25519, and policies
without nested groups. It knows nothing about surveys: an entry is bytes.
"""

from deniable.logs.checkpoints import HASH_BYTES as HASH_BYTES
from deniable.logs.checkpoints import MAX_CHECKPOINT_BYTES as MAX_CHECKPOINT_BYTES
from deniable.logs.checkpoints import Checkpoint as Checkpoint
from deniable.logs.checkpoints import SignedCheckpoint as SignedCheckpoint
from deniable.logs.checkpoints import log_origin as log_origin
from deniable.logs.notes import COSIGNER as COSIGNER
from deniable.logs.notes import LOG as LOG
from deniable.logs.notes import NoteSignature as NoteSignature
from deniable.logs.notes import TransparencyLogError as TransparencyLogError
from deniable.logs.notes import VerifierKey as VerifierKey
from deniable.logs.policies import MAX_POLICY_BYTES as MAX_POLICY_BYTES
from deniable.logs.policies import Log as Log
from deniable.logs.policies import LogPolicy as LogPolicy
from deniable.logs.policies import TooFewWitnesses as TooFewWitnesses
from deniable.logs.policies import Witness as Witness
from deniable.logs.proofs import LogProof as LogProof
from deniable.logs.proofs import check_inclusion as check_inclusion
from deniable.logs.proofs import leaf_hash as leaf_hash
