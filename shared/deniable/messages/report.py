"""The report: one response for one survey and epoch, signed under its own key."""

from dataclasses import dataclass, field
from typing import Final

from deniable.messages import codec
from deniable.messages.ed25519 import (
    CONTEXT_REPORT,
    KEY_BYTES,
    SIGNATURE_BYTES,
    check_public_key,
    derive_report_key,
)
from deniable.messages.enrolment import TOKEN_BYTES
from deniable.messages.refusals import Refusal, RefusalCode

MAX_UPLOAD_REPORTS: Final = 256
"""The most reports in one upload."""
MAX_UPLOAD_BYTES: Final = 64 * 1024
"""The most bytes of one upload."""
_CREDENTIAL_BYTES: Final = {SIGNATURE_BYTES, TOKEN_BYTES}


@dataclass(frozen=True, slots=True)
class Report:
    """The statement of a device: the payload of a report."""

    survey_id: bytes
    epoch: int
    response: int = field(repr=False)

    @property
    def payload(self) -> bytes:
        """Return the canonical bytes that are signed."""
        return codec.encode([self.survey_id, self.epoch, self.response])

    @classmethod
    def from_payload(cls, payload: bytes) -> "Report":
        """Read the payload's canonical bytes."""
        survey_id, epoch, response = codec.exact_array(codec.decode(payload), 3)
        return cls(codec.binary(survey_id, KEY_BYTES), codec.uint(epoch), codec.uint(response))


@dataclass(frozen=True, slots=True)
class SignedReport:
    """A report in its envelope, read but not yet verified.

    The key, with survey and epoch, identifies it; repeats with the same response have identical
    payloads. The credential is an issuer's signature in certificate mode, a token in blind mode,
    otherwise None.
    """

    public_key: bytes
    payload: bytes = field(repr=False)
    report: Report
    signature: bytes = field(repr=False)
    credential: bytes | None = field(repr=False)

    @classmethod
    def from_envelope(cls, envelope: bytes) -> "SignedReport":
        """Read an envelope's canonical bytes, and check its key."""
        key, payload, signature, credential = codec.exact_array(codec.decode(envelope), 4)
        payload_bytes = codec.binary(payload)
        signed = cls(
            public_key=codec.binary(key, KEY_BYTES),
            payload=payload_bytes,
            report=Report.from_payload(payload_bytes),
            signature=codec.binary(signature, SIGNATURE_BYTES),
            credential=None if credential is None else codec.binary(credential),
        )
        if signed.credential is not None and len(signed.credential) not in _CREDENTIAL_BYTES:
            raise Refusal(RefusalCode.MALFORMED, "the credential has the wrong length")
        check_public_key(signed.public_key)
        return signed


def sign_report(device_secret: bytes, report: Report, credential: bytes | None = None) -> bytes:
    """Return the envelope's bytes, signed with the device's key for this survey and epoch."""
    key = derive_report_key(device_secret, report.survey_id, report.epoch)
    payload = report.payload
    return codec.encode([key.public_key, payload, key.sign(CONTEXT_REPORT, payload), credential])


def replace_credential(envelope: bytes, credential: bytes) -> bytes:
    """Return the report with a different credential; key, payload and signature stay the same."""
    key, payload, signature, _ = codec.exact_array(codec.decode(envelope), 4)
    return codec.encode([key, payload, signature, credential])


def pack_upload(envelopes: list[bytes]) -> bytes:
    """Return the upload's body: an array of 1 to 256 envelopes that are already encoded."""
    if not 1 <= len(envelopes) <= MAX_UPLOAD_REPORTS:
        raise ValueError(f"an upload must have 1 to {MAX_UPLOAD_REPORTS} reports")
    return codec.array_header(len(envelopes)) + b"".join(envelopes)
