"""``deniable survey list``: what is published, and in which state it is."""

import json
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.cells import cell_len
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from deniable.cli.options import directory_option
from deniable.cli.screen import console
from deniable.cli.workplace import published, with_store
from deniable.messages import Manifest
from deniable.server import Config
from deniable.stores import Store

__all__ = ["list_surveys"]

_QUESTION_WIDTH: Final = 24
_ENDLESS: Final = 10_000

_Asked = tuple[str, str, tuple[str, ...]]


@click.command("list", short_help="List the published surveys.")
@directory_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_surveys(directory: Path, *, as_json: bool) -> None:
    """List the published surveys and their states, the newest of each name first."""
    config = Config.load(directory)

    async def work(store: Store) -> tuple[list[Manifest], dict[bytes, int]]:
        return await published(store, config), await store.ended()

    manifests, ended = with_store(config, work)
    now = time.time()
    newest: dict[_Asked, Manifest] = {}
    for manifest in manifests:
        newest.setdefault(_asked(manifest), manifest)
    rows = [(each, _state(each, newest[_asked(each)], ended, now)) for each in manifests]
    if as_json:
        click.echo(json.dumps([_plain(*row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        _show(rows, now)
    else:
        click.echo("no survey is published; see: deniable survey publish --help")


def _state(manifest: Manifest, newest: Manifest, ended: Collection[bytes], now: float) -> str:
    """Return in a few words whether a survey is still to be answered.

    Args:
        manifest: the survey.
        newest: that of the same name, question and categories with the highest sequence. Apps that
            declare others go on with their own.
        ended: the ids of those that were ended.
        now: Unix seconds.
    """
    schedule = manifest.schedule
    if newest.sequence > manifest.sequence:
        return f"superseded by {newest.sequence}"
    if manifest.survey_id in ended:
        return "ended"
    if now >= schedule.end:
        return "over"
    return "open" if now >= schedule.start else "not begun"


def _asked(manifest: Manifest) -> _Asked:
    return manifest.name, manifest.question, manifest.categories


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
    """Return Unix seconds as RFC 3339 has them; None beyond the calendar."""
    try:
        return datetime.fromtimestamp(when, UTC).isoformat()
    except (OverflowError, ValueError):
        return None


def _show(rows: list[tuple[Manifest, str]], now: float) -> None:
    headings = ("name", "seq", "id begins", "epsilon", "repeat", "epoch now", "state")
    cells = [_cells(manifest, state, now) for manifest, state in rows]
    table = Table(box=None)
    for heading, column in zip(headings, zip(*cells, strict=True), strict=True):
        table.add_column(heading, no_wrap=True, min_width=max(map(cell_len, column)))
    table.add_column("question", no_wrap=True, min_width=_QUESTION_WIDTH)
    for (manifest, _), row in zip(rows, cells, strict=True):
        table.add_row(*row, Text(manifest.question))
    screen = console()
    # A name that is cut is of no use to the next command: rather a line too long.
    needed = Measurement.get(screen, screen.options.update(width=_ENDLESS), table).minimum
    screen.width = max(screen.width, needed)
    screen.print(table)


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
    two_round = manifest.specification.kind == "two-round"
    return f"{'two-round' if two_round else 'memoised'}, {manifest.repeat.epochs}"
