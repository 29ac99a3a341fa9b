"""The document of the epochs of a survey that have figures."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from deniable.documents import Column, Document, Table
from deniable.messages import Manifest
from deniable.reading.asking import appear_text
from deniable.reading.epochs import instant_text
from deniable.reading.source import ListedEpoch
from deniable.reading.wire import epochs_map


def epochs_document(
    manifest: Manifest, epochs: Iterable[ListedEpoch], distrusted: Iterable[bytes]
) -> Document:
    """Return the epochs that have figures: their times, reports and seals."""
    values = epochs_map(manifest, epochs, distrusted)

    def start_of(following: int) -> Callable[[Mapping[str, Any]], str]:
        start = manifest.schedule.epoch_start
        return lambda row: instant_text(start(row["epoch"] + following))

    columns = [
        *map(Column, ("survey", "survey_id")),
        Column("epoch", "epoch", "number"),
        Column("start", "begins", "name", cell=start_of(0)),
        Column("end", "ends", "name", cell=start_of(1)),
        Column("n", "reports", "number"),
        Column("state", "state", "name"),
        *map(Column, ("seal", "whole", "sealed_at", "pruned_at")),
    ]
    heading = f"{manifest.name} {manifest.survey_id.hex()[:12]}"
    if not values["epochs"]:
        heading = f"no figures yet: they {appear_text(manifest)}"
    return Document(
        tables=[Table(columns, values["epochs"], "epochs")], heading=heading, values=values
    )
