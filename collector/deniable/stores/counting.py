"""Counts of an epoch, and the digest of them that a seal vouches for."""

import hashlib
from collections.abc import Iterable

from deniable.messages.codec import encode
from deniable.stores.values import Counts


def as_counts(rows: Iterable[tuple[bytes, int, int]]) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" is nobody."""
    counts: Counts = {}
    for issuer, response, reports in rows:
        counts.setdefault(issuer or None, {})[response] = reports
    return counts


def counts_digest(survey_id: bytes, epoch: int, counts: Counts) -> bytes:
    """Return the SHA-256 of all that was counted in an epoch, shown or not.

    It is over the canonical msgpack of ``[survey_id, epoch, [[issuer, response, reports], …]]``,
    sorted, without zeros; the issuer is empty where nobody vouched.
    """
    by_issuer = {issuer or b"": vouched for issuer, vouched in counts.items()}
    rows = [
        (issuer, response, by_issuer[issuer][response])
        for issuer in sorted(by_issuer)
        for response in sorted(by_issuer[issuer])
        if by_issuer[issuer][response]
    ]
    return hashlib.sha256(encode([survey_id, epoch, rows])).digest()
