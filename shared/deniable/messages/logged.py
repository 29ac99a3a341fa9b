"""Envelopes with their proofs that they are in the public log: ``[envelope, proof]``.

A proof is the text of a tlog-proof (C2SP), or empty. An app that pins witnesses refuses what has
none; all others need none, and look at none.
"""

from hashlib import sha256
from typing import Final, NamedTuple

from deniable.messages import codec
from deniable.messages.refusals import Refusal, RefusalCode

MAX_PROOF_BYTES: Final = 8_192
"""The longest proof: with names of 255 bytes, its checkpoint has room for 16 cosignatures."""

_MAX_ENTRY_BYTES: Final = 65_535
"""The longest entry of a log of tiles."""

DIGEST: Final = b"\x91\xc4\x20"
"""An array of one, of 32 bytes."""


class LoggedEnvelope(NamedTuple):
    """An envelope as it was signed, and the proof that it is in the public log; perhaps empty."""

    envelope: bytes
    proof: bytes


def log_entry(envelope: bytes) -> bytes:
    """Return the log's entry of an envelope: itself, or ``[SHA-256]`` of one beyond 65,535 bytes.

    Of a list of one no envelope consists. The log serves what such an entry stands for beside it.
    """
    if len(envelope) <= _MAX_ENTRY_BYTES:
        return envelope
    return DIGEST + sha256(envelope).digest()


def split_logged(pair: bytes) -> LoggedEnvelope:
    """Return an envelope, neither verified nor decoded, and its proof.

    One that is too long counts as none: the envelope of a device that pins no log is as good.

    Raises:
        Refusal: malformed, if it is no such pair.
    """
    try:
        envelope, proof = codec.split_array(pair, 2)
    except (Refusal, ValueError) as error:
        raise Refusal(RefusalCode.MALFORMED, "no pair of an envelope and a proof") from error
    text = codec.binary(codec.decode(proof))
    return LoggedEnvelope(envelope, text if len(text) <= MAX_PROOF_BYTES else b"")
