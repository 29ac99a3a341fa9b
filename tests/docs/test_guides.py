"""Guides and tutorials work as they stand, print what they show, and their tables are complete.

What differs from a reader's terminal is what differs for the README (tests/system/test_readme.py).
"""

import json
import os
import re
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from deniable.client import DEFAULT_LIFETIME_EPSILON, Consent
from deniable.fakes import Misbehaviour
from tests.cli.commands import Workplace
from tests.cli.serving import serving
from tests.support.notebook import executed
from tests.support.processes import PYTEST, ROOT, await_line, child, free_port, run
from tests.support.readme import marked_blocks, outputs

DOCS = ROOT / "docs"
BASH = ("bash", "-euo", "pipefail", "-c")
PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
DEVICE = (DOCS / "device.md").read_text("utf-8")


def blocks(guide: str) -> dict[str, str]:
    """Return the marked blocks of a guide by their labels."""
    return {block.label: block.text for block in marked_blocks(DOCS / guide)}


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("guide", "left_out"),
    [("tutorials/analyst.md", ()), ("analysts.md", ("connect", "store"))],
)
def test_an_analysts_guide_prints_what_it_shows(guide: str, left_out: tuple[str, ...]) -> None:
    for printed, shown in outputs(DOCS / guide, *left_out):
        assert lines(printed) == lines(shown)


