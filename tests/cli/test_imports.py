"""Which libraries a command imports: those that start slowly only where they are used."""

import subprocess
import sys
from pathlib import Path

from tests.cli.commands import Workplace
from tests.support.processes import ROOT

HELP = """
import sys
from tests.cli.commands import all_commands, succeed
for path, _ in all_commands():
    succeed(*path, "--help")
    print(*path, *(name for name in {names!r} if name in sys.modules), sep=",")
"""
SLOW = {
    *("aiohttp", "asyncpg", "cryptography", "jinja2", "numpy", "prometheus_client", "rich"),
    "scipy",
}
PROGRAM = """
import sys
from deniable.command import main
name, *commands = sys.argv
told = []
for command in commands:
    sys.argv = [name, *command.split()]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
    told.append([command, *(name for name in {names!r} if name in sys.modules)])
for each in told:
    print(*each, sep=",")
"""
STORED = [
    *("authority show", "doctor --json", "survey list --json", "survey epochs tea --json"),
    *("survey show tea", "survey export tea", "store check", "store migrate"),
    *("survey seal tea 0 --early --yes", "survey end tea --yes", "token list", "token new"),
]


def imported(*commands: str) -> list[tuple[str, set[str]]]:
    """Return which of the slow libraries are imported after each command, all in one process."""
    program = PROGRAM.format(names=sorted(SLOW))
    done = subprocess.run(
        [sys.executable, "-c", program, *commands], capture_output=True, text=True, check=True
    )
    told = (line.split(",") for line in done.stdout.splitlines()[-len(commands) :])
    return [(command, {*libraries}) for command, *libraries in told]


def test_help_imports_no_command_and_the_device_s_what_the_device_needs() -> None:
    shown = ["--version", "--help", "survey --help"]
    found = imported(*shown, "report --help", "device --help")
    assert found[:3] == [(command, set()) for command in shown]
    assert all(libraries <= {"cryptography"} for _, libraries in found)


def test_no_help_waits_for_what_only_the_work_needs() -> None:
    program = HELP.format(names=sorted(SLOW - {"cryptography"}))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = [line.split(",") for line in done.stdout.splitlines()]
    assert len(shown) > 30
    assert [line for line in shown if SLOW & {*line}][:1] == []


def test_a_command_that_calculates_nothing_imports_no_mathematics(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish()
    commands = [
        *(f"{command} --dir {place.directory}" for command in STORED),
        f"init {tmp_path / 'other'}",
        f"issuer new {tmp_path / 'issuer.pem'}",
    ]
    assert imported(*commands) == [(command, {"cryptography"}) for command in commands]


def test_settings_keys_tokens_and_the_store_need_neither_numpy_nor_aiohttp() -> None:
    program = "import sys, deniable.doctor.store_checks\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0
    assert {*done.stdout.split()} & SLOW <= {"cryptography"}
