"""Reading and writing the rows of :mod:`deniable.stores.copying`."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from deniable.stores.copying import (
    ROWS_AT_ONCE,
    CountRow,
    DistrustRow,
    EndRow,
    ReceiptRow,
    RotationRow,
    Row,
    SealRow,
    ShownRow,
    SurveyRow,
    TokenRow,
)
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.locks import CATALOGUE, ISSUERS, begin_write, lock, see_one_moment
from deniable.stores.store import NotEmpty, StoreError

__all__ = ["Filling", "read_rows"]

_SECONDS: Final = 3_600
"""For one part of the rows; a whole store may take days."""

_READ: Final[dict[type[Row], str]] = {
    SurveyRow: "SELECT survey_id, name, sequence, minimum, envelope FROM deniable.surveys",
    RotationRow: "SELECT old_key, new_key, sequence, envelope FROM deniable.rotations"
    " ORDER BY rotation",
    DistrustRow: "SELECT public_key, distrusted_at FROM deniable.issuers"
    " WHERE distrusted_at IS NOT NULL",
    ReceiptRow: "SELECT survey_id, epoch, key, response, public_key FROM deniable.receipts"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)",
    CountRow: "SELECT survey_id, epoch, public_key, response, sum(reports)::bigint"
    " FROM deniable.counted"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)"
    " GROUP BY survey_id, epoch, public_key, response",
    ShownRow: "SELECT survey_id, epoch, public_key, response, reports"
    " FROM deniable.published_counts"
    " JOIN deniable.surveys USING (survey) JOIN deniable.issuers USING (issuer)",
    SealRow: "SELECT survey_id, epoch, sealed_at, reports, digest, pruning_at, pruned_at"
    " FROM deniable.seals JOIN deniable.surveys USING (survey)",
    EndRow: "SELECT survey_id, ended_at FROM deniable.ends JOIN deniable.surveys USING (survey)",
    TokenRow: "SELECT digest, role, label, created_at FROM deniable.tokens",
}

_TABLES: Final[dict[type[Row], tuple[str, tuple[str, ...]]]] = {
    SurveyRow: ("surveys", ("survey", "survey_id", "name", "sequence", "minimum", "envelope")),
    RotationRow: ("rotations", ("rotation", "old_key", "new_key", "sequence", "envelope")),
    ReceiptRow: ("receipts", ("survey", "epoch", "key", "response", "issuer")),
    CountRow: ("counts", ("survey", "epoch", "issuer", "response", "reports")),
    ShownRow: ("published_counts", ("survey", "epoch", "issuer", "response", "reports")),
    SealRow: (
        "seals",
        ("survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at"),
    ),
    EndRow: ("ends", ("survey", "ended_at")),
    TokenRow: ("tokens", ("digest", "role", "label", "created_at")),
}
"""Where rows are written, in the order of :meth:`Filling._record`; DistrustRow is no insert.

Receipts go to the table of their survey and epoch.
"""


async def read_rows(connection: Connection) -> AsyncGenerator[Sequence[Row], None]:
    """Read everything as of one moment, at the beginning of a transaction."""
    await see_one_moment(connection)
    # Whoever takes the rows may be slow with each part.
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        await connection.execute(f"SET LOCAL {limit} = '{_SECONDS}s'")
    for kind, query in _READ.items():
        cursor = await connection.cursor(query, timeout=_SECONDS)
        while rows := await cursor.fetch(ROWS_AT_ONCE, timeout=_SECONDS):
            yield [kind(*row) for row in rows]


class Filling:
    """Writes rows into an empty store, within a transaction; begin with :meth:`begin`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._surveys: dict[bytes, int] = {}
        self._issuers: dict[bytes, int] = {b"": 0}
        self._rotations = 0

    async def begin(self) -> None:
        """Check that the store holds nothing, and keep others from changing that.

        Raises:
            NotEmpty: if it does.
        """
        await begin_write(self._connection)
        await lock(self._connection, CATALOGUE)
        await lock(self._connection, ISSUERS)
        for query in _READ.values():
            if await self._connection.fetchrow(f"{query} LIMIT 1") is not None:
                raise NotEmpty("the store holds something already; restore into one that is new")
        # Who vouched for what was never stored is in no row, but has a number.
        await self._connection.execute("DELETE FROM deniable.issuers WHERE issuer <> 0")

    async def write(self, rows: Sequence[Row]) -> None:
        """Write rows of one type.

        Raises:
            StoreError: if they name a survey that did not come before them.
        """
        if not rows:
            return
        await self._number_issuers(rows)
        if isinstance(rows[0], DistrustRow):
            await self._connection.executemany(
                "UPDATE deniable.issuers SET distrusted_at = $2 WHERE public_key = $1", rows
            )
            return
        name, columns = _TABLES[type(rows[0])]
        tables: dict[str, list[tuple[object, ...]]] = defaultdict(list)
        try:
            for row in rows:
                record = self._record(row)
                is_receipt = isinstance(row, ReceiptRow)
                tables["receipts_{}_{}".format(*record) if is_receipt else name].append(record)
        except KeyError:
            raise StoreError("the rows name a survey that is not among them") from None
        for table, records in tables.items():
            if table != name:
                await self._connection.execute(
                    "SELECT deniable.make_receipts($1, $2)", *records[0][:2]
                )
            await self._connection.copy_records_to_table(
                table, schema_name="deniable", columns=columns, records=records, timeout=_SECONDS
            )

    async def _number_issuers(self, rows: Sequence[Row]) -> None:
        named = {
            row.issuer
            for row in rows
            if isinstance(row, DistrustRow | ReceiptRow | CountRow | ShownRow)
        }
        for issuer in sorted(named - self._issuers.keys()):
            self._issuers[issuer] = len(self._issuers)
            await self._connection.execute(
                "INSERT INTO deniable.issuers (issuer, public_key) VALUES ($1, $2)",
                self._issuers[issuer],
                issuer,
            )

    def _record(self, row: Row) -> tuple[object, ...]:
        """Return a row as its table has it."""
        match row:
            case SurveyRow():
                self._surveys[row.survey_id] = 1 + len(self._surveys)
                return self._surveys[row.survey_id], *row
            case RotationRow():
                self._rotations += 1
                return self._rotations, *row
            case ReceiptRow(survey_id, epoch, key, response, issuer):
                return self._surveys[survey_id], epoch, key, response, self._issuers[issuer]
            case CountRow() | ShownRow():
                survey_id, epoch, issuer, response, reports = row
                return self._surveys[survey_id], epoch, self._issuers[issuer], response, reports
            case SealRow() | EndRow():
                return self._surveys[row.survey_id], *row[1:]
            case _:
                return tuple(row)
