"""Envelopes with proofs that they are in the public log: ``[envelope, proof]``.

A proof is the text of a tlog-proof (C2SP), or empty. An app that pins witnesses refuses envelopes
without a proof; other apps ignore proofs.
"""

from hashlib import sha256
from typing import Final, NamedTuple

from deniable.messages import codec
from deniable.messages.refusals import Refusal, RefusalCode

MAX_PROOF_BYTES: Final = 8_192
"""The longest proof: with names of 255 bytes, its checkpoint has room for 16 cosignatures."""

_MAX_ENTRY_BYTES: Final = 65_535
"""The longest entry of a tiled log."""

DIGEST: Final = b"\x91\xc4\x20"
"""The header of an array with one element of 32 bytes."""


class LoggedEnvelope(NamedTuple):
    """An envelope as it was signed, and the possibly empty proof that it is in the public log."""

    envelope: bytes
    proof: bytes


def log_entry(envelope: bytes) -> bytes:
    """Return the log's entry for an envelope: itself, or ``[SHA-256]`` if longer than 65,535 bytes.

    No envelope is a list of one element. The log serves the envelope beside such an entry.
    """
    if len(envelope) <= _MAX_ENTRY_BYTES:
        return envelope
    return DIGEST + sha256(envelope).digest()


def split_logged(pair: bytes) -> LoggedEnvelope:
    """Return an envelope, neither verified nor decoded, and its proof.

    A proof that is too long counts as none: a device that pins no log needs only the envelope.

    Raises:
        Refusal: malformed, if the value is not such a pair.
    """
    try:
        envelope, proof = codec.split_array(pair, 2)
    except (Refusal, ValueError) as error:
        raise Refusal(RefusalCode.MALFORMED, "not a pair of an envelope and a proof") from error
    text = codec.binary(codec.decode(proof))
    return LoggedEnvelope(envelope, text if len(text) <= MAX_PROOF_BYTES else b"")
