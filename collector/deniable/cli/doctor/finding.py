"""What one look found, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Status", "bad", "doubtful", "good"]


class Status(StrEnum):
    """How it is: as it must be, to be looked at, or wrong."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found.

    Attributes:
        check: what was looked at.
        status: how it is.
        found: what was seen, without secrets.
        remedy: what to do; empty if nothing.
    """

    check: str
    status: Status
    found: str
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain values for JSON."""
        return {
            "check": self.check,
            "status": self.status.value,
            "found": self.found,
            "remedy": self.remedy,
        }


def good(check: str, found: str) -> Finding:
    """Return that it is as it must be."""
    return Finding(check, Status.OK, found)


def doubtful(check: str, found: str, remedy: str) -> Finding:
    """Return that somebody should look at it."""
    return Finding(check, Status.WARN, found, remedy)


def bad(check: str, found: str, remedy: str) -> Finding:
    """Return that it is wrong."""
    return Finding(check, Status.FAIL, found, remedy)
