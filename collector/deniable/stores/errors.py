"""The errors of a store."""

from typing import Final

MIGRATED: Final = (
    "another version of deniable has migrated the store since this one opened it; upgrade deniable,"
    " and restart it"
)


class StoreError(Exception):
    """The store could not do what was asked; nothing of it was done."""


class Unreachable(StoreError):
    """The database does not answer, or not at this address."""


class NotAdmitted(StoreError):
    """The database lets this role or password not in, or has not what its address names."""


class StoreFull(StoreError):
    """The disk takes no more."""


class StoreLocked(StoreError):
    """Another program has kept the store's file from being written for as long as it was waited."""


class StoreMoved(StoreError):
    """The store was moved to another place, and takes nothing more."""


class Overloaded(StoreError):
    """More reports wait for their commit than the store is told to hold."""


class SurveyConflict(StoreError):
    """Another manifest of this name has this sequence or a higher one."""


class RotationConflict(StoreError):
    """One of the two keys was rotated before, or too many were."""


class LogConflict(StoreError):
    """The public log has grown since what is to be appended to it was signed."""


class NotEmpty(StoreError):
    """The store holds something, and would have to be empty to be filled."""


class NotSealed(StoreError):
    """The epoch has no seal, or had none for long enough: its receipts are still needed."""


class UnknownSchema(StoreError):
    """The store was written by another version of deniable."""
