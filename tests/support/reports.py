"""Reports of numbered devices, each a good one unless told otherwise."""

from functools import lru_cache
from hashlib import sha256

from deniable.messages import Manifest, Report, SignedReport, sign_report
from deniable.messages.receipt import RECEIPT_KEY_BYTES, Receipt
from tests.support.surveys import MANIFEST


def secret(device: int) -> bytes:
    return sha256(f"device {device}".encode()).digest()


@lru_cache(maxsize=4096)
def envelope(
    device: int,
    response: int = 0,
    *,
    epoch: int = 0,
    survey: Manifest = MANIFEST,
    credential: bytes | None = None,
) -> bytes:
    return sign_report(secret(device), Report(survey.survey_id, epoch, response), credential)


def report(
    device: int,
    response: int = 0,
    *,
    epoch: int = 0,
    survey: Manifest = MANIFEST,
    issuer: bytes | None = None,
) -> Receipt:
    """Return what intake hands to the store of the same report, had this issuer vouched for it."""
    signed = SignedReport.from_envelope(envelope(device, response, epoch=epoch, survey=survey))
    key = signed.public_key[:RECEIPT_KEY_BYTES]
    return Receipt(survey.survey_id, epoch, key, response, issuer)
