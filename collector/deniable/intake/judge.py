"""The judgement of one report, in the protocol's order, so that each fault has one code.

Form, key, survey, epoch, domain, signature, credential. The last check, against the receipts,
belongs to the store, since only its transaction can see them; nothing about receipts is revealed
before a valid signature. The body's size is checked before it is split.
"""

from collections.abc import Callable

from deniable.counterparts.signing import verify_credential, verify_signature
from deniable.messages import Manifest, Refusal, RefusalCode, SignedReport
from deniable.messages.blind import check_token
from deniable.messages.ed25519 import Verify, verify
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt


def judge_report(
    envelope: bytes,
    now: float,
    known_survey: Callable[[bytes], Manifest | None],
    verify: Verify = verify,
) -> Receipt:
    """Judge one element of an upload; return its verified receipt, for the store.

    Raises:
        Refusal: malformed, bad-key, unknown-survey, out-of-domain, too-early, epoch-closed,
            bad-signature or not-enrolled; the first code that applies.
    """
    signed = SignedReport.from_envelope(envelope)
    manifest = known_survey(signed.report.survey_id)
    if manifest is None:
        raise Refusal(RefusalCode.UNKNOWN_SURVEY, "no such survey is published here")
    issuer = check_report(signed, manifest, now, verify)
    report = signed.report
    key = signed.public_key[:RECEIPT_KEY_BYTES]
    return Receipt(report.survey_id, report.epoch, key, report.response, issuer)


def check_report(
    signed: SignedReport, manifest: Manifest, now: float, verify: Verify = verify
) -> bytes | None:
    """Check a report against its survey, in the protocol's order.

    The report was read and its key checked. The result is the id of the issuer that vouches for the
    device, or None in an open survey.

    Raises:
        Refusal: out-of-domain, too-early, epoch-closed, bad-signature, not-enrolled or malformed;
            the first code that applies.
    """
    report, schedule = signed.report, manifest.schedule
    if report.epoch >= schedule.epochs:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such epoch")
    if now < schedule.opens(report.epoch):
        raise Refusal(RefusalCode.TOO_EARLY, "the epoch has not begun")
    if now >= schedule.closes(report.epoch):
        raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch and its grace period are over")
    if report.response >= manifest.mechanism.responses:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such response")
    verify_signature(signed, verify)
    if manifest.enrolment.mode == "blind":
        return check_token(manifest, report.epoch, signed.public_key, signed.credential)
    if manifest.enrolment.mode == "certificate":
        return verify_credential(signed, manifest.enrolment.issuers, verify)
    if signed.credential is not None:
        # A report has only one form: in an open survey nobody could have signed this.
        raise Refusal(RefusalCode.MALFORMED, "an open survey's report must have no credential")
    return None
