"""What one look found, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How it is: as it must be, to be looked at, or wrong."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found, without secrets, and what to do; empty if nothing."""

    status: Status
    found: str
    remedy: str = ""


def good(found: str) -> Finding:
    """Return that it is as it must be."""
    return Finding(Status.OK, found)


def doubtful(found: str, remedy: str) -> Finding:
    """Return that somebody should look at it."""
    return Finding(Status.WARN, found, remedy)


def bad(found: str, remedy: str) -> Finding:
    """Return that it is wrong."""
    return Finding(Status.FAIL, found, remedy)
