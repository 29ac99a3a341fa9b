"""What the documents show of a command's output is what the command prints."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```console\n\$ deniable (.*)\n((?:.*\n)*?)```$",
    (ROOT / "docs" / "auditing.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_there_are_such_blocks() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize(("command", "shown"), BLOCKS)
def test_a_block_shows_what_the_command_prints(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    printed = CliRunner(env={"COLUMNS": "80"}).invoke(deniable, shlex.split(command))
    assert printed.exit_code == 0
    assert [line.rstrip() for line in printed.stdout.splitlines()] == shown.splitlines()
