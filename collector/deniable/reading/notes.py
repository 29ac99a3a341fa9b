"""Notes of an operator about the surveys of a name: what happened when, beside their figures."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from deniable.documents import Column, Document, Table
from deniable.documents.json import TEXT, Field, Json, array_of, object_of, plain
from deniable.reading.epochs import instant_text, iso_time

MOST_NOTE: Final = 120
"""Characters of a note's text."""
MOST_NOTES: Final = 200
"""Notes of a name."""


class Note(NamedTuple):
    """A note: what happened at a time, in Unix seconds."""

    at: int
    text: str


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


def check_note(text: str) -> str:
    """Return a note's text without space around it.

    Raises:
        ValueError: if it is empty, too long, or has characters that are not seen.
    """
    text = text.strip()
    # Control and format characters, surrogates and the like would hide or reorder what is read.
    if not text or len(text) > MOST_NOTE or not text.isprintable():
        raise ValueError(f"a note has 1 to {MOST_NOTE} characters that can be seen, on one line")
    return text


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
