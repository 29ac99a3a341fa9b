"""The ``deniable`` command: its subcommands, and errors that are one line each."""

import os
import sys

import click

from deniable.cli.audit_command import audit
from deniable.cli.authority import AuthorityKeyError
from deniable.cli.authority_commands import authority
from deniable.cli.budget_command import budget
from deniable.cli.collector_commands import init, serve
from deniable.cli.demo import demo
from deniable.cli.doctor import doctor
from deniable.cli.export_command import export
from deniable.cli.health_command import health
from deniable.cli.histogram_command import hist
from deniable.cli.issuer_commands import issuer
from deniable.cli.life_commands import LIFE_COMMANDS
from deniable.cli.store_commands import store
from deniable.cli.survey_commands import survey
from deniable.cli.survey_list import list_surveys
from deniable.cli.token_commands import token
from deniable.client import TransportError
from deniable.client.console.device_commands import device as inspect_device
from deniable.client.console.report_command import report as report_from_shell
from deniable.enrolment import IssuerError
from deniable.messages import InvalidManifest, Refusal
from deniable.server import InvalidConfig
from deniable.stores import StoreError

__all__ = ["deniable"]

_EXPECTED = (
    AuthorityKeyError,
    InvalidConfig,
    InvalidManifest,
    IssuerError,
    OSError,
    Refusal,
    StoreError,
    TransportError,
)


class _OneLineErrors(click.Group):
    """A group whose expected errors are one line that says what to do."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read the output, such as head, has enough
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
            ctx.exit(0)
        except _EXPECTED as error:
            raise click.ClickException(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


_HELP = """Private categorical telemetry: devices randomise, a collector debiases.

\b
Try it:   deniable demo
Collect:  deniable init DIR, survey publish FILE, serve
Answer:   deniable report NAME, device explain, device journal
Analyse:  deniable hist NAME
"""


@click.group(
    cls=_OneLineErrors, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="deniable")
def deniable() -> None:
    """Run the command line."""


@deniable.command(
    "report",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def report(ctx: click.Context) -> None:
    """Answer a survey from this shell, as a device."""
    ctx.exit(report_from_shell(ctx.args))


@deniable.command(
    "device",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def device(ctx: click.Context) -> None:
    """Look at what a device here stored and sent, and decide."""
    ctx.exit(inspect_device(ctx.args))


for _command in (
    audit,
    authority,
    budget,
    demo,
    doctor,
    health,
    hist,
    init,
    issuer,
    serve,
    store,
    survey,
    token,
):
    deniable.add_command(_command)
for _command in (list_surveys, export, *LIFE_COMMANDS):
    survey.add_command(_command)
