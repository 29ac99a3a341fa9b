"""``deniable survey list``: what is published, and in which state it is."""

import json
import textwrap
import time
from typing import Final

import click

from deniable.cli.options import json_option
from deniable.cli.reading import Place, reading_options
from deniable.directory.states import state_of
from deniable.messages import Manifest
from deniable.reading import iso_time

_QUESTION_WIDTH: Final = 24
_HEADINGS: Final = ("name", "seq", "id begins", "epsilon", "repeat", "epoch now", "state")


@click.command("list", short_help="List the published surveys.")
@reading_options
@json_option
def list_surveys(place: Place, *, as_json: bool) -> None:
    """List the published surveys and their states, the newest of each name first."""
    now, rows = time.time(), []
    with place.source() as source:
        for name in source.names():
            named, ended = source.manifests(name), source.ended(name)
            rows += [(each, state_of(each, named, ended, now)) for each in named]
    if as_json:
        click.echo(json.dumps([_plain(*row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        _show(rows, now)
    else:
        click.echo("no survey is published; see: deniable survey publish --help")


def _plain(manifest: Manifest, state: str) -> dict[str, object]:
    schedule = manifest.schedule
    return {
        "name": manifest.name,
        "sequence": manifest.sequence,
        "id": manifest.survey_id.hex(),
        "state": state,
        "question": manifest.question,
        "origin": manifest.origin,
        "epsilon": manifest.epsilon,
        "repeat": manifest.repeat.kind,
        "start": _instant(schedule.start),
        "end": _instant(schedule.end),
        "epochs": schedule.epochs,
        "epoch_seconds": schedule.epoch_seconds,
    }


def _instant(when: int) -> str | None:
    iso = iso_time(when)
    return iso and iso.replace("Z", "+00:00")


def _show(rows: list[tuple[Manifest, str]], now: float) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    from deniable.cli.screen import console, piped

    screen = console()
    cells = [_cells(manifest, state, now) for manifest, state in rows]
    widths = [max(map(cell_len, column)) for column in zip(_HEADINGS, *cells, strict=True)]
    # A name that is cut is of no use to the next command: on a terminal the rest goes below it, and
    # for a program the line is as long as it must be.
    needed = sum(widths) + 2 * len(widths) + _QUESTION_WIDTH
    if piped():
        screen.width = max(screen.width, needed)
    elif needed > screen.width:
        for (manifest, _), row in zip(rows, cells, strict=True):
            _show_narrow(manifest, row, screen.width)
        return
    table = Table(box=None)
    for heading, width in zip(_HEADINGS, widths, strict=True):
        table.add_column(heading, no_wrap=True, min_width=width)
    table.add_column("question", no_wrap=True)
    for (manifest, _), row in zip(rows, cells, strict=True):
        table.add_row(*row, Text(manifest.question))
    screen.print(table)


def _show_narrow(manifest: Manifest, row: list[str], width: int) -> None:
    name, sequence, identifier, epsilon, repeat, epoch, state = row
    click.echo(name)
    for line in (
        f"sequence {sequence}: {state}",
        f"id {identifier}, epsilon {epsilon}, {repeat}, epoch now {epoch}",
        manifest.question,
    ):
        click.echo(textwrap.indent(textwrap.fill(line, width - 2), "  "))


def _cells(manifest: Manifest, state: str, now: float) -> list[str]:
    epoch = manifest.schedule.epoch_at(now)
    return [
        manifest.name,
        str(manifest.sequence),
        manifest.survey_id.hex()[:12],
        manifest.epsilon,
        _repeat(manifest),
        "-" if epoch is None else f"{epoch} of {manifest.schedule.epochs}",
        state,
    ]


def _repeat(manifest: Manifest) -> str:
    if manifest.repeat.epochs is None:
        return manifest.repeat.kind
    name = manifest.kind.name if manifest.kind.first_round_kept else "memoised"
    return f"{name}, {manifest.repeat.epochs}"
