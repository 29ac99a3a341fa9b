"""The command: looks at everything, and says what to do."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from deniable.cli.doctor.files import check_authority_key, check_disk, check_leftover, check_modes
from deniable.cli.doctor.finding import Finding, Status
from deniable.cli.doctor.machine import check_clock, check_libraries, check_machine
from deniable.cli.doctor.network import check_certificate, check_origin_answers
from deniable.cli.doctor.settings import check_proxies, check_variables, read_settings
from deniable.cli.doctor.store import check_schema, look_into_store
from deniable.cli.options import directory_option
from deniable.cli.screen import console

_STYLES = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "bold red"}


@click.command(short_help="Look for what is wrong with a collector.")
@directory_option
@click.option("--online", is_flag=True, help="Also ask the origin, as a device would.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def doctor(ctx: click.Context, directory: Path, *, online: bool, as_json: bool) -> None:
    """Look at settings, files, machine, store and surveys; say what to do.

    Nothing is changed, but that the store is written to and nothing in it; the server may be
    running. The exit status is 1 if anything is wrong.
    """
    findings = list(_examine(directory, online=online))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _show(findings)
    if any(finding.status is Status.FAIL for finding in findings):
        ctx.exit(1)


def _examine(directory: Path, *, online: bool) -> Iterator[Finding]:
    now = time.time()
    config, read = read_settings(directory, os.environ)
    yield read
    yield check_variables(os.environ)
    if config is None:
        return
    yield check_modes(directory, config)
    yield check_authority_key(directory, config)
    yield from check_proxies(config)
    yield from check_certificate(config, datetime.fromtimestamp(now, UTC))
    yield from check_machine(config)
    yield check_clock(directory, now)
    yield check_libraries()
    yield from check_disk(config)
    yield from check_leftover(directory, config)
    authority = config.authority
    if (another := check_schema(config)) is not None:
        yield another
    else:
        found, authority = look_into_store(config, now)
        yield from found
    if online:
        yield check_origin_answers(config, authority)


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        told = Text(finding.found)
        if finding.remedy:
            told.append(f"\n→ {finding.remedy}", "bold")
        table.add_row(Text(finding.status.value, _STYLES[finding.status]), finding.check, told)
    screen = console()
    screen.print(table)
    counted = [sum(finding.status is status for finding in findings) for status in Status]
    screen.print("\n{} as they must be, {} to look at, {} wrong".format(*counted), style="dim")
