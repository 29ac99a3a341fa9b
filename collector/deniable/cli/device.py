"""``deniable report`` and ``device``: a device in a shell, and a view of stored reports."""

from argparse import Namespace
from pathlib import Path

import click

from deniable.cli.report_command import add_place_options, collector_of, state_file
from deniable.cli.report_command import report as report_from_shell
from deniable.client.console import COMMANDS
from deniable.client.console import device as inspect_device

_PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command(add_help_option=False, context_settings=_PASSED_ON)
@click.pass_context
def report(ctx: click.Context) -> None:
    """Answer a survey from this shell, as a device."""
    ctx.exit(report_from_shell(ctx.args))


def _completed(_ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
    return [name for name in COMMANDS if name.startswith(begun)]


@click.command(add_help_option=False, context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=_completed)
@click.pass_context
def device(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Show the reports that a device here stored and sent, or change consent."""
    ctx.exit(inspect_device(arguments, add_place_options, find_state))


def find_state(options: Namespace) -> Path:
    """Return the state file that the options name, or that of the named collector."""
    return options.state or state_file(*collector_of(options))
