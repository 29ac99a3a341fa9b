"""What a seal vouches for: the SHA-256 of an epoch's counts, the same in every kind of store."""

import hashlib

from deniable.messages.codec import encode
from deniable.stores.store import Counts

__all__ = ["counts_digest"]


def counts_digest(survey_id: bytes, epoch: int, counts: Counts) -> bytes:
    """Return the digest of all that was counted in an epoch.

    It is over the canonical msgpack of ``[survey_id, epoch, [[issuer, response, reports], …]]``,
    sorted, without zeros; the issuer is empty where nobody vouched.

    Args:
        survey_id: which survey.
        epoch: which epoch.
        counts: everything that was counted, shown or not.

    Returns:
        32 bytes.
    """
    rows = [
        [issuer or b"", response, reports]
        for issuer, row in counts.items()
        for response, reports in enumerate(row)
        if reports
    ]
    return hashlib.sha256(encode([survey_id, epoch, sorted(rows)])).digest()