@pytest.mark.parametrize("number", [0, 1])
def test_a_block_shows_what_the_command_prints(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / "auditing.md").read_text("utf-8")
    shown = re.findall(r"^```console\n\$ deniable (.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)
    assert len(shown) == 2
    monkeypatch.chdir(ROOT)
    command, output = shown[number]
    printed = CliRunner(env={"COLUMNS": "80"}).invoke(deniable, shlex.split(command))
    assert printed.exit_code == 0
    assert lines(printed.stdout) == output.splitlines()


@pytest.mark.long
def test_the_three_operators_commands_and_app_fit_together(tmp_path: Path) -> None:
    texts = blocks("tutorials/unlinkable.md")
    assert [*texts] == ["keys", "publish", "app"]
    guide = (DOCS / "tutorials" / "unlinkable.md").read_text("utf-8")
    (survey,) = re.findall(r"^```toml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    (tmp_path / "theme.toml").write_text(survey, "utf-8")
    (tmp_path / "app.py").write_text(texts["app"], "utf-8")
    (tmp_path / "enrolment.py").write_text("def enrol(request): return None\n", "utf-8")
    typed = texts["keys"] + texts["publish"] + "python app.py\n"
    shown = run(["bash", "-euo", "pipefail", "-c", typed], cwd=tmp_path, env=PATH).stdout
    assert "Which theme do you use?" in shown
    assert shown.splitlines()[-1] == "not-recorded"


@pytest.mark.long
def test_the_developers_app_reports_once_and_not_before_consent(tmp_path: Path) -> None:
    texts = blocks("tutorials/developer.md")
    assert [*texts] == [*("collector", "app", "report", "pretend", "figures", "shown")]
    setup = marked_blocks(DOCS / "tutorials" / "developer.md")[0]
    (tmp_path / "app.py").write_text(texts["app"], "utf-8")
    guide = (DOCS / "tutorials" / "developer.md").read_text("utf-8")
    (survey,) = re.findall(r"^```toml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    (tmp_path / "theme.toml").write_text(survey, "utf-8")
    pretend = texts["pretend"].replace("range(200)", "range(20)")
    (tmp_path / "pretend.py").write_text(pretend, "utf-8")

    def printed(typed: str, commands: str) -> str:
        return run([*BASH, commands], cwd=tmp_path, env=PATH, typed=typed).stdout

    run([*BASH, setup.script(free_port())], cwd=tmp_path, env=PATH)
    options: dict[str, Any] = {"cwd": tmp_path, "env": os.environ | PATH, "stdout": PIPE}
    with child([*BASH, f"exec {setup.serves}"], **options) as server:
        await_line(server, b"listening")
        assert printed("n\n", texts["report"]).count("Take part?") == 1
        assert "You refused: theme." in printed("", "python app.py privacy consent")
        assert "You agreed to: theme." in printed("", "python app.py privacy consent on")
        assert "recorded\nDelivery(delivered=1" in printed("light\n", "python app.py")
        printed("", "rm telemetry.sqlite*")
        assert "Take part?" in printed("", "python app.py")  # and nobody answers
        assert "recorded" not in printed("y\nblue\n", "python app.py")
        report, shown = printed("dark\n", texts["report"]), printed("", texts["shown"])
        counted = printed("", "deniable hist theme --dir app-collector --json")
        figures = printed("", texts["figures"])
    assert report.count("Which theme do you use?") == report.count("recorded\nDelivery(delive") == 1
    assert "Which theme do you use?" in shown
    assert "accepted (the collector has counted the report)" in shown
    assert json.loads(counted)["n"] == 2
    assert "22 devices answered theme" in figures


@pytest.mark.long
def test_the_guide_reads_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the guide's files are
    place = Workplace.made(tmp_path / "collector")
    start = datetime.now(UTC) - timedelta(days=5)
    place.publish(start=start.isoformat(timespec="seconds"))
    for epoch in (0, 1, 3):
        place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * epoch, epoch=epoch)
    token = place.run("token new").stdout.strip()
    place.succeed("survey export tea --out tea.json")
    texts = blocks("analysts.md")
    stored: dict[str, Any] = {}
    exec(texts["store"], stored)
    with serving(place) as server:
        text = texts["connect"].replace(
            "https://telemetry.example.org", f"http://127.0.0.1:{server.port}"
        )
        found: dict[str, Any] = {}
        exec(re.sub("deniable_[0-9a-f]{64}", token, text, count=1), found)
    assert stored["tea"].histogram().n == found["newest"].n
    assert (found["newest"].n, found["pooled"].n) == (39, 36 + 37 + 39)
    assert [point.n for point in found["series"].points] == [36, 37, 0, 39]


@pytest.mark.long
def test_the_notebook_shows_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stored = json.loads((ROOT / "examples" / "analyst.ipynb").read_text("utf-8"))
    for cell, now in zip(stored["cells"], executed(stored), strict=True):
        assert cell == now, "".join(cell["source"])


@pytest.mark.long
def test_the_guides_blocks_run_in_order(tmp_path: Path) -> None:
    texts = blocks("device.md")
    assert [*texts] == ["app", "commands", "consent", "journal", "language", "several", "enrol"]
    app = texts["app"].replace("https://telemetry.example.org", f"http://127.0.0.1:{free_port()}")
    assert app != texts["app"]
    (tmp_path / "myapp.py").write_text(app, "utf-8")
    env = {**PATH, "PYTHONPATH": str(tmp_path)}
    # As a reader may: the dialog first, then the commands.
    dialog = run([sys.executable, "-c", texts["consent"]], cwd=tmp_path, env=env).stdout
    assert "sees when you take part, and your network address." in dialog
    assert dialog.splitlines()[-1] == "on"
    bash = ["bash", "-euo", "pipefail", "-c", texts["commands"]]
    shown = run(bash, cwd=tmp_path, env=env).stdout
    assert "Which theme do you use?" in shown
    assert "consent: on, from first-run dialog" in shown
    assert "origin: command line" in shown
    assert "Erased." in shown
    german = run([sys.executable, "-c", texts["language"]], cwd=tmp_path, env=env).stdout
    assert german.startswith("Der Zufall wählt, was gesendet wird")
    for silent in ("several", "journal"):
        assert run([sys.executable, "-c", texts[silent]], cwd=tmp_path, env=env).stdout == ""
    authority = re.search(r'authority="([0-9a-f]{64})"', app)
    assert authority is not None
    made = f'print(certified("https://telemetry.example.org", "{authority[1]}"))'
    shown = run([sys.executable, "-c", f"{texts['enrol']}\n{made}"], cwd=tmp_path, env=env).stdout
    assert shown.startswith("Client('https://telemetry.example.org'")


@pytest.mark.parametrize("consent", Consent)
def test_every_consent_has_a_row(consent: Consent) -> None:
    assert re.search(rf"^\| `{consent}`", DEVICE, re.MULTILINE)


def test_the_default_of_the_lifetime_ceiling_is_right() -> None:
    assert f"`Client(lifetime_epsilon=…)` | {DEFAULT_LIFETIME_EPSILON} |" in DEVICE


@pytest.mark.long
def test_the_guides_tests_pass_as_they_stand(tmp_path: Path) -> None:
    texts = blocks("testing.md")
    assert {*texts} == {"app", "capture", "collector", "issuer"}
    (tmp_path / "app.py").write_text(texts.pop("app"), "utf-8")
    for label, text in texts.items():
        (tmp_path / f"test_{label}.py").write_text(text, "utf-8")
    done = run([*PYTEST, tmp_path], cwd=tmp_path)
    assert re.search(r"\b5 passed\b", done.stdout)
    assert not (tmp_path / "telemetry.sqlite").exists()


def test_every_misbehaviour_stands_in_the_guide() -> None:
    named = set(re.findall(r"`([A-Z_]+)`", (DOCS / "testing.md").read_text("utf-8")))
    assert named == {*Misbehaviour.__members__}
