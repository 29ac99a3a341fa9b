"""Counts of an epoch, and the digest of them that a seal vouches for."""

import hashlib
from collections.abc import Collection

from deniable.messages.codec import encode
from deniable.stores.values import Counts


def as_counts(rows: Collection[tuple[bytes, int, int]], responses: int | None = None) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" is nobody.

    There are lists of as many responses, by default of as many as were seen.
    """
    if responses is None:
        responses = 1 + max((response for _, response, _ in rows), default=-1)
    counts: Counts = {}
    for issuer, response, reports in rows:
        vouched = counts.get(issuer or None)
        if vouched is None:
            vouched = counts[issuer or None] = [0] * responses
        vouched[response] = reports
    return counts


def counts_digest(survey_id: bytes, epoch: int, counts: Counts) -> bytes:
    """Return the SHA-256 of all that was counted in an epoch, shown or not.

    It is over the canonical msgpack of ``[survey_id, epoch, [[issuer, response, reports], …]]``,
    sorted, without zeros; the issuer is empty where nobody vouched.
    """
    rows = [
        [issuer or b"", response, reports]
        for issuer, row in counts.items()
        for response, reports in enumerate(row)
        if reports
    ]
    return hashlib.sha256(encode([survey_id, epoch, sorted(rows)])).digest()
