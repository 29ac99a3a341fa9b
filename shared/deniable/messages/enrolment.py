"""Enrolment: asking an issuer to vouch for a key, and the certificate that it gives.

A request is the very statement that the issuer signs; the answer is the signature alone.
"""

from collections.abc import Iterable
from typing import Final

from deniable.messages import codec
from deniable.messages.ed25519 import CONTEXT_ENROL, KEY_BYTES, SIGNATURE_BYTES, Verify, verify
from deniable.messages.refusals import Refusal, RefusalCode

MAX_ENROLMENT_BYTES: Final = 128
"""More than any request or answer of an enrolment has."""


def enrolment_statement(survey_id: bytes, epoch: int, public_key: bytes) -> bytes:
    """Return the statement that an issuer is sent to vouch for a key, and signs."""
    return codec.encode([survey_id, epoch, public_key])


def read_enrolment_statement(statement: bytes) -> tuple[bytes, int, bytes]:
    """Read a statement's canonical bytes; return survey id, epoch and public key, none judged."""
    if len(statement) > MAX_ENROLMENT_BYTES:
        raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_ENROLMENT_BYTES} bytes a request")
    survey_id, epoch, public_key = codec.exact_array(codec.decode(statement), 3)
    return (
        codec.binary(survey_id, KEY_BYTES),
        codec.uint(epoch),
        codec.binary(public_key, KEY_BYTES),
    )


def check_credential(
    issuers: Iterable[bytes], statement: bytes, credential: bytes, verify: Verify = verify
) -> bytes:
    """Return the first of these issuers whose signature of the statement the credential is."""
    for issuer in issuers:
        try:
            verify(issuer, CONTEXT_ENROL, statement, credential)
        except Refusal:
            continue
        return issuer
    raise Refusal(RefusalCode.NOT_ENROLLED, "no listed issuer vouches for this key")


def pack_credential(credential: bytes) -> bytes:
    """Return the body of an issuer's answer."""
    return codec.encode(credential)


def read_credential(body: bytes) -> bytes:
    """Return the 64 bytes in the body of an issuer's answer, unverified."""
    return codec.binary(codec.decode(body), SIGNATURE_BYTES)
