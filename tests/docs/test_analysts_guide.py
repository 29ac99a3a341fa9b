"""docs/analysts.md prints what it shows; the worked notebook's outputs are those of its cells."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from deniable.server import Config
from tests.cli.commands import Workplace, run, succeed
from tests.cli.serving import serving
from tests.support.notebook import executed
from tests.support.processes import ROOT
from tests.support.readme import marked_blocks

GUIDE = ROOT / "docs" / "analysts.md"
NOTEBOOK = ROOT / "examples" / "analyst.ipynb"
SHOWN = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_the_guide_prints_what_it_shows() -> None:
    shown = dict(SHOWN.findall(GUIDE.read_text("utf-8")))
    blocks = [block for block in marked_blocks(GUIDE) if block.label != "connect"]
    assert [block.text for block in blocks] == list(shown)
    namespace: dict[str, object] = {}
    for block in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block.text, namespace)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == [
            line.rstrip() for line in shown[block.text].splitlines()
        ]


def test_the_guide_reads_a_collector(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "collector")
    succeed("init", place.directory)
    place.publish(start="2026-01-05T00:00:00Z")
    for epoch in (0, 1, 3):
        place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * epoch, epoch=epoch)
    token = run("token", "new", "--dir", place.directory).stdout.strip()
    authority = Config.load(place.directory).authority.hex()
    (block,) = [block for block in marked_blocks(GUIDE) if block.label == "connect"]
    with serving(place) as server:
        text = block.text.replace(
            "https://telemetry.example.org", f"http://127.0.0.1:{server.port}"
        )
        text = text.replace("dn_…", token).replace('"tea.json"', repr(authority))
        found: dict[str, Any] = {}
        exec(text, found)
    assert (found["newest"].n, found["pooled"].n) == (39, 36 + 37 + 39)
    assert [point.n for point in found["series"].points] == [36, 37, 0, 39]


def test_the_notebook_shows_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stored = json.loads(NOTEBOOK.read_text("utf-8"))
    for cell, now in zip(stored["cells"], executed(stored), strict=True):
        assert cell == now, "".join(cell["source"])
