"""Findings of checks: the state of a collector, the remedies, and their document."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deniable.documents import Column, Document, Level, Table


class Status(StrEnum):
    """The state that a check found: correct, doubtful, or wrong."""

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
    """Return a finding that needs no action."""
    return Diagnosis(Status.OK, text)


def doubtful(text: str, remedy: str) -> Diagnosis:
    """Return a finding that somebody should look at."""
    return Diagnosis(Status.WARN, text, remedy)


def bad(text: str, remedy: str) -> Diagnosis:
    """Return a finding that something is wrong."""
    return Diagnosis(Status.FAIL, text, remedy)


_LEVELS: Final = {Status.WARN: Level.WARNING, Status.FAIL: Level.ALERT}


_COLUMNS: Final = (
    Column("status", "", "name"),
    Column("check", "", "name"),
    Column("found", "", cell=lambda row: "\n→ ".join(filter(None, (row["found"], row["remedy"])))),
    Column("remedy"),
)


def findings_document(findings: Sequence[tuple[str, Diagnosis]]) -> Document:
    """Return the document of findings, by the names of their checks."""
    rows = [
        {
            "status": finding.status.value,
            "check": check,
            "found": finding.text,
            "remedy": finding.remedy,
            "caution": _LEVELS.get(finding.status),
        }
        for check, finding in findings
    ]
    counts = [sum(finding.status is status for _, finding in findings) for status in Status]
    note = "{} ok, {} to look at, {} wrong".format(*counts)
    return Document(tables=[Table(_COLUMNS, rows)], notes=[note])
