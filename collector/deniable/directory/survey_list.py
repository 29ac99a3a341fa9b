"""The document of the published surveys."""

from operator import itemgetter
from typing import Any, Final

from deniable.directory.states import state_of
from deniable.documents import Column, Document, Table
from deniable.messages import Manifest
from deniable.reading import Source, iso_time

_COLUMNS: Final = (
    Column("name", "name", "name"),
    Column("sequence", "sequence", "number"),
    Column("id", "id begins", "name", cell=lambda row: str(row["id"][:12])),
    Column("epsilon", "epsilon", "name"),
    Column("repeat", "repeat", "name", cell=itemgetter("repeated")),
    Column("", "epoch now", "name", cell=itemgetter("epoch")),
    Column("state", "state", "name"),
    Column("question", "question"),
    *map(Column, ("origin", "start", "end", "epochs", "epoch_seconds")),
)


def surveys_document(source: Source, now: float) -> Document:
    """Return the surveys of a source and their states, the newest of each name first."""
    rows = []
    for name in source.names():
        surveys, ended = source.manifests(name), source.ended(name)
        rows += [_row(survey, state_of(survey, surveys, ended, now), now) for survey in surveys]
    heading = "" if rows else "no survey is published; see: deniable survey publish --help"
    return Document(tables=[Table(_COLUMNS, rows)], heading=heading)


def _row(manifest: Manifest, state: str, now: float) -> dict[str, Any]:
    schedule, repeated = manifest.schedule, str(manifest.repeat.kind)
    if manifest.repeat.epochs is not None:
        name = manifest.kind.name if manifest.kind.first_round_kept else "memoised"
        repeated = f"{name}, {manifest.repeat.epochs}"
    epoch = schedule.epoch_at(now)
    return {
        "name": manifest.name,
        "sequence": manifest.sequence,
        "id": manifest.survey_id.hex(),
        "state": state,
        "question": manifest.question,
        "origin": manifest.origin,
        "epsilon": manifest.epsilon,
        "repeat": manifest.repeat.kind,
        "repeated": repeated,
        "start": _instant(schedule.start),
        "end": _instant(schedule.end),
        "epochs": schedule.epochs,
        "epoch": "-" if epoch is None else f"{epoch} of {schedule.epochs}",
        "epoch_seconds": schedule.epoch_seconds,
    }


def _instant(when: int) -> str | None:
    iso = iso_time(when)
    return iso and iso.replace("Z", "+00:00")
