"""Seals: what a collector says of an epoch's counts once they stand, and everybody can check."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deniable.messages.codec import encode

Counts = dict[bytes | None, dict[int, int]]
"""How often each response was counted, by the issuer that vouched; None where nobody did.

Issuers and responses are in it if at least one of their reports was counted: there may be 2^20
responses.
"""


@dataclass(frozen=True, slots=True)
class Seal:
    """The end of an epoch: from it on its counts stand."""

    epoch: int
    sealed_at: int  # Unix seconds, by the clock of whoever sealed it
    reports: int | None  # None to whoever is not shown all of them
    digest: bytes  # of the counts, by :func:`counts_digest`; empty likewise
    pruned_at: int | None  # Unix seconds when the receipts were erased; None while they are kept
    cut_at: int | None = None
    """Unix seconds since when a PostgreSQL store is in the history in which it was sealed.

    None of one that had no other. A standby that was promoted then may have lacked reports that had
    been acknowledged.
    """


def as_counts(rows: Iterable[tuple[bytes, int, int]]) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" is nobody."""
    counts: Counts = {}
    for issuer, response, reports in rows:
        counts.setdefault(issuer or None, {})[response] = reports
    return counts


def counts_digest(
    survey_id: bytes, epoch: int, counts: Mapping[bytes | None, Mapping[int, int]]
) -> bytes:
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
