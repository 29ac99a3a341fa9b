"""The judgement of one report, in the protocol's order, so that each fault has one code.

Form, key, survey, epoch, domain, signature, credential. The last check, against the receipts, is
the store's, since only its transaction can see them; nothing about receipts is revealed before a
valid signature. The body's size is judged before it is split.
"""

from collections.abc import Callable

from deniable.messages import Manifest, Refusal, RefusalCode, SignedReport

__all__ = ["KnownSurvey", "judge_report"]

KnownSurvey = Callable[[bytes], Manifest | None]
"""Looks up a published survey by its id."""


def judge_report(envelope: bytes, now: float, known_survey: KnownSurvey) -> SignedReport:
    """Judge one element of an upload.

    Args:
        envelope: the element's bytes.
        now: Unix seconds.
        known_survey: the published surveys.

    Returns:
        The report, verified, for the store to take.

    Raises:
        Refusal: malformed, bad-key, unknown-survey, out-of-domain, too-early, epoch-closed,
            bad-signature or not-enrolled; the first that applies.
    """
    signed = SignedReport.from_envelope(envelope)
    report = signed.report
    manifest = known_survey(report.survey_id)
    if manifest is None:
        raise Refusal(RefusalCode.UNKNOWN_SURVEY, "no such survey is published here")
    schedule = manifest.schedule
    if report.epoch >= schedule.epochs:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such epoch")
    if now < schedule.opens(report.epoch):
        raise Refusal(RefusalCode.TOO_EARLY, "the epoch has not begun")
    if now >= schedule.closes(report.epoch):
        raise Refusal(RefusalCode.EPOCH_CLOSED, "the epoch and its grace are over")
    if report.response >= manifest.mechanism.responses:
        raise Refusal(RefusalCode.OUT_OF_DOMAIN, "the survey has no such response")
    signed.verify_signature()
    if manifest.enrolment.mode == "certificate":
        signed.verify_credential(manifest.enrolment.issuers)
    elif signed.credential is not None:
        # One report has one form: an open survey has nobody who could have signed this.
        raise Refusal(RefusalCode.MALFORMED, "an open survey's report has no credential")
    return signed
