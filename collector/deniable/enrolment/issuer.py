"""The issuer of certificates, and enrolment over HTTP for any framework.

``account_issuer.py`` has the rules I1 to I4. The same key gets a certificate on every request: the
same bytes, or after a rotation of the issuer's key, one by the new key.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Unpack

from deniable.counterparts.bodies import pack_problem
from deniable.enrolment.account_issuer import (
    AccountIssuer,
    SurveysOfIssuer,
    check_open,
    checked_account,
)
from deniable.enrolment.blind_issuer import BlindIssuer
from deniable.enrolment.record import IssuanceRecord, IssuerError, NotListed
from deniable.key_files import KeyFileError
from deniable.messages import (
    PROBLEM_JSON,
    Manifest,
    Refusal,
    RefusalCode,
    SigningKey,
    check_public_key,
    codec,
    enrolment_statement,
)
from deniable.messages.ed25519 import CONTEXT_ENROL, KEY_BYTES
from deniable.messages.enrolment import MAX_ENROLMENT_BYTES
from deniable.messages.refusals import Remedy
from deniable.privacy_pass import RESPONSE_TYPE

_HOLDER: Final = b"deniable/issuance-holder/v1\0"


class Issuer(AccountIssuer):
    """An issuer that vouches for devices with certificates; safe to share between threads.

    Args:
        key: the issuer's own; its public half is listed in the surveys.
        record: the record of issues, which outlasts this object and this key.
        surveys: by keyword, as in :class:`SurveysOfIssuer`.

    Attributes:
        public_key: the key in surveys, histograms and ``distrust-issuer``: 32 bytes.
    """

    def __init__(
        self, key: SigningKey, record: IssuanceRecord, **surveys: Unpack[SurveysOfIssuer]
    ) -> None:
        self.public_key: Final = key.public_key
        self._key = key
        super().__init__(record, **surveys)

    def issue(
        self, account: str, survey_id: bytes, epoch: int, public_key: bytes, now: float
    ) -> bytes:
        """Return the certificate: the same one if this account asks again for this key.

        Args:
            account: the app's permanent, unique name for it.
            survey_id: 32 bytes.
            epoch: its number.
            public_key: the device's, for this survey and epoch: 32 bytes.
            now: Unix seconds.

        Raises:
            AnotherKey: if the account has another key of the name and epoch, or a token.
            Refusal: bad-key, unknown-survey, out-of-domain, too-early or epoch-closed.
            RecordError: if it could not be recorded; nothing was issued.
            TypeError, ValueError: for an invalid account name; the app's own bug.
        """
        name = checked_account(account)
        check_public_key(public_key)
        manifest = self._surveys.get(survey_id)
        if manifest is None:
            raise Refusal(RefusalCode.UNKNOWN_SURVEY, "this issuer does not vouch for this survey")
        over = check_open([manifest], epoch, now)
        holder = self._digest(_HOLDER, [survey_id, public_key])
        self._claim(name, manifest.name, epoch, holder, over)
        return self._key.sign(CONTEXT_ENROL, enrolment_statement(survey_id, epoch, public_key))

    def _check_listed(self, manifest: Manifest) -> None:
        if self.public_key not in manifest.enrolment.issuers:
            raise NotListed(
                f"{manifest.name} does not list this issuer; publish it with "
                f'enrolment = "certificate" and issuers = ["{self.public_key.hex()}"]'
            )


_LOG = logging.getLogger("deniable.issuer")
MEDIA_TYPE: Final = "application/msgpack"
_RETRY_SECONDS: Final = "60"
_EPOCH: Final = re.compile("0|[1-9][0-9]{0,8}", re.ASCII)
_UNPROCESSABLE: Final = 422


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    """The HTTP answer to a request for a certificate or a token, for the backend to send."""

    status: int
    content_type: str  # that of the requested object, or RFC 9457 for a refusal
    body: bytes = field(repr=False)
    retry_after: str | None = None  # seconds; None for no such header


def answer_enrolment(issuer: Issuer, account: str, body: bytes, now: float) -> EnrolmentAnswer:
    """Judge the request of an account that the app has authenticated, and answer it.

    It waits until the record is durable.
    """

    def certificate() -> bytes:
        survey_id, epoch, public_key = read_enrolment_statement(body)
        return codec.encode(issuer.issue(account, survey_id, epoch, public_key, now))

    return _answer(certificate, MEDIA_TYPE)


def answer_token_request(
    issuer: BlindIssuer, account: str, survey: str, epoch: str, body: bytes, now: float
) -> EnrolmentAnswer:
    """Judge an account's request for a token, and answer it, as :func:`answer_enrolment` does.

    Survey and epoch are the last two parts of the path: ``POST /v1/enrolments/{name}/{epoch}``.
    """

    def blind_signature() -> bytes:
        if _EPOCH.fullmatch(epoch) is None:
            raise Refusal(RefusalCode.OUT_OF_DOMAIN, "not an epoch number")
        return issuer.issue(account, survey, int(epoch), body, now)

    # RFC 9578, section 6.2, has a separate status for requests of another form.
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
    except (IssuerError, KeyFileError) as error:
        _LOG.error("nothing is issued: %s", error)
        return refuse_enrolment(
            RefusalCode.OVERLOADED, "the issuer is temporarily unavailable; try again later"
        )
    return EnrolmentAnswer(200, content_type, body)


def read_enrolment_statement(statement: bytes) -> tuple[bytes, int, bytes]:
    """Read a statement's canonical bytes; return survey id, epoch and public key, unchecked."""
    if len(statement) > MAX_ENROLMENT_BYTES:
        raise Refusal(RefusalCode.TOO_LARGE, f"at most {MAX_ENROLMENT_BYTES} bytes per request")
    survey_id, epoch, public_key = codec.exact_array(codec.decode(statement), 3)
    return (
        codec.binary(survey_id, KEY_BYTES),
        codec.uint(epoch),
        codec.binary(public_key, KEY_BYTES),
    )
