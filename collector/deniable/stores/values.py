"""Values that a store takes and returns."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on one report; of those that refuse it the first that applies, in this order.

    ENDED, SEALED, DISTRUSTED: whether such a report repeats another is not looked at.
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    SEALED = "sealed"
    ENDED = "ended"
    DISTRUSTED = "distrusted"


class Role(StrEnum):
    """The role of a token's holder: an operator may do whatever an analyst may."""

    ANALYST = "analyst"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that somebody holds, without its secret."""

    digest: bytes  # SHA-256 of the token
    role: Role
    label: str  # whose it is, for the operator's own records
    created_at: int  # Unix seconds
