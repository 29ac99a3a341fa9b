"""Signatures of authorities, and the verification of reports."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable.messages import (
    Manifest,
    Rotation,
    SignedReport,
    SigningKey,
    codec,
    enrolment_statement,
)
from deniable.messages.ed25519 import (
    CONTEXT_AUTHORITY,
    CONTEXT_AUTHORITY_ACCEPT,
    CONTEXT_GATEWAY,
    CONTEXT_MANIFEST,
    CONTEXT_REPORT,
    Verify,
    verify,
)
from deniable.messages.enrolment import check_credential

if TYPE_CHECKING:  # only for a relay
    from deniable.messages.gateway import GatewayKeys


def sign_manifest(manifest: Manifest, authority: SigningKey) -> bytes:
    """Return the signed envelope ``[payload, signature]``."""
    signature = authority.sign(CONTEXT_MANIFEST, manifest.payload)
    return codec.encode([manifest.payload, signature])


def sign_rotation(rotation: Rotation, old: SigningKey, new: SigningKey) -> bytes:
    """Return the envelope ``[payload, old signature, new signature]``."""
    if (old.public_key, new.public_key) != (rotation.old_key, rotation.new_key):
        raise ValueError("a rotation must be signed by its own two keys")
    payload = rotation.payload
    accepted = new.sign(CONTEXT_AUTHORITY_ACCEPT, payload)
    return codec.encode([payload, old.sign(CONTEXT_AUTHORITY, payload), accepted])


def sign_gateway_keys(keys: "GatewayKeys", authority: SigningKey) -> bytes:
    """Return the signed envelope ``[payload, signature]``."""
    return codec.encode([keys.payload, authority.sign(CONTEXT_GATEWAY, keys.payload)])


def verify_signature(signed: SignedReport, verify: Verify = verify) -> None:
    """Check that a report's key signed its payload."""
    verify(signed.public_key, CONTEXT_REPORT, signed.payload, signed.signature)


def verify_credential(
    signed: SignedReport, issuers: Iterable[bytes], verify: Verify = verify
) -> bytes:
    """Check that one of the issuers vouches for a report's key; return it."""
    report = signed.report
    statement = enrolment_statement(report.survey_id, report.epoch, signed.public_key)
    return check_credential(issuers, statement, signed.credential or b"", verify)
