"""Findings: the states in which checks find a collector, and remedies."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The state of a collector by a check: as it must be, to be looked at, or wrong."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The finding of a check, without secrets, and a remedy; empty if none is needed."""

    status: Status
    text: str
    remedy: str = ""


def good(text: str) -> Diagnosis:
    """Return a finding that nothing is to be done."""
    return Diagnosis(Status.OK, text)


def doubtful(text: str, remedy: str) -> Diagnosis:
    """Return a finding that somebody should look at."""
    return Diagnosis(Status.WARN, text, remedy)


def bad(text: str, remedy: str) -> Diagnosis:
    """Return a finding that something is wrong."""
    return Diagnosis(Status.FAIL, text, remedy)
