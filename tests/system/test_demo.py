"""``examples/demo.py`` does the main job from end to end."""

import sys
from pathlib import Path

import pytest

from tests.support.processes import ROOT, run


@pytest.mark.long
def test_the_demonstration_counts_every_device(tmp_path: Path) -> None:
    done = run([sys.executable, ROOT / "examples/demo.py", "--devices", "200"], cwd=tmp_path)
    counted = "the collector counted 200 responses at epsilon 1"
    assert counted in " ".join(done.stdout.split())  # where its line ends depends on the seconds
    for word in ("answer", "truth", "supported by", "estimate", "95 % interval", "covers"):
        assert word in done.stdout
    for category in ("very poor", "poor", "fair", "good", "very good"):
        assert f"\n{category} " in done.stdout
    assert "factor of at most 2.719" in done.stdout
