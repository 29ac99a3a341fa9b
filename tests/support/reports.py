"""Reports of numbered devices, each a good one unless told otherwise."""

from functools import lru_cache
from hashlib import sha256

from deniable.messages import Manifest, Report, SignedReport, sign_report
from tests.support.surveys import MANIFEST


def secret(device: int) -> bytes:
    """Return the secret of a device."""
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
    """Return the bytes that the device uploads."""
    return sign_report(secret(device), Report(survey.survey_id, epoch, response), credential)


def report(
    device: int, response: int = 0, *, epoch: int = 0, survey: Manifest = MANIFEST
) -> SignedReport:
    """Return the same report as intake hands it to the store."""
    return SignedReport.from_envelope(envelope(device, response, epoch=epoch, survey=survey))
