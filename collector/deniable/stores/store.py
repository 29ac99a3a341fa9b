"""The store's contract: what every database behind a collector must promise.

S1. Acknowledged is durable: when ``add`` returns, what it accepted and what it called a duplicate
    survive the loss of power.
S2. First write wins: a report's identity is (survey, epoch, key). A repeat with the same response
    is a duplicate, with another a conflict; in index order, also within one batch or commit group.
S3. A report is counted exactly once, in the transaction that stores its receipt.
S4. A sealed epoch takes nothing, duplicates included: the seal is read in the same transaction.
S5. Nothing stored orders the receipts by arrival or links those of one device.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from deniable.messages import Manifest, Rotation
from deniable.messages.receipt import Receipt

__all__ = [
    "Overloaded",
    "Role",
    "RotationConflict",
    "Store",
    "StoreError",
    "StoreFull",
    "SurveyConflict",
    "UnknownSchema",
    "Verdict",
]


class Verdict(StrEnum):
    """What became of one report."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    SEALED = "sealed"


class Role(StrEnum):
    """What a token allows: an operator may do whatever an analyst may."""

    ANALYST = "analyst"
    OPERATOR = "operator"


class StoreError(Exception):
    """The store could not do what was asked; nothing of it was done."""


class StoreFull(StoreError):
    """The disk takes no more."""


class Overloaded(StoreError):
    """More reports wait for their commit than the store is told to hold."""


class SurveyConflict(StoreError):
    """Another manifest of this name has this sequence or a higher one."""


class RotationConflict(StoreError):
    """One of the two keys was rotated before, or too many were."""


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

    async def counts(self, survey_id: bytes, epoch: int, responses: int) -> list[int]:
        """Return how often each response was counted, as figures may show it (minimum_reports)."""

    async def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch that has a figure to show; None if there is none."""

    async def seal(self, survey_id: bytes, epoch: int) -> None:
        """Seal an epoch for good."""

    async def add_token(self, digest: bytes, role: Role, label: str) -> None:
        """Keep the digest of a token."""

    async def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest; None if there is none."""

    async def ping(self) -> None:
        """Return if the store can be read."""

    async def close(self) -> None:
        """Commit what was taken, then let go of the store."""
