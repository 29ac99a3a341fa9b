"""One enrolment over HTTP, whatever framework carries it: a body in, a status and a body out."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from deniable.enrolment.blind_issuer import BlindIssuer
from deniable.enrolment.errors import IssuerError
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
from deniable.privacy_pass import RESPONSE_TYPE

_LOG = logging.getLogger("deniable.issuer")
MEDIA_TYPE: Final = "application/msgpack"
_RETRY_SECONDS: Final = "60"
_EPOCH: Final = re.compile("0|[1-9][0-9]{0,8}", re.ASCII)
_UNPROCESSABLE: Final = 422


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    """The HTTP answer to a request for a certificate or a token, for the backend to send."""

    status: int
    content_type: str  # of what was asked for, or RFC 9457 for a refusal
    body: bytes = field(repr=False)
    retry_after: str | None = None  # seconds; None for no such header


def answer_enrolment(issuer: Issuer, account: str, body: bytes, now: float) -> EnrolmentAnswer:
    """Judge the request of an account that the app has authenticated, and answer it.

    It waits until what is issued is durable.
    """

    def certificate() -> bytes:
        survey_id, epoch, public_key = read_enrolment_statement(body)
        return pack_credential(issuer.issue(account, survey_id, epoch, public_key, now))

    return _answer(certificate, MEDIA_TYPE)


def answer_token_request(
    issuer: BlindIssuer, account: str, survey: str, epoch: str, body: bytes, now: float
) -> EnrolmentAnswer:
    """Judge an account's request for a token, and answer it; likewise.

    Survey and epoch are the last two parts of the path: ``POST /v1/enrolments/{name}/{epoch}``.
    """

    def blind_signature() -> bytes:
        if _EPOCH.fullmatch(epoch) is None:
            raise Refusal(RefusalCode.OUT_OF_DOMAIN, "no number of an epoch")
        return issuer.issue(account, survey, int(epoch), body, now)

    # RFC 9578, section 6.2, has a status of its own for requests of another form.
    return _answer(blind_signature, RESPONSE_TYPE, malformed=_UNPROCESSABLE)


def refuse_enrolment(code: RefusalCode, detail: str, status: int | None = None) -> EnrolmentAnswer:
    """Return the problem document that refuses a request."""
    status = status or code.issuer_status
    retry = _RETRY_SECONDS if code.remedy is Remedy.WAIT else None
    return EnrolmentAnswer(status, PROBLEM_JSON, pack_problem(code, detail, status), retry)


def _answer(
    issued: Callable[[], bytes], content_type: str, malformed: int | None = None
) -> EnrolmentAnswer:
    try:
        body = issued()
    except Refusal as refusal:
        status = malformed if refusal.code is RefusalCode.MALFORMED else None
        return refuse_enrolment(refusal.code, refusal.reason, status)
    except IssuerError as error:
        _LOG.error("nothing is issued: %s", error)
        return refuse_enrolment(
            RefusalCode.OVERLOADED, "the issuer cannot do it now; ask again later"
        )
    return EnrolmentAnswer(200, content_type, body)
