"""Numeric surveys at the operator's and the analyst's terminal."""

import json
from pathlib import Path
from typing import Any

import pytest

from deniable.documents import bound_text
from deniable.presenting.cautions import reports_text
from tests.cli.commands import Workplace, succeed, without_places

NUMERIC = {
    "name": '"minutes"',
    "question": '"How many minutes?"',
    "categories": "",
    "mechanism": '"numeric"',
    "low": "-10",
    "high": "50",
    "step": "5",
    "epsilon": '"2"',
}
QUARTILES = ("lower quartile", "median", "upper quartile")


@pytest.fixture
def minutes(place: Workplace) -> Workplace:
    """Return a collector with 130 reports of a numeric survey of 13 values."""
    place.publish(**NUMERIC)
    place.count([y for y in range(13) for _ in range(16 - abs(y - 6) * 2)], name="minutes")
    return place


def hist(place: Workplace, *options: str | Path) -> str:
    return succeed("hist", "minutes", "--dir", place.directory, *options)


def as_json(place: Workplace, *options: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        hist(place, "--json", *options), parse_constant=lambda word: pytest.fail(word)
    )
    return loaded


@pytest.mark.parametrize("epsilon", ["2", "4", "8", "10"])
def test_a_numeric_survey_shows_what_has_an_interval_that_is_worth_it(
    place: Workplace, epsilon: str
) -> None:
    place.publish(**NUMERIC | {"epsilon": f'"{epsilon}"'})
    place.count([y for y in range(13) for _ in range(16 - abs(y - 6) * 2)], name="minutes")
    shown, whole = hist(place), as_json(place)
    numeric, prose = whole["numeric"], " ".join(shown.split())
    quartiles = dict(zip(QUARTILES, numeric["quartiles"], strict=True))
    bins = {group["bin"]: group for group in numeric["bins"]}
    figures = {"mean": numeric["mean"], **quartiles, **bins}
    for name, figure in figures.items():
        possible = 1 if name in bins else 60
        assert figure["too_wide"] == (figure["high"] - figure["low"] > possible / 2)
        rows = [line for line in shown.splitlines() if line.lstrip().startswith(f"{name}  ")]
        assert len(rows) == (not figure["too_wide"])
    hidden = [name for name, figure in figures.items() if figure["too_wide"]]
    note = (
        f"since intervals cover more than half of what is possible: {', '.join(hidden)}. Shares "
        f"within ± 10 percentage points take {reports_text(whole['reports_for_shares'])}"
    )
    assert (note in prose) == ("more than half" in prose) == bool(hidden)
    # The standard error is that of shares with blurred ends, and the interval of sharp ones.
    blurred, shares = numeric["blur"] > 0, not set(bins) <= set(hidden)
    assert ("smoothed share" in shown) == (shares and blurred)
    assert ("std error" in shown) == (shares and not blurred)
    smoothed = blurred and not {*quartiles, *bins} <= set(hidden)
    assert (f"are smoothed over {5 * numeric['blur']} either way" in prose) == smoothed
    moved = f"the mean is off by up to {bound_text(numeric['influence'] / 100)}"
    assert f"If 1 % of the reports are fake, {moved}" in prose
    assert "-10\n" not in shown  # single values are in --json only
    assert max(map(len, shown.splitlines())) <= 100


def test_single_values_with_impossible_counts_are_named(place: Workplace) -> None:
    place.publish(start="2026-01-05T00:00:00Z", **NUMERIC)
    place.count([y for y in range(13) for _ in range(20)], name="minutes")
    assert "Not to be used" not in hist(place)
    place.count([3] * 400, epoch=1, name="minutes")
    shown = " ".join(hist(place).split())
    flagged = [row["category"] for row in as_json(place)["categories"] if row["impossible"]]
    assert "5" in flagged
    assert f"that honest devices do not cause: {', '.join(flagged[:5])}" in shown
    assert shown.index("Not to be used") < shown.index("median")
    assert "Mostly noise" not in shown


def test_steps_of_figures_are_told_where_there_are_any(place: Workplace) -> None:
    place.publish(minimum_reports="10")
    place.count([0, 1, 2, 3] * 3)
    shown = succeed("hist", "tea", "--dir", place.directory)
    assert "renewed when at least 10 more reports have come" in " ".join(shown.split())


def test_terms_accuracy_and_declaration_are_told_when_publishing_and_after(
    place: Workplace,
) -> None:
    published = place.publish(**NUMERIC | {"name": '"tea"', "epochs": "8"})
    shown = succeed("survey", "show", "tea", "--dir", place.directory)
    for text in (published, shown):
        assert "mechanism numeric: " in text
        assert "tight epsilon below" in text
        assert max(map(len, without_places(text))) <= 80
    assert "takes at most" in published
    assert "sent with probability at least" in " ".join(shown.split())
    assert "-10 to 50 in steps of 5" in shown
    assert "Survey.numeric(" in shown
    assert "    low='-10',\n    high='50',\n    step='5',\n" in shown
