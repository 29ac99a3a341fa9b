"""docs/device.md: its app runs, its commands too, and its tables leave nothing out."""

import os
import re
import sys
from pathlib import Path

import pytest

from deniable.client import DEFAULT_LIFETIME_EPSILON, Consent
from tests.support.processes import ROOT, free_port, run
from tests.support.readme import marked_blocks

GUIDE = ROOT / "docs" / "device.md"
TEXT = GUIDE.read_text("utf-8")


@pytest.mark.long
def test_the_guides_blocks_run_in_order(tmp_path: Path) -> None:
    blocks = {block.label: block for block in marked_blocks(GUIDE)}
    assert list(blocks) == ["app", "commands", "consent", "journal", "several", "enrol"]
    app = blocks["app"].text.replace(
        "https://telemetry.example.org", f"http://127.0.0.1:{free_port()}"
    )
    assert app != blocks["app"].text
    (tmp_path / "myapp.py").write_text(app, "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "PYTHONPATH": str(tmp_path)}
    # As a reader may: the dialog first, then the commands.
    dialog = run([sys.executable, "-c", blocks["consent"].text], cwd=tmp_path, env=env).stdout
    assert "Not hidden      That you take part" in dialog
    assert dialog.splitlines()[-1] == "local"
    bash = ["bash", "-euo", "pipefail", "-c", blocks["commands"].text]
    shown = run(bash, cwd=tmp_path, env=env).stdout
    assert "Which theme do you use?" in shown
    assert "consent: local, from first-run dialog" in shown
    assert "origin: command line" in shown
    assert "Erased." in shown
    for silent in ("several", "journal"):
        assert run([sys.executable, "-c", blocks[silent].text], cwd=tmp_path, env=env).stdout == ""
    authority = re.search(r'authority="([0-9a-f]{64})"', app)
    assert authority is not None
    made = f'print(certified("https://telemetry.example.org", "{authority[1]}"))'
    shown = run(
        [sys.executable, "-c", f"{blocks['enrol'].text}\n{made}"], cwd=tmp_path, env=env
    ).stdout
    assert shown.startswith("Client('https://telemetry.example.org'")


@pytest.mark.parametrize("consent", Consent)
def test_every_consent_has_a_row(consent: Consent) -> None:
    assert re.search(rf"^\| `{consent}`", TEXT, re.MULTILINE)


def test_the_default_of_the_lifetime_ceiling_is_right() -> None:
    assert f"`Client(lifetime_epsilon=…)` | {DEFAULT_LIFETIME_EPSILON} |" in TEXT
