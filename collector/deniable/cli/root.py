"""The ``deniable`` command: its subcommands, imported when run, and one-line errors."""

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click

Table = Mapping[str, tuple[str, str]]
"""Commands by name: their place (``module:attribute`` in this package) and line of help."""


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is run.

    Each of its sections has a heading, shown in the group's help, and a table of commands.
    """

    def __init__(self, sections: Mapping[str, Table], **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]  # whatever click takes
        self._sections = sections

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [name for table in self._sections.values() for name in table]

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        for table in self._sections.values():
            if cmd_name in table:
                place, line = table[cmd_name]
                module, attribute = place.split(":")
                command: click.Command = getattr(import_module(f"deniable.cli.{module}"), attribute)
                command.short_help = line  # for a shell's completion
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the intended command; if it does not exist, name the closest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of all commands by section, without importing any."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, table in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in table.items()])


class _OneLineErrors(LazyGroup):
    """A group that prints an expected error as one line that states what to do."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of the output, such as head, has enough
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
    """Return the line of an expected error; None for other errors."""
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("deniable"):
        return f'{error.name} is not installed; pip install "deniable[collector]" installs it'
    # Imported here: most commands end without an error.
    from deniable.client import TransportError
    from deniable.directory import InvalidConfig
    from deniable.enrolment import IssuerError
    from deniable.key_files import KeyFileError
    from deniable.logs import TransparencyLogError
    from deniable.messages import InvalidManifest, Refusal
    from deniable.reading import ReadingError
    from deniable.stores import StoreError

    expected = (InvalidConfig, InvalidManifest, IssuerError, KeyFileError, OSError, Refusal)
    if not isinstance(
        error, (*expected, ReadingError, StoreError, TransparencyLogError, TransportError)
    ):
        return None
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


_HELP: Final = """\
Private categorical telemetry: devices randomise answers, and a collector debiases the totals.

Begin with: deniable try "Which theme?" light dark auto
"""

COMMANDS: Final[Mapping[str, Table]] = {
    "Try it": {
        "try": (
            "try_command:try_out",
            "Ask simulated devices your own question and show the figures.",
        ),
    },
    "Plan a survey": {
        "plan": ("planning_commands:plan", "Show how many reports a survey needs."),
        "simulate": (
            "planning_commands:simulate",
            "Simulate a survey, and compare its estimates with the truth.",
        ),
        "privacy": ("root:privacy", "Guarantee of a matrix; privacy loss of several reports."),
    },
    "Ask and collect (operators)": {
        "init": ("collector_commands:init", "Create a collector in DIRECTORY."),
        "survey": ("root:survey", "Publish surveys, and show what is being asked."),
        "serve": ("collector_commands:serve", "Run the collector."),
        "doctor": ("doctor_command:doctor", "Check a collector, and suggest remedies."),
        "store": ("store_commands:store", "Check, back up or migrate the collector's store."),
        "token": ("token_commands:token", "Create, list and revoke readers' tokens."),
    },
    "Read figures (analysts)": {
        "hist": ("histogram_commands:hist", "Show the debiased histogram of a survey."),
        "ask": ("root:ask", "Ask about a survey's figures; the answers are sentences."),
        "watch": (
            "histogram_commands:watch",
            "Report in the exit status whether a figure is beyond a limit.",
        ),
    },
    "Answer (devices and apps)": {
        "report": ("device_commands:report", "Answer a survey from this shell, as a device."),
        "device": (
            "device_commands:device",
            "Show what a device stored and sent, or change consent.",
        ),
        "conformance": (
            "conformance_command:conformance",
            "Test whether a device follows the protocol's rules.",
        ),
    },
    "Keys and the public log": {
        "authority": ("key_commands:authority", "The key that signs surveys, and its rotation."),
        "issuer": ("issuer_commands:issuer", "Keys of issuers, which vouch for devices."),
        "gateway": ("key_commands:gateway", "Keys that open requests from a relay."),
        "log": ("root:log", "The public log of all questions ever asked."),
    },
}
"""The commands by section, in the order in which they are shown."""

