"""``deniable survey list`` and ``survey epochs``: the published surveys, and their epochs."""

import time
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

import click

from deniable.cli.options import Form, form_options, json_option, survey_option
from deniable.cli.screen import show_rows, show_table
from deniable.cli.sources import Place, reading_options
from deniable.directory.collector_directory import state_of
from deniable.documents import Column, Document, Table
from deniable.messages import Manifest
from deniable.reading import (
    EpochState,
    ListedEpoch,
    Source,
    find_version,
    iso_time,
    without_figures,
)
from deniable.reading.epochs import dates_text, standing_text
from deniable.reading.wire import epochs_map

_COLUMNS: Final = (
    Column("name", "name", "name"),
    Column("state", "", "name", cell=itemgetter("standing")),
    Column("question", "question"),
    Column("epsilon", "epsilon", "name"),
    Column("repeat", "repeat", "name", cell=itemgetter("repeated")),
    Column("sequence", "sequence", "number"),
    Column("id", "id begins", "name", cell=lambda row: str(row["id"][:12])),
    *map(Column, ("origin", "start", "end", "epochs", "epoch_seconds")),
)


def surveys_document(source: Source, now: float) -> Document:
    """Return the document of a source's surveys and their states, newest first under each name."""
    rows = []
    for name in source.names():
        surveys, ended = source.manifests(name), source.ended(name)
        for survey in surveys:
            state, ended_at = state_of(survey, surveys, ended, now), ended.get(survey.survey_id)
            standing = standing_text(survey.schedule, now, ended_at)
            superseded = state.startswith("superseded")
            rows.append(_row(survey, state, state if superseded else standing))
    heading = "" if rows else "no survey is published; see: deniable survey publish --help"
    return Document(tables=[Table(_COLUMNS, rows)], heading=heading)


def _row(manifest: Manifest, state: str, standing: str) -> dict[str, Any]:
    schedule, repeated = manifest.schedule, str(manifest.repeat.kind)
    if manifest.repeat.epochs is not None:
        name = manifest.kind.name if manifest.kind.first_round_kept else "memoised"
        repeated = f"{name}, {manifest.repeat.epochs}"
    return {
        "name": manifest.name,
        "sequence": manifest.sequence,
        "id": manifest.survey_id.hex(),
        "state": state,
        "standing": standing,
        "question": manifest.question,
        "origin": manifest.origin,
        "epsilon": manifest.epsilon,
        "repeat": manifest.repeat.kind,
        "repeated": repeated,
        "start": _instant(schedule.start),
        "end": _instant(schedule.end),
        "epochs": schedule.epochs,
        "epoch_seconds": schedule.epoch_seconds,
    }


def _instant(when: int) -> str | None:
    iso = iso_time(when)
    return iso and iso.replace("Z", "+00:00")


def epochs_document(
    manifest: Manifest, epochs: Iterable[ListedEpoch], distrusted: Iterable[bytes], otherwise: str
) -> Document:
    """Return the document of the epochs with figures: dates, reports and seals.

    ``otherwise`` is the text if there are no such epochs.
    """
    values = epochs_map(manifest, epochs, distrusted)

    def dates(row: Mapping[str, Any]) -> str:
        return dates_text(manifest.schedule, [row["epoch"]])

    columns = [
        *map(Column, ("survey", "survey_id")),
        Column("start", "dates", "name", cell=dates),
        Column("n", "reports", "number"),
        Column("state", "state", "name", cell=lambda row: EpochState(row["state"]).words),
        Column("epoch", "epoch", "number"),
        *map(Column, ("end", "seal", "whole", "sealed_at", "pruned_at")),
    ]
    heading = f"{manifest.name} {manifest.survey_id.hex()[:12]}"
    if not values["epochs"]:
        heading = otherwise
    return Document(
        tables=[Table(columns, values["epochs"], "epochs")], heading=heading, values=values
    )


@click.command("list")
@reading_options
@json_option
def list_surveys(place: Place, *, as_json: bool) -> None:
    """List the published surveys and their states, the newest survey of each name first."""
    with place.source() as source:
        document = surveys_document(source, time.time())
    show_rows(document, as_json=as_json)


@click.command("epochs")
@click.argument("name")
@reading_options
@survey_option
@form_options
def list_epochs(place: Place, name: str, survey_id: str | None, form: Form) -> None:
    """List the epochs of NAME with figures: dates, reports, and whether the figures are final."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
        epochs = [epoch for epoch in source.epochs(manifest) if epoch.n]
        otherwise = without_figures(source, manifest)
        document = epochs_document(manifest, epochs, source.distrusted(manifest), otherwise)
    show_table(document, form)
