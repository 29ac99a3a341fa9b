"""Refusals: the stable codes of the protocol, each in one place, and the JSON that carries them.

- ``Refusal``: an external message is unacceptable; it has a code of the protocol.
- ``InvalidManifest``: an operator's own survey definition is wrong; it names the field.

A device reads the answer to an upload as strictly as a collector writes it.
"""

import json
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from deniable.mechanisms.kind import InvalidManifest as InvalidManifest

ERROR_TYPE_PREFIX = "urn:deniable:error:"
"""The prefix of the code in the ``type`` of an RFC 9457 problem."""


class Remedy(Enum):
    """A device's next step after a refusal."""

    DROP = "drops the report"
    TOO_LATE = "drops the report; an earlier attempt without a reply may have been counted"
    LATER = "sends the same bytes later"
    WAIT = "sends the same bytes after Retry-After"


class RefusalCode(StrEnum):
    """The codes on the wire, one row each. Their names never change.

    Devices, collector, issuer and metrics follow these rows.

    Attributes:
        remedy: the device's next step.
        http_status: the status of an answer that refuses a whole request; None if none does.
        issuer_status: the status of an issuer's answer to a request about one key.
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
        """Create a code from its row."""
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
    """An unacceptable external message; the reason never repeats its content."""

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(f"{code.value}: {reason}")
        self.code = code
        self.reason = reason


MAX_ANSWER_BYTES: Final = 64 * 1024
"""The most bytes that a device reads of an upload's answer."""
USER_AGENT: Final = "deniable/1"
"""The User-Agent of every request: constant, so it does not distinguish devices."""
PROBLEM_JSON: Final = "application/problem+json"
"""The content type of an error (RFC 9457)."""


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """The 200 answer, with the fate of each report in the request.

    Duplicates had been counted before, with identical payloads; ``refused`` has the index in the
    request and the code of each refused report, by ascending index.
    """

    accepted: int
    duplicates: int
    refused: tuple[tuple[int, RefusalCode], ...] = ()

    @classmethod
    def from_json(cls, body: bytes, sent: int) -> "UploadAnswer | None":
        """Read the body of an answer to ``sent`` reports.

        None if it is anything but a well-formed answer whose numbers add up to the number sent: a
        captive portal's page must not make a device drop a report (D8).
        """
        fields = _json_object(body)
        if fields is None or set(fields) != {"accepted", "duplicates", "refused"}:
            return None
        accepted, duplicates, listed = fields["accepted"], fields["duplicates"], fields["refused"]
        refused = [] if listed == [] else _listed_refusals(listed, sent)
        if type(accepted) is not int or type(duplicates) is not int or refused is None:
            return None
        if min(accepted, duplicates) < 0 or accepted + duplicates + len(refused) != sent:
            return None
        return cls(accepted, duplicates, tuple(refused))


def _listed_refusals(listed: object, sent: int) -> list[tuple[int, RefusalCode]] | None:
    refused: list[tuple[int, RefusalCode]] = []
    for item in listed if type(listed) is list else [None]:
        if type(item) is not dict or set(item) != {"index", "code"}:
            return None
        index, code = item["index"], _known_code(item["code"])
        last = refused[-1][0] if refused else -1
        if type(index) is not int or not last < index < sent or code is None:
            return None
        refused.append((index, code))
    return refused


def read_problem(body: bytes, content_type: str, status: int) -> RefusalCode | None:
    """Return the code of a problem document if its type and status match, otherwise None."""
    if media_type(content_type) != PROBLEM_JSON:
        return None
    kind = (_json_object(body) or {}).get("type")
    if type(kind) is not str or not kind.startswith(ERROR_TYPE_PREFIX):
        return None
    code = _known_code(kind.removeprefix(ERROR_TYPE_PREFIX))
    return code if code is not None and code.http_status == status else None


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type header, without its parameters.

    Parsed by hand: the standard library's parser, which aiohttp also uses, takes half a second for
    some malicious headers.
    """
    return content_type.partition(";")[0].strip().lower()


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _known_code(value: object) -> RefusalCode | None:
    try:
        return RefusalCode(value) if type(value) is str else None
    except ValueError:
        return None
