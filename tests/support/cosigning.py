"""What a witness signs."""

from deniable.logs import Checkpoint
from deniable.logs.notes import COSIGNER, TIME_BYTES, NoteSignature, VerifierKey, cosigned_message
from deniable.messages import SigningKey


def cosign(checkpoint: Checkpoint, name: str, signing_key: SigningKey, timestamp: int) -> str:
    """Return a witness's signature line, with its newline (C2SP tlog-cosignature, Ed25519).

    It states that at that time, in Unix seconds, this was the newest checkpoint that the witness
    had seen of the log, and that it extends all earlier ones.
    """
    key = VerifierKey(name, COSIGNER, signing_key.public_key)
    signature = signing_key.sign(b"", cosigned_message(checkpoint, timestamp))
    signed = timestamp.to_bytes(TIME_BYTES, "big") + signature
    return NoteSignature(name, key.key_id, signed).line
