"""Values that a store takes and returns."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


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
    """The role of a token's holder: an operator may do whatever an analyst may.

    A reader may see one survey's figures, for a time: such a token is a link that was shared.
    """

    READER = "reader"
    ANALYST = "analyst"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that somebody holds, without its secret."""

    digest: bytes  # SHA-256 of the token
    role: Role
    label: str  # whose it is, for the operator's own records
    created_at: int  # Unix seconds
    survey: str | None = None  # a reader's: the name of the only one that it is for
    ends_at: int | None = None  # a reader's: Unix seconds from which on it opens nothing

    def runs(self, now: float) -> bool:
        """Return whether its end is still to come, if it has one."""
        return self.ends_at is None or now < self.ends_at

    def opens(self, survey: str, now: float) -> bool:
        """Return whether its holder may see the figures of a survey."""
        return self.runs(now) and self.survey in {None, survey}


class StoredLog(NamedTuple):
    """The public log's entries (from some position on) and checkpoints; empty if there is none."""

    entries: tuple[bytes, ...]
    newest: str  # the newest signed checkpoint, with the cosignatures that have come
    witnessed: str  # the newest that a quorum of the collector's witnesses cosigned


class LogExtension(NamedTuple):
    """Entries to be appended to the public log, and the checkpoint that covers them."""

    size: int  # of the log before
    entries: tuple[bytes, ...]
    checkpoint: str
