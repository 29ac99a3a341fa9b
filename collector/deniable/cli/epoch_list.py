"""Which epochs of a survey have figures, for people and for spreadsheets."""

import csv
import io
from dataclasses import dataclass

import click
from rich.console import Console
from rich.table import Table

from deniable.cli.life_terms import instant_text
from deniable.cli.survey_terms import appear_text
from deniable.cli.surveys import find_survey
from deniable.estimates import EpochStanding, epoch_standing, iso_time
from deniable.messages import Manifest
from deniable.server import Config
from deniable.stores import Store

_COLUMNS = ("survey", "survey_id", "epoch", "start", "end", "n", "state", "seal")


@dataclass(frozen=True, slots=True)
class EpochList:
    """The epochs of one survey that have figures: number, reports shown, and where each stands."""

    manifest: Manifest
    epochs: tuple[tuple[int, int, EpochStanding], ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        schedule = self.manifest.schedule
        return {
            "survey": self.manifest.name,
            "survey_id": self.manifest.survey_id.hex(),
            "epochs": [
                {
                    "epoch": epoch,
                    "start": iso_time(schedule.epoch_start(epoch)),
                    "end": iso_time(schedule.epoch_start(epoch + 1)),
                    "n": n,
                    "state": standing.state.value,
                    "seal": standing.seal,
                }
                for epoch, n, standing in self.epochs
            ],
        }


async def list_epochs(
    store: Store, config: Config, name: str, survey_id: str | None, now: float
) -> EpochList:
    """Read which epochs of a survey have figures; of the newest, unless its id begins otherwise.

    Raises:
        click.ClickException: if there is no such survey.
    """
    manifest = await find_survey(store, config, name, survey_id)
    newest = await store.newest_epoch(manifest.survey_id)
    # Before the counts: those that are read once there is a seal never change.
    seals = {seal.epoch: seal.digest for seal in await store.seals(manifest.survey_id)}
    epochs = []
    for epoch in range(0 if newest is None else newest + 1):
        reports = await store.reports(manifest.survey_id, epoch)
        if reports:
            standing = epoch_standing(manifest.schedule, epoch, now, seals.get(epoch))
            epochs.append((epoch, reports, standing))
    return EpochList(manifest, tuple(epochs))


def show_epochs(listed: EpochList, screen: Console) -> None:
    """Print the list as a table."""
    if not listed.epochs:
        click.echo(f"no figures yet: they {appear_text(listed.manifest)}")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("epoch", "begins", "ends", "reports", "state"):
        table.add_column(heading, justify="right" if heading in {"epoch", "reports"} else "left")
    schedule = listed.manifest.schedule
    for epoch, n, standing in listed.epochs:
        begins, ends = (instant_text(schedule.epoch_start(each)) for each in (epoch, epoch + 1))
        table.add_row(str(epoch), begins, ends, f"{n:,}", standing.state.value)
    screen.print(f"{listed.manifest.name} {listed.manifest.survey_id.hex()[:12]}\n")
    screen.print(table)


def epoch_list_csv(listed: EpochList) -> str:
    """Return the list as CSV, one row an epoch; the seal of one that has none is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    told = listed.to_dict()
    assert isinstance(told["epochs"], list)
    for row in told["epochs"]:
        cells = {**told, **row}
        writer.writerow(["" if cells[name] is None else cells[name] for name in _COLUMNS])
    return stream.getvalue()
