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
from deniable.messages.refusals import Remedy

_LOG = logging.getLogger("deniable.issuer")
MEDIA_TYPE: Final = "application/msgpack"
_RETRY_SECONDS: Final = "60"


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    """The HTTP answer to a request for a certificate, for the backend to send."""

    status: int
    content_type: str  # msgpack for a certificate, RFC 9457 for a refusal
    body: bytes = field(repr=False)
    retry_after: str | None = None  # seconds; None for no such header


def answer_enrolment(issuer: Issuer, account: str, body: bytes, now: float) -> EnrolmentAnswer:
    """Judge the request of an account that the app has authenticated, and answer it.

    It waits until what is issued is durable.
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
    status = code.issuer_status
    retry = _RETRY_SECONDS if code.remedy is Remedy.WAIT else None
    return EnrolmentAnswer(status, PROBLEM_JSON, pack_problem(code, detail, status), retry)
