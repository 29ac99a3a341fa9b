"""The command line, run inside the test, and a collector's directory to run it on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.testing import CliRunner, Result

from deniable.cli.root import deniable
from deniable.cli.sources import find_survey
from deniable.directory import CONFIG_FILE, Config, with_store
from deniable.messages import Manifest
from deniable.stores import Verdict
from tests.support.reports import report

SURVEY = """\
name = "tea"
question = "How often do you drink tea?"
categories = ["never", "sometimes", "often", "always"]
epsilon = "1"
epoch = "1 day"
epochs = 30
minimum_reports = 1
"""


def changed(text: str = SURVEY, **changes: str) -> str:
    """Return a survey file's text, with some lines changed; a field given as "" is left out."""
    lines = [line for line in text.splitlines() if line.partition(" =")[0] not in changes]
    lines += [f"{field} = {value}" for field, value in changes.items() if value]
    return "\n".join(lines)


def all_commands(
    group: click.Command = deniable, *path: str
) -> list[tuple[tuple[str, ...], click.Command]]:
    """Return every command there is, groups included, with its words."""
    found = [(path, group)]
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found += all_commands(command, *path, name)
    return found


def run(words: str, *arguments: str | Path) -> Result:
    """Run ``deniable`` with these words and arguments; raise what it does not foresee."""
    # As into a pipe, whatever terminal the tests run in.
    runner = CliRunner(env={"COLUMNS": None})
    given = [*words.split(), *map(str, arguments)]
    return runner.invoke(deniable, given, catch_exceptions=False)


def succeed(words: str, *arguments: str | Path) -> str:
    """Run a command that has to succeed; return what it printed."""
    result = run(words, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def fail(words: str, *arguments: str | Path) -> str:
    """Run a command that has to fail as foreseen: one line on stderr, which is returned."""
    result = run(words, *arguments)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("Error: ").rstrip("\n")


def without_places(shown: str) -> list[str]:
    """Return the lines of an output, but for that of the store: how long its path is, is chance."""
    return [line for line in shown.splitlines() if not line.startswith("store     ")]


@dataclass(frozen=True)
class Workplace:
    """A collector that ``deniable init`` made."""

    directory: Path

    @classmethod
    def made(cls, directory: Path) -> "Workplace":
        """Return a new collector in which nothing is published."""
        succeed("init", directory)
        return cls(directory)

    def run(self, words: str, *arguments: str | Path) -> Result:
        return run(words, *arguments, "--dir", self.directory)

    def succeed(self, words: str, *arguments: str | Path) -> str:
        return succeed(words, *arguments, "--dir", self.directory)

    def fail(self, words: str, *arguments: str | Path) -> str:
        return fail(words, *arguments, "--dir", self.directory)

    @property
    def key_file(self) -> Path:
        """Return the authority's key, where init puts it."""
        return self.directory.with_name(f"{self.directory.name}-authority.pem")

    @property
    def settings(self) -> Path:
        """Return the settings file."""
        return self.directory / CONFIG_FILE

    def set(self, **changes: str) -> None:
        """Change settings; one that is given as "" is left out."""
        self.settings.write_text(changed(self.settings.read_text("utf-8"), **changes), "utf-8")

    def publish(self, text: str = SURVEY, **changes: str) -> str:
        """Publish a survey file's text, with some lines changed; return what was printed."""
        return self.succeed("survey publish", self.written(text, **changes))

    def dry_run(self, text: str = SURVEY, **changes: str) -> str:
        """Return all that would be printed of a survey, which is not published."""
        return self.succeed("survey publish", self.written(text, **changes), "--dry-run")

    def written(self, text: str = SURVEY, **changes: str) -> Path:
        """Write a survey file and return it."""
        file = self.directory / "survey.toml"
        file.write_text(changed(text, **changes), "utf-8")
        return file

    def manifest(self, name: str = "tea") -> Manifest:
        """Return the newest survey of a name."""
        config = Config.load(self.directory)
        return with_store(config, lambda store: find_survey(store, config, name))

    def count(self, responses: Sequence[int], epoch: int = 0, name: str = "tea") -> None:
        """Store one report of another device for each response."""
        survey = self.manifest(name)
        batch = [
            report(device, response, epoch=epoch, survey=survey)
            for device, response in enumerate(responses)
        ]
        verdicts = with_store(Config.load(self.directory), lambda store: store.add(batch))
        assert verdicts == [Verdict.ACCEPTED] * len(batch)
