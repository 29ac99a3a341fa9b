"""Values for a store's arguments and results, and its errors."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from deniable.messages.codec import encode

Counts = dict[bytes | None, dict[int, int]]
"""The count of each response, by the issuer that vouched; None if nobody did.

Only issuers and responses with a counted report are included, since there may be 2^20 responses.
"""


@dataclass(frozen=True, slots=True)
class Seal:
    """The end of an epoch, after which its counts are final."""

    epoch: int
    sealed_at: int  # Unix seconds, by the clock of the sealing process
    reports: int | None  # None for users who may not see all reports
    digest: bytes  # of the counts, by :func:`counts_digest`; empty for the same users
    pruned_at: int | None  # Unix seconds when the receipts were erased; None while they are kept


def as_counts(rows: Iterable[tuple[bytes, int, int]]) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" means none."""
    counts: Counts = {}
    for issuer, response, reports in rows:
        counts.setdefault(issuer or None, {})[response] = reports
    return counts


def counts_digest(
    survey_id: bytes, epoch: int, counts: Mapping[bytes | None, Mapping[int, int]]
) -> bytes:
    """Return the SHA-256 of all counts of an epoch, shown or not.

    The digest is computed over the canonical msgpack of ``[survey_id, epoch, [[issuer, response,
    reports], …]]``, sorted, without zeros; the issuer is empty if nobody vouched.
    """
    rows = sorted(
        (issuer or b"", response, reports)
        for issuer, vouched in counts.items()
        for response, reports in vouched.items()
        if reports
    )
    return hashlib.sha256(encode([survey_id, epoch, rows])).digest()


MIGRATED: Final = (
    "a newer version of deniable migrated the store while it was open; upgrade deniable and "
    "restart it"
)


class StoreError(Exception):
    """The store could not carry out the request, and did no part of it."""


class Unreachable(StoreError):
    """The database does not answer, or is not at this address."""


class NotAdmitted(StoreError):
    """The database refuses this role or password, or lacks a part of its address."""


class StoreFull(StoreError):
    """The disk is full."""


class StoreLocked(StoreError):
    """Another program kept the store's file locked during the whole patience."""


class Overloaded(StoreError):
    """More reports wait for their commit than the store allows."""


class SurveyConflict(StoreError):
    """A different manifest of this name has this sequence or a higher one."""


class UnknownSchema(StoreError):
    """The store was written by a different version of deniable."""


RECEIPT_KEY_BYTES: Final = 16
"""Bytes of a report's public key that distinguish a repeat from another device's report.

Colliding with somebody else's key takes 2^128 keys; a collision of two keys of one's own takes
2^64, and such a pair counts once.
"""

KEPT_SECONDS: Final = 86_400
"""The least time, in seconds, for which receipts are kept after their epoch's seal."""


class Receipt(NamedTuple):
    """A report as stored: enough of its key to recognise repeats, and the response.

    A tuple, since a collector creates some ten thousand of them a second. The key is the first 16
    bytes of the report's key. The issuer vouched for the device; it is None in open surveys.
    """

    survey_id: bytes
    epoch: int
    key: bytes
    response: int
    issuer: bytes | None = None

    def __repr__(self) -> str:
        return f"Receipt(survey_id={self.survey_id.hex()[:16]}, epoch={self.epoch})"


class Verdict(StrEnum):
    """The verdict on one report; the first refusal that applies, in this order.

    ENDED, SEALED, DISTRUSTED: whether such a report is a repeat is not checked.
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    SEALED = "sealed"
    ENDED = "ended"
    DISTRUSTED = "distrusted"


class Role(StrEnum):
    """The role of a token's holder: an operator may do whatever an analyst may.

    A reader may see one survey's figures for a limited time: such a token is a shared link.
    """

    READER = "reader"
    ANALYST = "analyst"
    OPERATOR = "operator"


class Token(NamedTuple):
    """An issued token, without its secret."""

    digest: bytes  # SHA-256 of the token
    role: Role
    label: str  # its holder, for the operator's own records
    created_at: int  # Unix seconds
    survey: str | None = None  # for a reader: the name of its only survey
    ends_at: int | None = None  # for a reader: Unix seconds when it expires

    def runs(self, now: float) -> bool:
        """Return whether the token has not expired."""
        return self.ends_at is None or now < self.ends_at

    def opens(self, survey: str, now: float) -> bool:
        """Return whether the token's holder may see the figures of a survey."""
        return self.runs(now) and self.survey in {None, survey}


MOST_NOTE: Final = 120
"""The most characters of a note's text."""
MOST_NOTES: Final = 200
"""The most notes of a name."""


class Note(NamedTuple):
    """An operator's note about the surveys of a name: an event at a Unix second."""

    at: int
    text: str


def check_note(text: str) -> str:
    """Return a note's text without surrounding space.

    Raises:
        ValueError: if the note is empty, too long, or has invisible characters.
    """
    text = text.strip()
    # Control and format characters, surrogates and the like would hide or reorder text.
    if not text or len(text) > MOST_NOTE or not text.isprintable():
        raise ValueError(f"a note must have 1 to {MOST_NOTE} visible characters, on one line")
    return text


class StoredLog(NamedTuple):
    """The public log's entries (from some position on) and checkpoints; empty if there is none."""

    entries: tuple[bytes, ...]
    newest: str  # the newest signed checkpoint, with the cosignatures so far
    witnessed: str  # the newest checkpoint that a quorum of the collector's witnesses cosigned


class LogExtension(NamedTuple):
    """Entries to be appended to the public log, and the checkpoint that covers them."""

    size: int  # of the log before the extension
    entries: tuple[bytes, ...]
    checkpoint: str
