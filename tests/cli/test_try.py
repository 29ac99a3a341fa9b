"""``deniable try``: from a question to a page, and from that to a survey in earnest."""

import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from deniable.cli.try_command import _published, _survey_file
from tests.cli.commands import SURVEY, Workplace, fail, run, succeed
from tests.support.processes import DENIABLE, await_line


@pytest.mark.parametrize(
    "ending", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_one_command_shows_a_question_on_a_page_and_leaves_nothing(
    tmp_path: Path, place: Workplace, ending: signal.Signals
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    asked = ["Which theme?", "light", 'the "dark" one', "auto", "--no-browser", "--devices", "200"]
    with subprocess.Popen(
        [*DENIABLE, "try", *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"TMPDIR": str(scratch), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    ) as trying:
        shown = await_line(trying, b"Ctrl-C ends").decode()
        (address,) = re.findall(r"http://\S+", shown)
        page = urllib.request.urlopen(address).read().decode()
        for text in ("Which theme?", "the &#34;dark&#34; one", "Simulated: no real device", "200"):
            assert text in page
        over_time = urllib.request.urlopen(f"{address}/series").read().decode()
        assert {*re.findall(r'data-epoch="(\d+)"', over_time)} == {*"0123"}
        (seen,) = re.findall(r"^  deniable (hist .*)$", shown, re.MULTILINE)
        assert "dark" in succeed(*seen.split())
        trying.send_signal(ending)
        rest, errors = trying.communicate(timeout=60)
        assert (trying.returncode, errors) == (0, b"")
        assert rest == b"ended; nothing is kept\n"
    assert [*scratch.iterdir()] == []
    # What it says is what there is to do.
    lines = [line.removeprefix("  ") for line in shown.splitlines() if line.startswith("  ")]
    file = tmp_path / "which-theme.toml"
    file.write_text("\n".join(line for line in lines if " = " in line), "utf-8")
    commands = [line.split() for line in lines if re.match("deniable (?!hist)", line)]
    assert [" ".join(command[:3]) for command in commands] == [
        *("deniable init my-collector", "deniable survey publish", "deniable serve --dir")
    ]
    assert commands[1][3] == file.name
    succeed("survey", "publish", file, "--dir", place.directory)
    assert place.manifest("which-theme").categories == ("light", 'the "dark" one', "auto")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Which theme?", "which-theme"),
        ("¿Qué?", "qu"),
        ("何?", "my-survey"),
        ("a" * 39 + " b c", "a" * 39),
    ],
)
def test_a_name_is_made_of_the_question(question: str, name: str) -> None:
    assert _survey_file(question, ("yes", "no"), "1")[1] == name


def test_what_cannot_be_asked_is_said() -> None:
    for answers, said in ((["one"], "categories: "), (["a", "a"], "categories: ")):
        ended = run("try", "What?", *answers, "--no-browser")
        assert (ended.exit_code, ended.stdout) == (1, "")
        assert said in ended.stderr
    assert run("try", "What?").exit_code == 2


def test_no_app_bundles_a_simulated_survey(place: Workplace) -> None:
    name = _published(place.directory, SURVEY).name
    assert name == "simulated-tea"
    shown = succeed("survey", "show", name, "--dir", place.directory)
    assert shown.endswith("simulated: no device answers it, and no app declares it\n")
    exported = fail("survey", "export", name, "--dir", place.directory)
    assert exported == "'simulated-tea' is simulated: no app answers it"
