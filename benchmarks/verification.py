"""Verifying one report's signature: ours, and the bare libraries under it."""

import time
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_sign_open

from deniable.messages import SignedReport, verify
from deniable.messages.ed25519 import CONTEXT_REPORT


def verifications(reports: Sequence[SignedReport]) -> dict[str, Callable[[], float]]:
    """Return measurements of the processor seconds that one signature takes, its key being new."""

    def measured(check: Callable[[SignedReport], object]) -> Callable[[], float]:
        def measure() -> float:
            before = time.process_time()
            for report in reports:
                check(report)
            return (time.process_time() - before) / len(reports)

        return measure

    return {
        "ours": measured(_ours),
        "OpenSSL": measured(_openssl),
        "libsodium": measured(_libsodium),
    }


def _ours(report: SignedReport) -> None:
    verify(report.public_key, CONTEXT_REPORT, report.payload, report.signature)


def _openssl(report: SignedReport) -> None:
    key = Ed25519PublicKey.from_public_bytes(report.public_key)
    key.verify(report.signature, CONTEXT_REPORT + report.payload)


def _libsodium(report: SignedReport) -> None:
    crypto_sign_open(report.signature + CONTEXT_REPORT + report.payload, report.public_key)
