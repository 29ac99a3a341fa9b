"""The commands on surveys of up to 2^20 responses: what they print has a line a category."""

import csv
import io
import json
from pathlib import Path

from deniable.mechanisms.affine import incidences
from tests.cli.commands import SURVEY, Workplace
from tests.support.designs import SIZES


def test_a_large_design_is_published_read_sealed_checked_and_backed_up(tmp_path: Path) -> None:
    place, categories = Workplace.made(tmp_path / "collector"), 1024
    q, m, s = SIZES[categories]
    labels = [f"category {j}" for j in range(categories)]
    place.publish(
        SURVEY,
        categories=json.dumps(labels),
        mechanism='"affine"',
        **{name: str(value) for name, value in zip("qms", (q, m, s), strict=True)},
        start="2026-01-05T00:00:00Z",
    )
    responses = incidences(q, m, s)[0]
    place.count([responses - 1, 0, *range(3, responses, responses // 100)])

    whole = json.loads(place.succeed("hist tea --json"))
    assert [row["category"] for row in whole["categories"]] == labels
    assert "responses" not in whole
    rows = list(csv.DictReader(io.StringIO(place.succeed("hist tea --csv"))))
    assert [row["category"] for row in rows] == labels
    assert [int(row["raw"]) for row in rows] == [row["raw"] for row in whole["categories"]]
    shown = place.succeed("hist tea").splitlines()
    assert 50 < len(shown) < 90
    assert "supported" in next(line for line in shown if line.startswith("answer"))
    assert f"supports about {categories * s / q:.0f} of {categories:,} answers" in " ".join(shown)
    assert f"{whole['n']}" in place.succeed("survey epochs tea")

    assert whole["n"] > 100
    place.succeed("survey seal tea 0 --yes")
    assert place.succeed("store check") == "the store is in order\n"
    backup = tmp_path / "copy.backup"
    place.succeed("store backup", backup)
    assert backup.stat().st_size < 200_000 + 100 * categories
