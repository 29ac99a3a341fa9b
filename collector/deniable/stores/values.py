"""What a store is given and gives."""

from dataclasses import dataclass
from enum import StrEnum


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
class Token:
    """What is known of a token that somebody holds."""

    digest: bytes  # SHA-256 of the token
    role: Role
    label: str  # whose it is, for the operator's own records
    created_at: int  # Unix seconds
