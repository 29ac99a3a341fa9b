"""Rows of a whole store, the same for every kind of store: backup and restore.

``Store.rows()`` reads everything as of *one moment*, while others write. It yields lists with one
type of row, at most :data:`ROWS_AT_ONCE` rows each. ``Store.fill()`` writes such lists into an
empty store, in *one* transaction. If reading its argument fails, or the store is not empty, nothing
is written.

Rows identify surveys by their id and issuers by their public key, never by a store's internal
numbers; the empty key means no issuer. The types come in the order of :data:`ROW_TYPES`, so that
rows follow the rows to which they refer. Each type may come several times, or never. Within a type
the order is meaningless, except for rotations, which come in order of publication.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from deniable.stores.rules import CATALOGUE, ISSUERS, Insertion, Row, Rule, Statement, first, lock
from deniable.stores.values import NotEmpty, StoreError

ROWS_AT_ONCE: Final = 10_000


class SurveyRow(NamedTuple):
    """A published survey, and the store's additional columns."""

    survey_id: bytes
    name: str
    sequence: int
    minimum: int
    envelope: bytes
    published_at: int | None


class RotationRow(NamedTuple):
    """A rotation of the authority's key."""

    old_key: bytes
    new_key: bytes
    sequence: int
    envelope: bytes


class DistrustRow(NamedTuple):
    """An issuer that is no longer trusted."""

    issuer: bytes
    distrusted_at: int


class ReceiptRow(NamedTuple):
    """The receipt of a report; ``key`` has 16 bytes."""

    survey_id: bytes
    epoch: int
    key: bytes
    response: int
    issuer: bytes


class CountRow(NamedTuple):
    """The count of a response; never 0."""

    survey_id: bytes
    epoch: int
    issuer: bytes
    response: int
    reports: int


class ShownRow(NamedTuple):
    """The count of a response when figures took their last step."""

    survey_id: bytes
    epoch: int
    issuer: bytes
    response: int
    reports: int


class SealRow(NamedTuple):
    """A seal; ``pruning_at`` is the start of its receipts' erasure, None if it has not started."""

    survey_id: bytes
    epoch: int
    sealed_at: int
    reports: int
    digest: bytes
    pruning_at: int | None
    pruned_at: int | None
    cut_at: int | None


class EndRow(NamedTuple):
    """The end of a survey."""

    survey_id: bytes
    ended_at: int


class NoteRow(NamedTuple):
    """An operator's note about the surveys of a name."""

    name: str
    at: int
    text: str


class LogEntryRow(NamedTuple):
    """An entry of the public log."""

    position: int
    entry: bytes


class LogCheckpointRow(NamedTuple):
    """A checkpoint of the public log; ``role`` distinguishes the newest from the witnessed one."""

    role: str
    checkpoint: str


class TokenRow(NamedTuple):
    """A token without its secret; ``role`` is the role's name."""

    digest: bytes
    role: str
    label: str
    created_at: int
    survey: str | None
    ends_at: int | None


StoredRow = (
    SurveyRow
    | RotationRow
    | DistrustRow
    | ReceiptRow
    | CountRow
    | ShownRow
    | SealRow
    | EndRow
    | NoteRow
    | LogEntryRow
    | LogCheckpointRow
    | TokenRow
)

READ: Final[dict[type[StoredRow], str]] = {
    SurveyRow: "SELECT survey_id, name, sequence, minimum, envelope, published_at"
    " FROM deniable.surveys",
    RotationRow: "SELECT old_key, new_key, sequence, envelope FROM deniable.rotations"
    " ORDER BY rotation",
    DistrustRow: "SELECT public_key, distrusted_at FROM deniable.issuers"
    " WHERE distrusted_at IS NOT NULL",
    ReceiptRow: "SELECT survey_id, epoch, key, response, public_key FROM deniable.receipts"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)",
    CountRow: "SELECT survey_id, epoch, public_key, response, CAST(sum(reports) AS bigint)"
    " FROM deniable.counted"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)"
    " GROUP BY survey_id, epoch, public_key, response",
    ShownRow: "SELECT survey_id, epoch, public_key, response, reports"
    " FROM deniable.published_counts"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)",
    SealRow: "SELECT survey_id, epoch, sealed_at, reports, digest, pruning_at, pruned_at, cut_at"
    " FROM deniable.seals JOIN deniable.surveys USING (survey)",
    EndRow: "SELECT survey_id, ended_at FROM deniable.ends JOIN deniable.surveys USING (survey)",
    NoteRow: "SELECT name, at, text FROM deniable.notes",
    LogEntryRow: "SELECT position, entry FROM deniable.log_entries",
    LogCheckpointRow: "SELECT role, checkpoint FROM deniable.log_checkpoints",
    TokenRow: "SELECT digest, role, label, created_at, survey, ends_at FROM deniable.tokens",
}
ROW_TYPES: Final = tuple(READ)  # in the order in which the types come

