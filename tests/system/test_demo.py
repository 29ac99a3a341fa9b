"""``deniable demo`` does the main job from end to end."""

from pathlib import Path

import pytest

from tests.support.processes import DENIABLE, run


@pytest.mark.long
def test_the_demonstration_counts_every_device(tmp_path: Path) -> None:
    done = run([*DENIABLE, "demo", "--devices", "200"], cwd=tmp_path)
    counted = "the collector counted 200 responses at epsilon 1"
    assert counted in " ".join(done.stdout.split())  # where its line ends depends on the seconds
    for word in ("answer", "truth", "supported by", "estimate", "95 % interval", "covers"):
        assert word in done.stdout
    for category in ("very poor", "poor", "fair", "good", "very good"):
        assert f"\n{category} " in done.stdout
    assert "factor of at most 2.719" in done.stdout
