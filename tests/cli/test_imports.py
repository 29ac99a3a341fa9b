"""Which libraries a command imports: those that start slowly only where they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import Workplace
from tests.support.processes import ROOT

HELP = """
import sys
from tests.cli.commands import all_commands, succeed
for path, _ in all_commands():
    succeed(*path, "--help")
    print(*path, *(name for name in {names!r} if name in sys.modules), sep=",")
"""
SLOW = {"aiohttp", "asyncpg", "cryptography", "jinja2", "numpy", "rich", "scipy"}
PROGRAM = """
import sys
from deniable.cli import main
sys.argv = ["deniable", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(*(name for name in {names!r} if name in sys.modules), file=sys.stderr)
"""
STORED = [
    "authority show",
    "doctor --json",
    "survey list --json",
    "survey show tea",
    "survey export tea",
    "survey seals tea",
    "survey seal tea 0 --early --yes",
    "survey end tea --yes",
    "store check",
    "store migrate",
    "token list",
    "token new",
]


def imported(*arguments: str | Path) -> set[str]:
    """Return which of the slow libraries a process imports that runs a command."""
    program = PROGRAM.format(names=sorted(SLOW))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", ["--help", "survey --help", "--version"])
def test_help_imports_no_command(arguments: str) -> None:
    assert imported(*arguments.split()) == set()


def test_no_help_waits_for_what_only_the_work_needs() -> None:
    # One process for all: whatever the first of them imports, the others have too.
    program = HELP.format(names=sorted(SLOW - {"cryptography"}))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = [line.split(",") for line in done.stdout.splitlines()]
    assert len(shown) > 30
    assert [line for line in shown if SLOW & {*line}][:1] == []


@pytest.mark.parametrize("command", STORED)
def test_a_command_that_calculates_nothing_imports_no_mathematics(
    place: Workplace, command: str
) -> None:
    place.publish()
    assert imported(*command.split(), "--dir", place.directory) == {"cryptography"}


@pytest.mark.parametrize("command", ["report --help", "device --help"])
def test_commands_of_the_device_need_what_the_device_needs(command: str) -> None:
    assert imported(*command.split()) <= {"cryptography"}


def test_making_a_collector_and_an_issuers_key_imports_no_mathematics(tmp_path: Path) -> None:
    assert imported("init", tmp_path / "collector") == {"cryptography"}
    assert imported("issuer", "new", tmp_path / "issuer.pem") == {"cryptography"}
