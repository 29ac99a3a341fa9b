"""Which epochs of a survey have figures, for people and for spreadsheets."""

import csv
import io
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from deniable.messages import Manifest
from deniable.reading import ListedEpoch, appear_text, instant_text
from deniable.reading.wire import epochs_map

_COLUMNS = ("survey", "survey_id", "epoch", "start", "end", "n", "state", "seal")


def show_epochs(manifest: Manifest, epochs: Sequence[ListedEpoch], screen: Console) -> None:
    """Print the epochs that have figures as a table."""
    if not epochs:
        click.echo(f"no figures yet: they {appear_text(manifest)}")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("epoch", "begins", "ends", "reports", "state"):
        table.add_column(heading, justify="right" if heading in {"epoch", "reports"} else "left")
    schedule = manifest.schedule
    for each in epochs:
        begins, ends = (
            instant_text(schedule.epoch_start(epoch)) for epoch in (each.number, each.number + 1)
        )
        table.add_row(str(each.number), begins, ends, f"{each.n:,}", each.state.value)
    screen.print(f"{manifest.name} {manifest.survey_id.hex()[:12]}\n")
    screen.print(table)


def epoch_list_csv(manifest: Manifest, epochs: Sequence[ListedEpoch]) -> str:
    """Return them as CSV, one row an epoch; the seal of one that has none is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    told = epochs_map(manifest, epochs, ())
    for row in told["epochs"]:
        cells = {**told, **row}
        writer.writerow(["" if cells[name] is None else cells[name] for name in _COLUMNS])
    return stream.getvalue()
