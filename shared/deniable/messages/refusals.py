"""Refusals of messages: the stable codes of the protocol, each in one place.

- ``Refusal``: a message from elsewhere is not acceptable; carries a wire code.
- ``InvalidManifest``: an operator's own survey definition is wrong; names the field.
"""

from enum import Enum, StrEnum

ERROR_TYPE_PREFIX = "urn:deniable:error:"
"""What precedes the code in the ``type`` of an RFC 9457 problem."""


class Remedy(Enum):
    """The step of a device after a refusal."""

    DROP = "drops it"
    TOO_LATE = "drops it; it may have been counted, if an earlier send went unanswered"
    LATER = "backs off, same bytes"
    WAIT = "backs off, same bytes, and the answer says Retry-After"


class RefusalCode(StrEnum):
    """The codes that cross the wire, one row each. Their names never change.

    Devices, collector, issuer, metrics and ``/openapi.json`` follow these rows.

    Attributes:
        remedy: what a device does.
        http_status: of an answer that refuses a whole request; None if the code never does.
        issuer_status: the same of an issuer, where a request is about one key.
    """

    remedy: Remedy
    http_status: int | None
    issuer_status: int
    _value_: str

    def __new__(
        cls,
        value: str,
        remedy: Remedy = Remedy.LATER,
        http_status: int | None = None,
        issuer_status: int | None = None,
    ) -> "RefusalCode":
        """Make one code of its row."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.remedy = remedy
        code.http_status = http_status
        code.issuer_status = issuer_status or http_status or 400
        return code

    MALFORMED = "malformed", Remedy.DROP, 400
    BAD_KEY = "bad-key", Remedy.DROP
    BAD_SIGNATURE = "bad-signature", Remedy.DROP
    NOT_ENROLLED = "not-enrolled", Remedy.DROP, None, 409
    UNKNOWN_SURVEY = "unknown-survey", Remedy.LATER, None, 404
    OUT_OF_DOMAIN = "out-of-domain", Remedy.DROP
    TOO_EARLY = "too-early", Remedy.LATER, None, 409
    EPOCH_CLOSED = "epoch-closed", Remedy.TOO_LATE, None, 409
    SURVEY_ENDED = "survey-ended", Remedy.TOO_LATE
    REPORT_CONFLICT = "report-conflict", Remedy.DROP
    TOO_LARGE = "too-large", Remedy.DROP, 413
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", Remedy.DROP, 415
    TIMEOUT = "timeout", Remedy.WAIT, 408
    RATE_LIMITED = "rate-limited", Remedy.WAIT, 429
    OVERLOADED = "overloaded", Remedy.WAIT, 503
    STORAGE_FULL = "storage-full", Remedy.WAIT, 507
    STORE_FAILED = "store-failed", Remedy.WAIT, 503
    UNAUTHORISED = "unauthorised", Remedy.LATER, 401
    FORBIDDEN = "forbidden", Remedy.LATER, 403
    NOT_FOUND = "not-found", Remedy.LATER, 404
    BAD_QUERY = "bad-query", Remedy.LATER, 400
    TOO_FEW_REPORTS = "too-few-reports", Remedy.LATER, 409


class Refusal(Exception):
    """A message from elsewhere that is not acceptable; the reason never repeats its content."""

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(f"{code.value}: {reason}")
        self.code = code
        self.reason = reason


class InvalidManifest(ValueError):
    """A survey definition that the protocol does not allow, by the field at fault."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