_ISSUER_COLUMNS: Final = ("issuer", "public_key", "distrusted_at")
_CELL_COLUMNS: Final = ("survey", "epoch", "issuer", "response", "reports")
_TABLES: Final[dict[type[StoredRow], tuple[str, tuple[str, ...]]]] = {
    SurveyRow: ("surveys", ("survey", *SurveyRow._fields)),
    RotationRow: ("rotations", ("rotation", *RotationRow._fields)),
    DistrustRow: ("issuers", _ISSUER_COLUMNS),
    ReceiptRow: ("receipts", ("survey", "epoch", "key", "response", "issuer")),
    CountRow: ("counts", _CELL_COLUMNS),
    ShownRow: ("published_counts", _CELL_COLUMNS),
    SealRow: ("seals", ("survey", *SealRow._fields[1:])),
    EndRow: ("ends", ("survey", "ended_at")),
    NoteRow: ("notes", NoteRow._fields),
    LogEntryRow: ("log_entries", LogEntryRow._fields),
    LogCheckpointRow: ("log_checkpoints", LogCheckpointRow._fields),
    TokenRow: ("tokens", TokenRow._fields),
}
"""The tables and columns of rows, in the order of :meth:`Filling._record`."""


class Filling:
    """Writes rows into an empty store, within a transaction; begin with :meth:`begin`."""

    def __init__(self) -> None:
        self._surveys: dict[bytes, int] = {}
        self._issuers: dict[bytes, int] = {b"": 0}
        self._rotations = 0

    def begin(self) -> Rule[None]:
        """Check that the store is empty, and prevent others from filling it."""
        yield from lock(CATALOGUE)
        yield from lock(ISSUERS)
        for query in READ.values():
            if (yield from first(f"{query} LIMIT 1")) is not None:
                raise NotEmpty("the new store is not empty; choose an empty one")
        # An issuer of reports that were never stored is in no row, but has a number.
        yield Statement("DELETE FROM deniable.issuers WHERE issuer <> 0")

    def write(self, rows: Sequence[StoredRow]) -> Rule[None]:
        """Write rows of one type; the rows to which they refer must have come before."""
        if not rows:
            return
        named = {row.issuer for row in rows if isinstance(row, ReceiptRow | CountRow | ShownRow)}
        unknown = sorted(named - self._issuers.keys())
        if unknown:
            records = [(self._number(issuer), issuer, None) for issuer in unknown]
            yield Insertion("issuers", _ISSUER_COLUMNS, records)
        try:
            yield Insertion(*_TABLES[type(rows[0])], [self._record(row) for row in rows])
        except KeyError:
            raise StoreError("the rows refer to a survey that is not among them") from None

    def _number(self, issuer: bytes) -> int:
        return self._issuers.setdefault(issuer, len(self._issuers))

    def _record(self, row: StoredRow) -> Row:
        match row:
            case SurveyRow():
                self._surveys[row.survey_id] = 1 + len(self._surveys)
                return self._surveys[row.survey_id], *row
            case RotationRow():
                self._rotations += 1
                return self._rotations, *row
            case DistrustRow():
                return self._number(row.issuer), *row
            case ReceiptRow(survey_id, epoch, key, response, issuer):
                return self._surveys[survey_id], epoch, key, response, self._issuers[issuer]
            case CountRow() | ShownRow():
                survey_id, epoch, issuer, response, reports = row
                return self._surveys[survey_id], epoch, self._issuers[issuer], response, reports
            case SealRow() | EndRow():
                return self._surveys[row.survey_id], *row[1:]
            case NoteRow() | LogEntryRow() | LogCheckpointRow() | TokenRow():
                return tuple(row)
