"""Every foreseen error is one line that says what to do; every command explains itself."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from tests.cli.commands import Workplace, all_commands, fail, run, succeed
from tests.support.processes import DENIABLE

COMMANDS = all_commands()
NEED_A_COLLECTOR = [
    ("serve",),
    ("token", "new"),
    ("survey", "list"),
    ("survey", "show", "tea"),
    ("hist", "tea"),
]


_OF_THE_DEVICE = {("report",): "randomised here", ("device",): "stored and sent"}


def test_every_command_explains_itself_and_its_options() -> None:
    for path, command in COMMANDS:
        shown = succeed(*path, "--help")
        assert shown.lower().startswith("usage: deniable")
        if path in _OF_THE_DEVICE:
            assert _OF_THE_DEVICE[path] in shown  # argparse's, from the device's half
            continue
        assert command.help, path
        assert command.help.split()[0] in shown
        for parameter in command.params:
            # Those of click take "1_0", and the digits of all scripts.
            assert type(parameter.type) is not click.IntRange
            assert parameter.type not in (click.INT, click.FLOAT)
            if isinstance(parameter, click.Option):
                assert parameter.help, (path, parameter.name)
                assert parameter.opts[0] in shown


def test_every_command_has_a_summary_that_is_not_cut_off() -> None:
    assert version("deniable") in succeed("--version")
    for path, _ in COMMANDS[1:]:
        shown = succeed(" ".join(path[:-1]), "--help")
        (line,) = [line for line in shown.splitlines() if line.split()[:1] == [path[-1]]]
        assert line.endswith("."), path
        assert not line.endswith("...")


def test_without_a_collector_one_line_says_how_to_make_one(tmp_path: Path) -> None:
    for command in NEED_A_COLLECTOR:
        message = fail(*command, "--dir", tmp_path)
        for remedy in ("deniable init", "--dir", "DENIABLE_DIR"):
            assert remedy in message


@pytest.mark.parametrize("damage", ["settings", "newer", "store is text", "store is a directory"])
def test_a_damaged_collector_is_one_line(damage: str, place: Workplace) -> None:
    store = place.directory / "store.sqlite"
    if damage == "newer":
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA user_version=99")
    elif damage == "settings":
        place.settings.write_text("port = 'none'\nnonsense = 1\n", "utf-8")
    else:
        store.unlink()
        if damage == "store is text":
            store.write_text("this is no database " * 50, "utf-8")
        else:
            store.mkdir()
    for command in NEED_A_COLLECTOR:
        message = place.fail(*command)
        assert str(place.settings if damage == "settings" else store) in message
        assert damage != "newer" or "upgrade" in message


def test_a_package_that_is_not_installed_is_one_line(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("deniable.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.setenv("DENIABLE_STORE", "postgresql://localhost/any")
    assert place.fail("store check").startswith("asyncpg is not installed")


@pytest.mark.parametrize(
    "words",
    [
        *("no-such-command", "hist", "hist tea --no-such-option"),
        *(f"hist tea --level {level}" for level in ("0", "1", "nan", "inf", "0.\u0665")),
        *("plan tea.toml --level 95", "survey publish", "token new --role emperor", "init"),
        *("init x --port 65536", "init x --port -1", "serve --workers 0"),
        *(f"privacy budget --epsilon 1 --times {number}" for number in ("1_0", "\u0661\u0660")),
    ],
)
def test_a_wrong_use_exits_with_2_and_names_the_fault_last(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(words)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Usage: deniable")
    assert lines[-1].startswith("Error: ")
    assert "--times" not in words or "is not a whole number" in lines[-1]
    assert [*tmp_path.iterdir()] == []


def test_the_directory_may_come_from_the_environment_or_be_relative(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLE_DIR", str(place.directory))
    assert "no survey is published" in succeed("survey list")
    place.publish()
    monkeypatch.chdir(place.directory.parent)
    assert "tea" in succeed("survey list --dir", place.directory.name)


def test_as_a_process_an_error_is_one_line_on_stderr_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [*DENIABLE, "hist", "tea", "--dir", tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
