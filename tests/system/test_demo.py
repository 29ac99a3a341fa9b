"""``deniable demo`` does the main job from end to end, and what it keeps can be looked at again."""

import json
import re
from pathlib import Path
from subprocess import PIPE
from urllib.request import Request, urlopen

import pytest

from tests.support.processes import DENIABLE, await_line, child, run


@pytest.mark.long
def test_the_demonstration_counts_every_device_and_keeps_its_collector(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = run([*DENIABLE, "demo", "--devices", "200", "--keep", kept], cwd=tmp_path)
    counted = "the collector counted 200 responses at epsilon 1"
    assert counted in " ".join(done.stdout.split())  # where its line ends depends on the seconds
    for word in ("answer", "truth", "supported by", "estimate", "95 % interval", "covers"):
        assert word in done.stdout
    for category in ("very poor", "poor", "fair", "good", "very good"):
        assert f"\n{category} " in done.stdout
    assert "factor of at most 2.719" in done.stdout

    again = run([*DENIABLE, "hist", "rating-of-marriage", "--dir", kept], cwd=tmp_path)
    assert "How do you rate your marriage?" in again.stdout
    assert re.search(r"\b200\b", again.stdout)
    shown = run([*DENIABLE, "hist", "rating-of-marriage", "--dir", kept, "--json"], cwd=tmp_path)
    histogram = json.loads(shown.stdout)
    assert histogram["n"] == 200
    assert sum(category["raw"] for category in histogram["categories"]) == 2 * 200  # sets of two
    assert sum(category["estimate"] for category in histogram["categories"]) == pytest.approx(1)

    # What it says at the end is run as it stands, and the address needs no login.
    told = re.search(r"\n  deniable (serve --dir \S+)  # and open (\S+)\n$", done.stdout)
    assert told is not None
    command, address = told.groups()
    with child([*DENIABLE, *command.split()], cwd=tmp_path, stdout=PIPE) as server:
        await_line(server, b"listening")
        request = Request(address, headers={"Accept": "text/html"})
        with urlopen(request, timeout=30) as page:
            assert page.read().count(b"<tr data-category=") == 5
