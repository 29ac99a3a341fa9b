"""Reports of numbered devices, each a good one unless told otherwise."""

from functools import lru_cache
from hashlib import sha256

from deniable.messages import Manifest, Report, derive_report_key, sign_report
from deniable.stores.values import RECEIPT_KEY_BYTES, Receipt
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
    return Receipt(survey.survey_id, epoch, _key(device, survey.survey_id, epoch), response, issuer)


@lru_cache(maxsize=4096)
def _key(device: int, survey_id: bytes, epoch: int) -> bytes:
    """Return the key by which a receipt knows the device; nothing need be signed for it."""
    return derive_report_key(secret(device), survey_id, epoch).public_key[:RECEIPT_KEY_BYTES]
