"""docs/testing.md: its code is an app with tests that pass, and its tables leave nothing out."""

import re
from pathlib import Path

import pytest

from deniable.fakes import Misbehaviour
from tests.support.processes import PYTEST, ROOT, run
from tests.support.readme import marked_blocks

GUIDE = ROOT / "docs" / "testing.md"


@pytest.mark.long
def test_the_guides_tests_pass_as_they_stand(tmp_path: Path) -> None:
    blocks = {block.label: block.text for block in marked_blocks(GUIDE)}
    assert set(blocks) == {"app", "capture", "collector", "issuer", "log", "relay"}
    (tmp_path / "app.py").write_text(blocks.pop("app"), "utf-8")
    for label, text in blocks.items():
        (tmp_path / f"test_{label}.py").write_text(text, "utf-8")
    done = run([*PYTEST, tmp_path], cwd=tmp_path)
    assert re.search(r"\b7 passed\b", done.stdout)
    assert not (tmp_path / "telemetry.sqlite").exists()


def test_every_misbehaviour_stands_in_the_guide() -> None:
    named = set(re.findall(r"`([A-Z_]+)`", GUIDE.read_text("utf-8")))
    assert named == {*Misbehaviour.__members__}
