"""The store's contract: what every database behind a collector must promise.

S1. Acknowledged is durable: when ``add`` returns, what it accepted and what it called a duplicate
    survive the loss of power.
S2. First write wins: a report's identity is (survey, epoch, key). A repeat with the same response
    is a duplicate, with another a conflict; in index order, also within one batch or commit group.
S3. A report is counted exactly once, in the transaction that stores its receipt.
S4. A sealed epoch takes nothing, duplicates included: the seal is read in the same transaction.
    A seal is final. Its digest is that of the counts, which never change again.
S5. No column orders the receipts by arrival or links those of one device. What a database's own
    files tell beyond its tables is kept short, and documented (operations.md, postgres.md).
S6. Receipts are pruned only after their epoch's seal; counts stay.
S7. An ended survey takes nothing, and what a distrusted issuer vouches for is not taken: both are
    read in the transaction of the insert.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deniable.messages import Manifest, Rotation
from deniable.messages.receipt import KEPT_SECONDS, Receipt

__all__ = [
    "KEPT_SECONDS",
    "Counts",
    "NotAdmitted",
    "NotEmpty",
    "NotSealed",
    "Overloaded",
    "Role",
    "RotationConflict",
    "Seal",
    "Store",
    "StoreError",
    "StoreFull",
    "SurveyConflict",
    "Token",
    "UnknownSchema",
    "Unreachable",
    "Verdict",
]

Counts = dict[bytes | None, list[int]]
"""How often each response was counted, by the issuer that vouched; None where nobody did.

An issuer is in it if at least one of its reports was counted.
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
    """The end of an epoch: from it on its counts stand.

    Attributes:
        epoch: which.
        sealed_at: Unix seconds, by the clock of whoever sealed it.
        reports: how many were counted.
        digest: SHA-256 of the counts (:func:`deniable.stores.digest.counts_digest`).
        pruned_at: Unix seconds when the receipts were erased; None while they are kept.
    """

    epoch: int
    sealed_at: int
    reports: int
    digest: bytes
    pruned_at: int | None


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token that somebody holds.

    Attributes:
        digest: SHA-256 of the token.
        role: what it allows.
        label: whose it is, for the operator's own records.
        created_at: Unix seconds.
    """

    digest: bytes
    role: Role
    label: str
    created_at: int


class StoreError(Exception):
    """The store could not do what was asked; nothing of it was done."""


class Unreachable(StoreError):
    """The database does not answer, or not at this address."""


class NotAdmitted(StoreError):
    """The database lets this role or password not in, or has not what its address names."""


class StoreFull(StoreError):
    """The disk takes no more."""


class Overloaded(StoreError):
    """More reports wait for their commit than the store is told to hold."""


class SurveyConflict(StoreError):
    """Another manifest of this name has this sequence or a higher one."""


class RotationConflict(StoreError):
    """One of the two keys was rotated before, or too many were."""


class NotEmpty(StoreError):
    """The store holds something, and would have to be empty to be filled."""


class NotSealed(StoreError):
    """The epoch has no seal, or had none for long enough: its receipts are still needed."""


class UnknownSchema(StoreError):
    """The store was written by another version of deniable."""


class Store(Protocol):
    """Where a collector keeps what it acknowledged. Every method may raise StoreError."""

    async def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store verified reports durably; one verdict each, in their order."""

    async def publish(self, manifest: Manifest, envelope: bytes) -> None:
        """Add a survey; publishing the same one again changes nothing.

        Raises:
            SurveyConflict: if the name has another manifest of this or a higher sequence.
        """

    async def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""

    async def rotate(
        self, rotation: Rotation, envelope: bytes, sign_anew: Callable[[bytes], bytes]
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one.

        Args:
            rotation: the hand-over.
            envelope: it, signed.
            sign_anew: given a survey's envelope, returns the one that replaces it, of the same
                payload; or the same one.

        Returns:
            How many surveys were signed anew.

        Raises:
            RotationConflict: if one of the keys was rotated before, or too many were.
        """

    async def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""

    async def counts(self, survey_id: bytes, epoch: int, responses: int) -> Counts:
        """Return how often each response was counted, as figures may show it.

        Figures stand until max(1, minimum_reports) more are counted than they show. That is judged
        when they are read: reading takes the step, for every reader alike, and ``add`` does nothing
        for it.

        Args:
            survey_id: which survey.
            epoch: which epoch.
            responses: how many responses its mechanism has.

        Returns:
            Lists of that length; nothing while too few are counted.
        """

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch of which enough is counted for a figure; None if there is none.

        That is max(1, minimum_reports).
        """

    async def newest_counted(self, survey_id: bytes) -> int | None:
        """Return the newest epoch with at least one counted report; for upkeep alone."""

    async def seal(self, survey_id: bytes, epoch: int, now: int) -> Seal:
        """Seal an epoch for good; return the seal that stands, whoever set it first.

        Args:
            survey_id: which survey.
            epoch: which epoch.
            now: Unix seconds.
        """

    async def seals(self, survey_id: bytes) -> list[Seal]:
        """Return the seals of a survey, by epoch."""

    async def standing_seal(self, survey_id: bytes, epoch: int) -> Seal | None:
        """Return the seal of an epoch; None while it has none."""

    async def prune(self, survey_id: bytes, epoch: int, now: int) -> int:
        """Erase the receipts of an epoch; return how many there were.

        It may be interrupted, or done by several at once: what is left is erased by the next call,
        and ``pruned_at`` is set once nothing is.

        Raises:
            NotSealed: if it was not sealed at least 24 hours before ``now``.
        """

    async def end(self, survey_id: bytes, now: int) -> None:
        """End a survey for good: it takes no report of any epoch. The first end's time stands."""

    async def ended(self) -> dict[bytes, int]:
        """Return the ids of ended surveys, and when they ended in Unix seconds."""

    async def distrust(self, issuer: bytes, now: int) -> None:
        """Take no further report that this issuer vouches for, in any survey, for good."""

    async def distrusted(self) -> frozenset[bytes]:
        """Return the public keys of the issuers that are not trusted any more."""

    async def add_token(self, token: Token) -> None:
        """Keep the digest of a token.

        Raises:
            StoreError: if it is kept already.
        """

    async def tokens(self) -> list[Token]:
        """Return what is known of the tokens, the oldest first."""

    async def revoke_token(self, digest: bytes) -> bool:
        """Forget a token; return if there was such."""

    async def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest; None if there is none."""

    async def check(self) -> list[str]:
        """Recount the receipts, and return a line for each thing that is not as it must be.

        Counts equal their receipts where these are kept; seals' digests are those of the counts;
        what is shown is at most what is counted.
        """

    async def time(self) -> float:
        """Return Unix seconds by the store's own clock."""

    async def ping(self) -> None:
        """Return if the store can be read."""

    async def close(self) -> None:
        """Commit what was taken, then let go of the store."""
