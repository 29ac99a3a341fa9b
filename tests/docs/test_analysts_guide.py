"""docs/analysts.md prints what it shows; the worked notebook's outputs are those of its cells."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Workplace, succeed
from tests.cli.serving import serving
from tests.support.notebook import executed
from tests.support.processes import ROOT
from tests.support.readme import marked_blocks, outputs

GUIDE = ROOT / "docs" / "analysts.md"
NOTEBOOK = ROOT / "examples" / "analyst.ipynb"


def test_the_guide_prints_what_it_shows() -> None:
    for printed, shown in outputs(GUIDE, "connect", "store"):
        assert [line.rstrip() for line in printed.splitlines()] == [
            line.rstrip() for line in shown.splitlines()
        ]


@pytest.mark.long
def test_the_guide_reads_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the guide's files are
    place = Workplace(tmp_path / "collector")
    succeed("init", place.directory)
    start = datetime.now(UTC) - timedelta(days=5)
    place.publish(start=start.isoformat(timespec="seconds"))
    for epoch in (0, 1, 3):
        place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * epoch, epoch=epoch)
    token = place.run("token new").stdout.strip()
    place.succeed("survey export tea --out tea.json")
    texts = {block.label: block.text for block in marked_blocks(GUIDE)}
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
    stored = json.loads(NOTEBOOK.read_text("utf-8"))
    for cell, now in zip(stored["cells"], executed(stored), strict=True):
        assert cell == now, "".join(cell["source"])
