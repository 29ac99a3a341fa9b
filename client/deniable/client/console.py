"""``deniable device``: what this device may be asked, what it sent, and the user's decisions.

The same commands serve an app's own command line, for the app's own client. Standard library only.
If nothing else of deniable is installed, the command ``deniable`` has only these.
"""

import json
import logging
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable.client.consent import Consent, ConsentRecord
from deniable.client.errors import DeniableError, StateUnavailable
from deniable.client.explaining.explain import explain_stored
from deniable.client.explaining.explanation import Explanation, consent_lines
from deniable.client.explaining.journal import Journal, read_journal
from deniable.client.state.state import State
from deniable.terms.text import printable

if TYPE_CHECKING:
    from deniable.client.client import Client
    from deniable.client.engine import Engine

_EXTRA: Final = 'need the extra "collector": pip install "deniable[collector]"'
_HELP: Final = f"""usage: deniable device ...

Commands of a device:
  device  Show what a device stored and sent, or change consent.

All other commands {_EXTRA}
"""
_ORIGIN: Final = "command line"
COMMANDS: Final = {
    "explain": "Show the surveys, their terms, what is sent to whom, and the privacy spent",
    "journal": "Show everything stored and sent, newest last",
    "consent": "Show or change the decision to take part",
    "purge": "Erase all report bytes; decisions remain, and no response is drawn again",
}


def device_commands(client: "Client", arguments: Sequence[str], prog: str) -> int:
    """Run explain, journal, consent or purge for an app's client, as a command of the app.

    Args:
        client: the app's client, which is neither started nor closed.
        arguments: such as ``sys.argv[2:]``; ``["--help"]`` lists them.
        prog: how the user calls the command, such as ``"myapp privacy"``.

    Returns:
        The exit status: 0; 1 with one line on standard error; or 2 for wrong usage.
    """
    from deniable.client.client import engine_of
    from deniable.client.engine import acting_for

    # The engine raises errors that a client returns in its results.
    engine = acting_for(engine_of(client))
    surveys = engine.arguments.surveys
    return _run(lambda _options: engine, arguments, prog, lambda _parser: None, surveys)


def _add_state(parser: ArgumentParser) -> None:
    parser.add_argument("--state", type=Path, required=True, help="this device's state file")


def device(
    arguments: Sequence[str],
    add_place: Callable[[ArgumentParser], None] = _add_state,
    find_state: Callable[[Namespace], Path] = attrgetter("state"),
) -> int:
    """Run ``deniable device``, for a state file without its app; return the exit status.

    A collector's command line has its own options for the place of the state.
    """
    # The state's warnings are in the output or in the one line of an error.
    logging.getLogger("deniable").addHandler(logging.NullHandler())
    with ExitStack() as until:
        return _run(
            lambda options: until.enter_context(closing(_StoredDevice(find_state(options)))),
            arguments,
            "deniable device",
            add_place,
        )


class _StoredDevice:
    """A device known only by its state file, which must exist: these commands do not create it."""

    def __init__(self, file: Path) -> None:
        # Resolved, since the mark that reveals a copy is beside the file itself.
        path = file.expanduser().resolve()
        if not path.is_file():
            raise StateUnavailable(f"{file}: no device state file")
        self._state = State(path, Consent.UNSET, os.environ)

    def explain(self) -> Explanation:
        return explain_stored(self._state, time.time())

    def journal(self) -> Journal:
        return read_journal(self._state, time.time())

    def consent_record(self) -> ConsentRecord:
        return self._state.consent(time.time())

    def set_consent(self, consent: Consent | str, origin: str, _: object) -> None:
        # Consent covers nothing more, but the app asks again about refused surveys.
        refused = self.consent_record().refused if consent == Consent.ON else None
        self._state.set_consent(Consent(consent), origin, time.time(), refused)

    def purge(self) -> None:
        self._state.purge(time.time())

    def close(self) -> None:
        self._state.close()


def _run(
    find: Callable[[Namespace], "Engine | _StoredDevice"],
    arguments: Sequence[str],
    prog: str,
    add_options: Callable[[ArgumentParser], None],
    surveys: Collection[str] = (),
) -> int:
    try:
        options = _parser(prog, add_options).parse_args(arguments)
    except SystemExit as wrong:  # an app that embeds the commands decides when to exit
        return wrong.code if isinstance(wrong.code, int) else 2
    try:
        status = _do(find(options), options, surveys)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as head, has enough
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return 0
    except (DeniableError, ValueError, OSError) as error:
        print(printable(f"{prog}: {error}"), file=sys.stderr)
        return 1
    except (EOFError, KeyboardInterrupt):
        print(f"\n{prog}: nothing was changed", file=sys.stderr)
        return 1
    return status


def _parser(prog: str, add_options: Callable[[ArgumentParser], None]) -> ArgumentParser:
    parser = ArgumentParser(
        prog=prog, description="Show what this device stored and sent, or change consent."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, meaning in COMMANDS.items():
        command = commands.add_parser(
            name, help=meaning, description=f"{meaning}."[0].upper() + f"{meaning}."[1:]
        )
        if name in {"explain", "journal"}:
            command.add_argument("--json", action="store_true", help="print JSON")
        if name == "consent":
            command.add_argument(
                "decision",
                nargs="?",
                choices=[Consent.ON.value, Consent.OFF.value],
                help="on: take part; off: stop, and erase all report bytes (default: show the "
                "decision)",
            )
        if name == "purge":
            command.add_argument("--yes", action="store_true", help="skip the question")
        add_options(command)
    return parser


def _do(device: "Engine | _StoredDevice", options: Namespace, surveys: Collection[str]) -> int:
    if options.command in {"explain", "journal"}:
        figures = device.explain() if options.command == "explain" else device.journal()
        _show(as_json(figures) if options.json else str(figures))
        return 0
    if options.command == "purge":
        question = "Erase all reports that are stored here, including those not sent yet? [y/N] "
        if not options.yes and input(question).strip().lower() != "y":
            print("Nothing was erased.")
            return 0
        device.purge()
        print("Erased. Decisions remain, so no epoch gets a second response.")
        return 0
    news = device.explain().news if options.decision in {None, Consent.ON} else ()
    if options.decision is not None:
        named = surveys if options.decision == Consent.ON else None  # also refused surveys
        device.set_consent(options.decision, _ORIGIN, named)
    _show("\n".join([*consent_lines(device.consent_record()), *news]))
    return 0


def as_json(figures: Explanation | Journal) -> str:
    """Return all fields but those for wording; costs are in 1e-9 epsilon, bytes in hex."""

    def facts(pairs: list[tuple[str, object]]) -> dict[str, object]:
        return {name: value for name, value in pairs if name not in {"lines", "translate"}}

    return json.dumps(asdict(figures, dict_factory=facts), indent=2, default=bytes.hex)


def _show(text: str) -> None:
    """Print a text, with escapes for characters that the terminal's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def main(arguments: Sequence[str]) -> int:
    """Run a device command; return the exit status."""
    match arguments:
        case ["device", *rest]:
            return device(rest)
        case [] | ["-h" | "--help", *_]:
            print(_HELP, end="")
            return 0
        case ["--version"]:
            print(f"deniable, version {version('deniable')}")
            return 0
    print(f'deniable: all commands except "device" {_EXTRA}', file=sys.stderr)
    return 2
