"""The judgement of one report, in the protocol's order, so that each fault has one code.

Form, key, survey, epoch, domain, signature, credential. The last check, against the receipts, is
the store's, since only its transaction can see them; nothing about receipts is revealed before a
valid signature. The body's size is judged before it is split.
"""

from collections.abc import Callable

from deniable.intake.libsodium import verify
from deniable.messages import Manifest, Refusal, RefusalCode, SignedReport
from deniable.messages.admissible import check_report
from deniable.stores.receipt import RECEIPT_KEY_BYTES, Receipt

KnownSurvey = Callable[[bytes], Manifest | None]
"""Looks up a published survey by its id."""


def judge_report(envelope: bytes, now: float, known_survey: KnownSurvey) -> Receipt:
    """Judge one element of an upload; return what the store is to keep of it, verified.

    Raises:
        Refusal: malformed, bad-key, unknown-survey, out-of-domain, too-early, epoch-closed,
            bad-signature or not-enrolled; the first that applies.
    """
    signed = SignedReport.from_envelope(envelope)
    manifest = known_survey(signed.report.survey_id)
    if manifest is None:
        raise Refusal(RefusalCode.UNKNOWN_SURVEY, "no such survey is published here")
    issuer = check_report(signed, manifest, now, verify)
    report = signed.report
    key = signed.public_key[:RECEIPT_KEY_BYTES]
    return Receipt(report.survey_id, report.epoch, key, report.response, issuer)
