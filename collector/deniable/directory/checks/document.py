"""The document of the findings of checks."""

from collections.abc import Sequence
from typing import Final

from deniable.directory.checks.finding import Diagnosis, Status
from deniable.documents import Column, Document, Level, Table

_LEVELS: Final = {Status.WARN: Level.WARNING, Status.FAIL: Level.ALERT}


_COLUMNS: Final = (
    Column("status", "", "name"),
    Column("check", "", "name"),
    Column("found", "", cell=lambda row: "\n→ ".join(filter(None, (row["found"], row["remedy"])))),
    Column("remedy"),
)


def findings_document(findings: Sequence[tuple[str, Diagnosis]]) -> Document:
    """Return findings, by the names of their checks."""
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
