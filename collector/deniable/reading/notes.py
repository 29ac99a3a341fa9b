"""Notes of an operator about the surveys of a name: what happened when, beside their figures."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from deniable.documents import Column, Document, Table
from deniable.documents.json import TEXT, Field, Json, array_of, object_of, plain
from deniable.reading.epochs import instant_text, iso_time
from deniable.stores.values import MOST_NOTES, Note, check_note

_NOTE: Final = (
    Field("at", {"type": "string", "format": "date-time"}, lambda note: iso_time(note.at)),
    Field("text", TEXT),
)
NOTES_SCHEMA: Final[Json] = array_of(
    object_of(*_NOTE), description="what an operator says happened, by time"
)
"""The JSON Schema of notes, wherever JSON has them."""

_COLUMNS: Final = (
    Column("at", "at", "name", cell=lambda row: row["when"]),
    Column("text", "what happened"),
)


def note_maps(notes: Sequence[Note]) -> list[Json]:
    """Return notes as plain values for JSON."""
    return [plain(note, _NOTE) for note in notes]


def read_notes(values: Any) -> tuple[Note, ...]:
    """Return notes of such values; ValueError if they are none."""
    if not isinstance(values, list) or len(values) > MOST_NOTES:
        raise ValueError("these are no notes")
    try:
        return tuple(
            Note(int(datetime.fromisoformat(value["at"]).timestamp()), check_note(value["text"]))
            for value in values
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError("these are no notes") from error


def _rows(notes: Sequence[Note]) -> list[Json]:
    pairs = enumerate(zip(note_maps(notes), notes, strict=True), start=1)
    return [row | {"mark": mark, "when": instant_text(note.at)} for mark, (row, note) in pairs]


def numbered_notes(notes: Sequence[Note]) -> Table:
    """Return the table of notes beside a chart that marks them by their numbers."""
    return Table([Column("mark", "", "number"), *_COLUMNS], _rows(notes), title="What happened")


def notes_document(notes: Sequence[Note]) -> Document:
    """Return the document of notes."""
    heading = "" if notes else "no notes"
    return Document(tables=[Table(_COLUMNS, _rows(notes))], heading=heading)
