"""The command that checks everything and suggests remedies, or asks if the server is ready."""

import http.client
import os
from pathlib import Path

import click

from deniable.cli.options import directory_option, json_option


@click.command()
@directory_option
@click.option("--online", is_flag=True, help="Query the origin too, as a device would.")
@click.option("--ready", is_flag=True, help="Check only whether the running server is ready.")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, directory: Path, *, online: bool, ready: bool, as_json: bool
) -> None:
    """Check the settings, the files, the machine, the store and the surveys; suggest remedies.

    The test write changes no data in the store. The server may be running. The exit status is 1 if
    anything is wrong.

    With --ready, print one line: whether the server with these settings on this machine accepts
    reports. The server's certificate is not checked, because it names the origin.
    """
    if ready:
        if online or as_json:
            raise click.UsageError("--ready allows no other option")
        _ask_if_ready(directory)
        return
    # Imported here: neither --help nor --ready waits for the checks' imports.
    from deniable.cli.screen import show_rows
    from deniable.doctor.diagnosis import Status, findings_document
    from deniable.doctor.examination import examine

    examined = examine(directory, os.environ, online=online)
    findings = [(check, finding) for check, finding in examined if finding is not None]
    show_rows(findings_document(findings), as_json=as_json)
    if any(finding.status is Status.FAIL for _, finding in findings):
        ctx.exit(1)


def _ask_if_ready(directory: Path) -> None:
    from deniable.directory import Config
    from deniable.doctor.diagnosis import Status
    from deniable.doctor.network import local_address, server_finding

    config = Config.load(directory)
    try:
        finding = server_finding(config)
    except (OSError, http.client.HTTPException) as error:
        place = f"{local_address(config)}:{config.port}"
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise click.ClickException(
            f"{place} does not respond ({reason}); is deniable serve running?"
        ) from error
    if finding.status is Status.FAIL:
        raise click.ClickException(f"{finding.text}; see deniable doctor")
    warning = f": {finding.text}; see the server's log" if finding.status is Status.WARN else ""
    click.echo(f"ready{warning}")
