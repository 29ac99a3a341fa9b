"""One enrolment over HTTP, whatever framework carries it: a body in, a status and a body out."""

import logging
from dataclasses import dataclass, field
from typing import Final

from deniable.enrolment.errors import RecordError
from deniable.enrolment.issuer import Issuer
from deniable.messages import (
    PROBLEM_JSON,
    Refusal,
    RefusalCode,
    pack_credential,
    pack_problem,
    read_enrolment_statement,
)

__all__ = ["MEDIA_TYPE", "EnrolmentAnswer", "answer_enrolment", "refuse_enrolment"]

_LOG = logging.getLogger("deniable.issuer")
MEDIA_TYPE: Final = "application/msgpack"
_RETRY_SECONDS: Final = "60"
_STATUS: Final = {
    RefusalCode.BAD_KEY: 400,
    RefusalCode.OUT_OF_DOMAIN: 400,
    RefusalCode.UNKNOWN_SURVEY: 404,
    RefusalCode.TOO_EARLY: 409,
    RefusalCode.EPOCH_CLOSED: 409,
    RefusalCode.NOT_ENROLLED: 409,
}
"""Of codes that in an upload speak of one report only; here they speak of the whole request."""


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    """What to send back.

    Attributes:
        status: of HTTP.
        content_type: msgpack for a certificate, RFC 9457 for a refusal.
        body: left out of the repr.
        retry_after: seconds, as the header has them; None for no such header.
    """

    status: int
    content_type: str
    body: bytes = field(repr=False)
    retry_after: str | None = None


def answer_enrolment(issuer: Issuer, account: str, body: bytes, now: float) -> EnrolmentAnswer:
    """Judge a request and answer it, once what is issued is durable. It waits for the disk.

    Args:
        issuer: who vouches.
        account: whom the app has authenticated.
        body: of the request, as it came.
        now: Unix seconds.
    """
    try:
        survey_id, epoch, public_key = read_enrolment_statement(body)
        credential = issuer.issue(account, survey_id, epoch, public_key, now)
    except Refusal as refusal:
        return refuse_enrolment(refusal.code, refusal.reason)
    except RecordError as error:
        _LOG.error("nothing is issued: %s", error)
        return refuse_enrolment(
            RefusalCode.OVERLOADED, "the issuer cannot record it now; ask again later"
        )
    return EnrolmentAnswer(200, MEDIA_TYPE, pack_credential(credential))


def refuse_enrolment(code: RefusalCode, detail: str) -> EnrolmentAnswer:
    """Return the problem document that refuses a request."""
    status = code.http_status or _STATUS.get(code, 400)
    retry = _RETRY_SECONDS if status in {408, 503} else None
    return EnrolmentAnswer(status, PROBLEM_JSON, pack_problem(code, detail, status), retry)