ASK_COMMANDS: Final = {
    "ahead": ("ask_commands:ahead", "Whether one answer is ahead of another."),
    "compare": ("ask_commands:compare", "What changed, or differs from another survey."),
    "cross": ("ask_commands:cross", "How the answers to two questions are related."),
    "leaders": ("ask_commands:leaders", "Which answers are the most frequent."),
    "quantile": ("ask_commands:quantile", "The median, or another quantile, of ordered answers."),
    "reveals": ("ask_commands:reveals", "What the figures reveal about one device."),
    "share": ("ask_commands:share", "The share of some answers, overall or within a group."),
    "trend": ("ask_commands:trend", "How the figures developed over all epochs."),
}

SURVEY_COMMANDS: Final = {
    "distrust-issuer": (
        "life_commands:distrust_issuer",
        "Refuse reports that an issuer vouches for.",
    ),
    "end": ("life_commands:end", "End a survey, so that it accepts no more reports."),
    "epochs": ("survey_list:list_epochs", "List the epochs that have figures."),
    "export": ("survey_commands:export", "Write the file that an app bundles."),
    "link": ("life_commands:link", "Create a link to the figures of NAME."),
    "list": ("survey_list:list_surveys", "List the published surveys."),
    "note": ("life_commands:note", "Add a note to the figures of NAME over time."),
    "notice": ("survey_commands:notice", "Print what a survey collects, in plain words."),
    "publish": ("survey_commands:publish", "Sign the survey in FILE and publish it."),
    "seal": ("life_commands:seal", "Seal an epoch: its counts become final."),
    "show": ("survey_commands:show", "Show what NAME asks, and its privacy in words."),
}

LOG_COMMANDS: Final = {
    "cosign": ("log_commands:cosign_log", "Ask the witnesses to cosign again."),
    "export": ("log_commands:export", "Write the log's files into DIR."),
    "new-key": ("log_commands:new_key", "Replace the log's key after a loss or theft."),
    "policy": ("log_commands:policy", "Print the policy that an app pins."),
    "recover": ("log_commands:recover_log", "Restore entries missing from the store's log."),
    "show": ("log_commands:show", "Show the log and its cosigners."),
    "verify": ("log_verify_command:verify", "Show and check all questions ever asked."),
}

PRIVACY_COMMANDS: Final = {
    "audit": ("privacy_commands:audit", "Show what a matrix guarantees, with the proof."),
    "budget": ("privacy_commands:budget", "Add up the privacy loss of several reports."),
}


class _AskGroup(LazyGroup):
    """The group of questions, whose help also names those that cannot be asked."""

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the questions that cannot be asked, why, and their alternatives."""
        from deniable.reading import CANNOT_BE_ASKED

        with formatter.section("What cannot be asked"):
            formatter.write_dl(CANNOT_BE_ASKED)


def _group(name: str, table: Table, kind: type[LazyGroup] = LazyGroup) -> LazyGroup:
    """Return a group with the help of its line in the root's table."""
    line = next(commands[name][1] for commands in COMMANDS.values() if name in commands)
    return kind({"Commands": table}, name=name, help=line)


ask = _group("ask", ASK_COMMANDS, _AskGroup)
log = _group("log", LOG_COMMANDS)
privacy = _group("privacy", PRIVACY_COMMANDS)
survey = _group("survey", SURVEY_COMMANDS)

deniable = click.version_option(package_name="deniable")(
    _OneLineErrors(
        COMMANDS,
        name="deniable",
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
)


UNKNOWN: Final = 3
"""The status of every error."""


class FindingCommand(click.Command):
    """A command that exits with the status "unknown" after any error."""

    usage_status = UNKNOWN
    """The status of a wrong option."""

    def make_context(self, *arguments: Any, **others: Any) -> click.Context:
        """Read the arguments."""
        with self._unknown():
            return super().make_context(*arguments, **others)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with self._unknown():
            return super().invoke(ctx)

    @contextmanager
    def _unknown(self) -> Iterator[None]:
        try:
            yield
        except (click.Abort, click.exceptions.Exit):
            raise
        except SystemExit as error:  # nobody reads the output any more, which is no finding either
            raise click.exceptions.Exit(UNKNOWN) from error
        except click.UsageError as error:
            error.show()
            raise click.exceptions.Exit(self.usage_status) from error
        except Exception as error:
            failure = error
            if not isinstance(failure, click.ClickException):
                line = expected_line(error)
                if line is None:
                    traceback.print_exception(error)
                failure = click.ClickException(line or "unexpected error; please report it")
            failure.show()
            raise click.exceptions.Exit(UNKNOWN) from error
