"""``deniable try``: from a question to a page, and from that to a survey for real users."""

import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deniable.cli import try_command
from deniable.cli.try_command import _published, _survey_file
from deniable.directory import Config
from tests.cli.commands import SURVEY, Workplace, run, succeed
from tests.cli.serving import answering
from tests.support.processes import DENIABLE, await_line

ANSWERS = ["light", 'the "dark" one', "auto"]


def page(shown: str) -> str:
    """Look at the pages that are announced; return what the first has."""
    (address,) = re.findall(r"http://\S+", shown)
    over_time = urllib.request.urlopen(f"{address}/series").read().decode()
    assert {*re.findall(r'data-epoch="(\d+)"', over_time)} == {*"0123"}
    return str(urllib.request.urlopen(address).read().decode())


def test_one_command_shows_a_question_on_a_page_and_what_there_is_to_do(
    tmp_path: Path, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Serving:
        def wait(self) -> None:
            raise KeyboardInterrupt

    @contextmanager
    def running_collector(directory: Path, **_: str) -> Iterator[Serving]:
        with answering(Workplace(directory), Config.load(directory).port):
            yield Serving()

    seen: list[str] = []
    monkeypatch.setattr(try_command, "running_collector", running_collector)
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(page(address)))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    shown = succeed("try", "Which theme?", *ANSWERS, "--devices", "200")
    for text in (
        "Which theme?",
        "the &#34;dark&#34; one",
        "These figures are simulated: no real device",
        "200",
    ):
        assert text in seen[0]
    assert shown.endswith("Press Ctrl-C to stop; nothing is kept.\nstopped; nothing was saved\n")
    lines = [line.removeprefix("  ") for line in shown.splitlines() if line.startswith("  ")]
    file = tmp_path / "which-theme.toml"
    file.write_text("\n".join(line for line in lines if " = " in line), "utf-8")
    commands = [line.split() for line in lines if re.match("deniable (?!hist)", line)]
    assert [" ".join(command[:3]) for command in commands] == [
        *("deniable init which-theme-collector", "deniable survey publish", "deniable serve --dir")
    ]
    assert commands[1][3] == file.name
    place.succeed("survey publish", file)
    assert place.manifest("which-theme").categories == tuple(ANSWERS)


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_leaves_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    with subprocess.Popen(
        [*DENIABLE, "try", "Which theme?", *ANSWERS, "--no-browser", "--devices", "200"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    ) as trying:
        shown = await_line(trying, b"Ctrl-C").decode()
        assert "These figures are simulated: no real device" in page(shown)
        (seen,) = re.findall(r"^  deniable (hist .*)$", shown, re.MULTILINE)
        assert "dark" in succeed(seen)
        trying.send_signal(ending)
        rest, errors = trying.communicate(timeout=60)
        assert (trying.returncode, errors) == (0, b"")
        assert rest == b"stopped; nothing was saved\n"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("question", "name"),
    [
        *(("Which theme?", "which-theme"), ("¿Qué?", "qu"), ("何?", "my-survey")),
        ("a" * 39 + " b c", "a" * 39),
    ],
)
def test_a_name_is_made_of_the_question(question: str, name: str) -> None:
    assert _survey_file(question, ("yes", "no"), "1")[1] == name


def test_what_cannot_be_asked_is_said() -> None:
    for answers in (["one"], ["a", "a"]):
        ended = run("try What? --no-browser", *answers)
        assert (ended.exit_code, ended.stdout) == (1, "")
        assert "categories: " in ended.stderr
    assert run("try What?").exit_code == 2


def test_no_app_bundles_a_simulated_survey(place: Workplace) -> None:
    name = _published(place.directory, SURVEY).name
    assert name == "simulated-tea"
    shown = place.succeed("survey show", name)
    assert shown.endswith("simulated: no device answers this survey, and no app declares it\n")
    exported = place.fail("survey export", name)
    assert exported == "'simulated-tea' is simulated, so no app answers it"
