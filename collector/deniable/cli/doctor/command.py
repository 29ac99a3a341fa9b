"""The command: looks at everything, and says what to do."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.cli.options import directory_option, json_option
from deniable.cli.screen import console

if TYPE_CHECKING:
    from deniable.cli.doctor.finding import Finding


@click.command(short_help="Look for what is wrong with a collector.")
@directory_option
@click.option("--online", is_flag=True, help="Also ask the origin, as a device would.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, directory: Path, *, online: bool, as_json: bool) -> None:
    """Look at settings, files, machine, store and surveys; say what to do.

    Nothing is changed, but that the store is written to and nothing in it; the server may be
    running. The exit status is 1 if anything is wrong.
    """
    # Imported here: --help does not wait for what the checks need.
    from deniable.cli.doctor.checks import examine
    from deniable.cli.doctor.finding import Status

    findings = list(examine(directory, os.environ, online=online))
    if as_json:
        told = [{"check": check, **asdict(finding)} for check, finding in findings]
        click.echo(json.dumps(told, indent=2))
    else:
        _show(findings)
    if any(finding.status is Status.FAIL for _, finding in findings):
        ctx.exit(1)


def _show(findings: "list[tuple[str, Finding]]") -> None:
    from rich.table import Table
    from rich.text import Text

    from deniable.cli.doctor.finding import Status

    styles = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "bold red"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check, finding in findings:
        told = Text(finding.found)
        if finding.remedy:
            told.append(f"\n→ {finding.remedy}", "bold")
        table.add_row(Text(finding.status.value, styles[finding.status]), check, told)
    screen = console()
    screen.print(table)
    counted = [sum(finding.status is status for _, finding in findings) for status in Status]
    screen.print("\n{} as they must be, {} to look at, {} wrong".format(*counted), style="dim")
