"""Checkpoints signed by logs; policies that name logs and their witnesses."""

from deniable.logs import Checkpoint, LogPolicy, SignedCheckpoint
from deniable.logs.notes import LOG, NoteSignature, VerifierKey
from deniable.messages import SigningKey


def sign_checkpoint(checkpoint: Checkpoint, signing_key: SigningKey) -> SignedCheckpoint:
    """Return the checkpoint, signed by its log; the log's key has the origin's name."""
    key = VerifierKey(checkpoint.origin, LOG, signing_key.public_key)
    signature = signing_key.sign(b"", checkpoint.body.encode())
    return SignedCheckpoint(checkpoint, (NoteSignature(key.name, key.key_id, signature),))


def policy_file_text(policy: LogPolicy) -> str:
    """Return a policy in C2SP's language, as :meth:`LogPolicy.parse` reads it."""
    lines = [" ".join(filter(None, ("log", str(log.key), log.url))) for log in policy.logs]
    for witness in policy.witnesses:
        words = ("witness", witness.name, str(witness.key), witness.url)
        lines.append(" ".join(filter(None, words)))
    names = " ".join(witness.name for witness in policy.witnesses)
    lines += [f"group witnesses {policy.quorum} {names}", "quorum witnesses"]
    return "".join(f"{line}\n" for line in lines)
