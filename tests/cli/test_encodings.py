"""What programs read is UTF-8, whatever characters the terminal's encoding has."""

import csv
import json
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from tests.cli.commands import Workplace, all_commands
from tests.support.processes import DENIABLE

ANSWERS = ["日本", "한국"]
SURVEY = f"""\
name = "home"
question = "Where do you live?"
categories = {json.dumps(ANSWERS, ensure_ascii=False)}
epsilon = "1"
epoch = "1 day"
epochs = 3
minimum_reports = 1
"""
FORMS = {"--json", "--csv", "--html"}


def _file(folder: Path) -> Path:
    file = folder / "home.toml"
    file.write_text(SURVEY, "utf-8")
    return file


def test_json_is_utf_8_where_the_terminal_knows_no_such_character(tmp_path: Path) -> None:
    asked = ["simulate", str(_file(tmp_path)), "--truth", "uniform", "--devices", "100", "--json"]
    done = subprocess.run(
        [*DENIABLE, *asked], env={"PYTHONIOENCODING": "cp1252"}, capture_output=True, check=True
    )
    assert [row["name"] for row in json.loads(done.stdout)["figures"]] == ANSWERS


def test_csv_and_pages_are_utf_8_where_the_terminal_knows_no_such_character(
    place: Workplace, tmp_path: Path
) -> None:
    place.publish(_file(tmp_path).read_text("utf-8"))
    place.count([0, 0, 1, 1], name="home")
    at = ["--dir", str(place.directory)]
    written = _bytes("hist", "home", "--csv", *at).decode()
    assert [row["category"] for row in csv.DictReader(written.splitlines())] == ANSWERS
    page = _bytes("survey", "notice", "home", "--html", *at).decode()
    assert all(answer in page for answer in ANSWERS)


def _bytes(*arguments: str) -> bytes:
    result = CliRunner(charset="cp1252").invoke(deniable, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout_bytes


@pytest.mark.parametrize(
    "option",
    [
        pytest.param(option, id=" ".join((*path, *option.opts)))
        for path, command in all_commands()
        for option in command.params
        if isinstance(option, click.Option) and FORMS.intersection(option.opts)
    ],
)
def test_every_form_for_programs_is_utf_8(option: click.Option) -> None:
    assert option.callback is not None
    assert option.callback.__qualname__.startswith("program_option.")
