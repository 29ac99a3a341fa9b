"""What a store is given and gives."""

from dataclasses import dataclass
from enum import StrEnum

Counts = dict[bytes | None, dict[int, int]]
"""How often each response was counted, by the issuer that vouched; None where nobody did.

Issuers and responses are in it if at least one of their reports was counted: there may be 2^20
responses.
"""


class Verdict(StrEnum):
    """What became of one report; of those that refuse it the first that applies, in this order.

    ENDED, SEALED, DISTRUSTED: whether such a report repeats another is not looked at.
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    SEALED = "sealed"
    ENDED = "ended"
    DISTRUSTED = "distrusted"


class Role(StrEnum):
    """What a token allows: an operator may do whatever an analyst may."""

    ANALYST = "analyst"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Seal:
    """The end of an epoch: from it on its counts stand."""

    epoch: int
    sealed_at: int  # Unix seconds, by the clock of whoever sealed it
    reports: int
    digest: bytes  # SHA-256 of the counts (:func:`deniable.stores.counting.counts_digest`)
    pruned_at: int | None  # Unix seconds when the receipts were erased; None while they are kept


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token that somebody holds."""

    digest: bytes  # SHA-256 of the token
    role: Role
    label: str  # whose it is, for the operator's own records
    created_at: int  # Unix seconds
