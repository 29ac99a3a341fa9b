"""Checkpoints signed by logs, and cosigned by their witnesses; policies that name both."""

from deniable.logs import Checkpoint, LogPolicy, SignedCheckpoint, TransparencyLogError
from deniable.logs.checkpoints import BEYOND, TIME_BYTES, cosigned_message
from deniable.logs.notes import COSIGNER, LOG, NoteSignature, VerifierKey
from deniable.messages import SigningKey


def sign_checkpoint(checkpoint: Checkpoint, signing_key: SigningKey) -> SignedCheckpoint:
    """Return the checkpoint, signed by its log; the log's key has the origin's name."""
    key = VerifierKey(checkpoint.origin, LOG, signing_key.public_key)
    signature = signing_key.sign(b"", checkpoint.body.encode())
    return SignedCheckpoint(checkpoint, (NoteSignature(key.name, key.key_id, signature),))


def cosign(checkpoint: Checkpoint, name: str, signing_key: SigningKey, timestamp: int) -> str:
    """Return a witness's signature line, with its newline (C2SP tlog-cosignature, Ed25519).

    It states that at that time, in Unix seconds, this was the newest checkpoint that the witness
    had seen of the log, and that it extends all earlier ones.
    """
    if not 0 < timestamp < BEYOND:
        raise TransparencyLogError("a cosignature must have a time, in Unix seconds")
    key = VerifierKey(name, COSIGNER, signing_key.public_key)
    signature = signing_key.sign(b"", cosigned_message(checkpoint, timestamp))
    signed = timestamp.to_bytes(TIME_BYTES, "big") + signature
    return NoteSignature(name, key.key_id, signed).line


def policy_file_text(policy: LogPolicy) -> str:
    """Return a policy in C2SP's language, as :meth:`LogPolicy.parse` reads it."""
    lines = [" ".join(filter(None, ("log", str(log.key), log.url))) for log in policy.logs]
    for witness in policy.witnesses:
        words = ("witness", witness.name, str(witness.key), witness.url)
        lines.append(" ".join(filter(None, words)))
    names = " ".join(witness.name for witness in policy.witnesses)
    lines += [f"group witnesses {policy.quorum} {names}", "quorum witnesses"]
    return "".join(f"{line}\n" for line in lines)
