"""The command: looks at everything, and says what to do."""

import os
from pathlib import Path

import click

from deniable.cli.options import directory_option, json_option
from deniable.cli.screen import show_rows


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
    from deniable.directory.checks.document import findings_document
    from deniable.directory.checks.finding import Status

    findings = list(examine(directory, os.environ, online=online))
    show_rows(findings_document(findings), as_json=as_json)
    if any(finding.status is Status.FAIL for _, finding in findings):
        ctx.exit(1)
