"""Checks whether a survey takes a report: those of the protocol that need no store."""

from deniable.messages.blind import check_token
from deniable.messages.ed25519 import Verify, verify
from deniable.messages.manifest import Manifest
from deniable.messages.refusals import Refusal, RefusalCode
from deniable.messages.report import SignedReport


def check_report(
    signed: SignedReport, manifest: Manifest, now: float, verify: Verify = verify
) -> bytes | None:
    """Check a report against the survey that it names, in the protocol's order.

    The report was read and its key checked. What is returned is the id of the issuer that
    vouches for the device, None in an open survey.

    Raises:
        Refusal: out-of-domain, too-early, epoch-closed, bad-signature, not-enrolled or malformed;
            the first that applies.
    """
    report, schedule = signed.report, manifest.schedule
    if report.epoch >= schedule.epochs:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such epoch")
    if now < schedule.opens(report.epoch):
        raise Refusal(RefusalCode.TOO_EARLY, "the epoch has not begun")
    if now >= schedule.closes(report.epoch):
        raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch and its grace are over")
    if report.response >= manifest.mechanism.responses:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such response")
    signed.verify_signature(verify)
    if manifest.enrolment.mode == "blind":
        return check_token(manifest, report.epoch, signed.public_key, signed.credential)
    if manifest.enrolment.mode == "certificate":
        return signed.verify_credential(manifest.enrolment.issuers, verify)
    if signed.credential is not None:
        # One report has one form: an open survey has nobody who could have signed this.
        raise Refusal(RefusalCode.MALFORMED, "an open survey's report has no credential")
    return None
