"""Why a message was not taken: the stable codes of the protocol, each in one place.

- ``Refusal``: a message from elsewhere is not acceptable; carries a wire code.
- ``InvalidManifest``: an operator's own survey definition is wrong; names the field.
"""

from enum import StrEnum

__all__ = ["ERROR_TYPE_PREFIX", "InvalidManifest", "Refusal", "RefusalCode"]

ERROR_TYPE_PREFIX = "urn:deniable:error:"
"""What precedes the code in the ``type`` of an RFC 9457 problem."""


class RefusalCode(StrEnum):
    """The codes that cross the wire. Their names never change."""

    MALFORMED = "malformed"
    BAD_KEY = "bad-key"
    BAD_SIGNATURE = "bad-signature"
    NOT_ENROLLED = "not-enrolled"
    UNKNOWN_SURVEY = "unknown-survey"
    OUT_OF_DOMAIN = "out-of-domain"
    TOO_EARLY = "too-early"
    EPOCH_CLOSED = "epoch-closed"
    SURVEY_ENDED = "survey-ended"
    REPORT_CONFLICT = "report-conflict"
    TOO_LARGE = "too-large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    OVERLOADED = "overloaded"
    STORAGE_FULL = "storage-full"
    STORE_FAILED = "store-failed"
    UNAUTHORISED = "unauthorised"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    BAD_QUERY = "bad-query"
    TOO_FEW_REPORTS = "too-few-reports"

    @property
    def http_status(self) -> int | None:
        """Return the status when the code speaks of a whole request; None if it never does."""
        return _HTTP_STATUS.get(self)


_HTTP_STATUS = {
    RefusalCode.MALFORMED: 400,
    RefusalCode.TOO_LARGE: 413,
    RefusalCode.UNSUPPORTED_MEDIA_TYPE: 415,
    RefusalCode.TIMEOUT: 408,
    RefusalCode.RATE_LIMITED: 429,
    RefusalCode.OVERLOADED: 503,
    RefusalCode.STORAGE_FULL: 507,
    RefusalCode.STORE_FAILED: 503,
    RefusalCode.UNAUTHORISED: 401,
    RefusalCode.FORBIDDEN: 403,
    RefusalCode.NOT_FOUND: 404,
    RefusalCode.BAD_QUERY: 400,
    RefusalCode.TOO_FEW_REPORTS: 409,
}


class Refusal(Exception):
    """A message from elsewhere that is not acceptable.

    Attributes:
        code: the wire code.
        reason: what rule it broke, in words that never repeat the message's content.
    """

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(f"{code.value}: {reason}")
        self.code = code
        self.reason = reason


class InvalidManifest(ValueError):
    """A survey definition that the protocol does not allow.

    Attributes:
        field: the manifest field at fault.
        reason: what it must be.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
