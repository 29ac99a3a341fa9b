"""The ``deniable`` command: its subcommands, imported when they are run, and errors of one line."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is run.

    Its table has, by a command's name, where it is (``module:attribute`` in this package) and its
    line in the group's help.
    """

    def __init__(self, table: Mapping[str, tuple[str, str]], **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]  # whatever click takes
        self._table = table

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self._table)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._table:
            return None
        module, attribute = self._table[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"deniable.cli.{module}"), attribute)
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of all commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(self._table.items())])


class _OneLineErrors(LazyGroup):
    """A group whose expected errors are one line that says what to do."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read the output, such as head, has enough
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
            ctx.exit(0)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            line = expected_line(error)
            if line is None:
                raise
            raise click.ClickException(line) from error


def expected_line(error: Exception) -> str | None:
    """Return the line of an expected error; None of others."""
    # Imported here: most commands end without an error.
    from deniable.client import TransportError
    from deniable.directory import InvalidConfig
    from deniable.enrolment import IssuerError
    from deniable.messages import InvalidManifest, Refusal
    from deniable.reading import ReadingError
    from deniable.stores import StoreError
    from deniable.transparency_log import TransparencyLogError
    from deniable.witnessing import WitnessingError

    expected = (InvalidConfig, InvalidManifest, IssuerError, OSError, Refusal, StoreError)
    of_logs = (TransparencyLogError, WitnessingError)
    if not isinstance(error, (*expected, *of_logs, ReadingError, TransportError)):
        return None
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


_HELP: Final = """Private categorical telemetry: devices randomise, a collector debiases.

\b
Try it:   deniable try "Which theme?" light dark auto
See it:   deniable demo
Collect:  deniable init DIR, survey publish FILE, serve
Answer:   deniable report NAME, device explain, device journal
Analyse:  deniable hist NAME
"""

COMMANDS: Final = {
    "audit": ("audit_command:audit", "Show what a matrix guarantees, with the proof."),
    "authority": (
        "authority_commands:authority",
        "The key that signs manifests, and its rotation.",
    ),
    "budget": ("budget_command:budget", "Add up what several reports reveal."),
    "conformance": (
        "conformance_command:conformance",
        "Try whether a device keeps the protocol's rules.",
    ),
    "log": ("root:log", "The public log: all that was ever asked."),
    "note": ("note_command:note", "Note what happened, beside a survey's figures over time."),
    "plan": ("plan_command:plan", "How many reports a survey takes."),
    "demo": ("demo_command:demo", "Run the whole thing on real data, on this machine."),
    "device": ("device:device", "Look at what a device here stored and sent, and decide."),
    "digest": ("digest_command:digest", "Write what has closed of all surveys, for mail."),
    "doctor": ("doctor.command:doctor", "Look for what is wrong with a collector."),
    "gateway": (
        "gateway_commands:gateway",
        "Keys under which the collector opens what comes through a relay.",
    ),
    "health": ("health_command:health", "Ask the running collector if it is up."),
    "hist": ("histogram_command:hist", "Show the debiased histogram of a survey."),
    "init": ("collector_commands:init", "Make a collector in DIRECTORY."),
    "issuer": ("issuer_commands:issuer", "Keys of who vouches for devices."),
    "registry": (
        "registry_command:registry",
        "Write a survey's entry for the public registry of deployments.",
    ),
    "relay": ("relay_command:relay", "Pass on what devices seal for a collector: for trials."),
    "report": ("device:report", "Answer a survey from this shell, as a device."),
    "serve": ("collector_commands:serve", "Run the collector."),
    "share": ("sharing_commands:share", "Links to one survey's figures, each with an end."),
    "simulate": ("simulate_command:simulate", "What would come of imagined devices."),
    "store": (
        "store_commands:store",
        "What the collector stores: check, copy, move or migrate it.",
    ),
    "survey": ("root:survey", "Publish surveys, and show what is being asked."),
    "try": ("try_command:try_out", "Ask a question of your own, of simulated devices, on a page."),
    "watch": ("watch_command:watch", "Tell whether a figure is beyond a limit, by a status."),
    "token": ("token_commands:token", "Tokens of those who may read histograms."),
    "witness": (
        "witness_commands:witness",
        "Cosign others' logs, so that nobody is shown another history.",
    ),
}

SURVEY_COMMANDS: Final = {
    "distrust-issuer": (
        "life_commands:distrust_issuer",
        "Take no report that an issuer vouches for.",
    ),
    "end": ("life_commands:end", "End a survey: it takes no further report."),
    "export": ("export_command:export", "Write the file that an app bundles."),
    "list": ("survey_list:list_surveys", "List the published surveys."),
    "notice": ("notice_command:notice", "Print what a survey collects, in plain words."),
    "prune": ("life_commands:prune", "Erase the receipts of a sealed epoch."),
    "public": ("sharing_commands:public", "Let anyone read the figures of NAME, or not."),
    "publish": ("survey_commands:publish", "Sign the survey in FILE and publish it."),
    "seal": ("life_commands:seal", "Seal an epoch: its counts stand."),
    "seals": ("life_commands:seals", "Show the seals that stand."),
    "show": ("survey_commands:show", "Show what NAME asks, and its privacy in words."),
}

LOG_COMMANDS: Final = {
    "cosign": ("log_commands:cosign_log", "Ask the witnesses again."),
    "export": ("log_commands:export", "Write the log's files into DIR."),
    "new-key": ("log_commands:new_key", "Replace the log's key, which is lost."),
    "policy": ("log_commands:policy", "Print the policy that an app pins."),
    "recover": ("log_commands:recover_log", "Get back what the store's log has lost."),
    "show": ("log_commands:show", "Show the log, and who has cosigned it."),
    "verify": ("log_verify_command:verify", "Show and check all that was ever asked."),
}

log = LazyGroup(LOG_COMMANDS, name="log", help=COMMANDS["log"][1])

survey = LazyGroup(SURVEY_COMMANDS, name="survey", help=COMMANDS["survey"][1])

deniable = click.version_option(package_name="deniable")(
    _OneLineErrors(
        COMMANDS,
        name="deniable",
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
)
