"""What a new command takes: a function and its line in the table."""

import sys
from importlib import import_module
from pkgutil import walk_packages

import click
import pytest

from deniable import cli
from deniable.cli.root import COMMANDS
from tests.cli import test_errors
from tests.cli.commands import Workplace, all_commands, succeed
from tests.support import toy_command

LINE = "How many answers a survey has."


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the toy as the recipe says: by its module, and its line in the table."""
    monkeypatch.setitem(sys.modules, "deniable.cli.toy_command", toy_command)
    monkeypatch.setitem(COMMANDS["Plan a survey"], "toy", ("toy_command:toy", LINE))


def test_a_new_command_is_listed_and_explained_and_its_errors_are_one_line(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.publish()
    assert place.succeed("toy tea") == "4\n"
    assert "no survey 'coffee'" in place.fail("toy coffee")
    monkeypatch.setattr(test_errors, "COMMANDS", all_commands())
    test_errors.test_every_command_explains_itself_and_its_options()
    test_errors.test_every_command_has_a_summary_that_is_not_cut_off()
    assert LINE in succeed("--help")


def test_every_command_of_the_package_is_in_a_table() -> None:
    modules = [
        import_module(module.name)
        for module in walk_packages(cli.__path__, f"{cli.__name__}.")
        if not module.name.endswith("__main__")
    ]
    commands = {
        value.name
        for module in modules
        for value in vars(module).values()
        if isinstance(value, click.Command)
    }
    assert commands <= {command.name for _, command in all_commands()}
