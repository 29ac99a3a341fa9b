"""Checkpoints signed by logs, and cosigned by their witnesses."""

from deniable.logs import Checkpoint, SignedCheckpoint, TransparencyLogError
from deniable.logs.checkpoints import BEYOND, TIME_BYTES, cosigned_message
from deniable.logs.notes import COSIGNER, LOG, NoteSignature, VerifierKey
from deniable.messages import SigningKey


def sign_checkpoint(checkpoint: Checkpoint, signing_key: SigningKey) -> SignedCheckpoint:
    """Return the checkpoint signed by its log, whose key has the origin's name."""
    key = VerifierKey(checkpoint.origin, LOG, signing_key.public_key)
    signature = signing_key.sign(b"", checkpoint.body.encode())
    return SignedCheckpoint(checkpoint, (NoteSignature(key.name, key.key_id, signature),))


def cosign(checkpoint: Checkpoint, name: str, signing_key: SigningKey, timestamp: int) -> str:
    """Return a witness's signature line, with its newline (C2SP tlog-cosignature, Ed25519).

    It says that at that time, in Unix seconds, this was the newest checkpoint the witness had seen
    of the log, and that all it saw before are its beginnings.
    """
    if not 0 < timestamp < BEYOND:
        raise TransparencyLogError("a cosignature has a time, in Unix seconds")
    key = VerifierKey(name, COSIGNER, signing_key.public_key)
    signature = signing_key.sign(b"", cosigned_message(checkpoint, timestamp))
    signed = timestamp.to_bytes(TIME_BYTES, "big") + signature
    return NoteSignature(name, key.key_id, signed).line
