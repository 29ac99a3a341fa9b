"""Ordinal and numeric surveys at the operator's and the analyst's terminal."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

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
TABLE = "[[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]"


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


def test_a_numeric_survey_shows_mean_quartiles_and_shares_of_groups(minutes: Workplace) -> None:
    shown = hist(minutes)
    numeric = as_json(minutes)["numeric"]
    (mean,) = [line for line in shown.splitlines() if line.startswith("mean")]
    assert f"{numeric['mean']['estimate']:.0f}"[:2] in mean
    for name, quartile in zip(
        ("lower quartile", "median", "upper quartile"), numeric["quartiles"], strict=True
    ):
        (line,) = [line for line in shown.splitlines() if line.startswith(name)]
        assert f"{quartile['value' if 'value' in quartile else 'estimate']:.15g}" in line.split()
    for group in numeric["bins"]:
        assert sum(group["bin"] in line for line in shown.splitlines()) == 1
    moved = f"the mean is off by up to {numeric['influence'] / 100:.2g}."
    assert f"if 1 % of reports are fake, {moved}" in " ".join(shown.split())
    assert "-10\n" not in shown  # single values are in --json only
    assert max(map(len, shown.splitlines())) <= 100


def test_how_far_shares_are_smoothed_is_told_in_the_surveys_unit(minutes: Workplace) -> None:
    blur = as_json(minutes)["numeric"]["blur"]
    assert (f"smoothed over {5 * blur} either way" in hist(minutes)) == (blur > 0)


def test_single_values_with_impossible_counts_are_named(place: Workplace) -> None:
    place.publish(start="2026-01-05T00:00:00Z", **NUMERIC)
    place.count([y for y in range(13) for _ in range(20)], name="minutes")
    assert "DO NOT USE" not in hist(place)
    place.count([3] * 400, epoch=1, name="minutes")
    shown = " ".join(hist(place).split())
    flagged = [row["category"] for row in as_json(place)["categories"] if row["impossible"]]
    assert "5" in flagged
    assert f"that honest devices do not cause: {', '.join(flagged[:5])}" in shown
    assert shown.index("DO NOT USE THESE FIGURES") < shown.index("median")
    assert "Mostly noise" not in shown


def test_a_wide_mean_says_how_many_reports_it_takes(place: Workplace) -> None:
    place.publish(**NUMERIC | {"epsilon": '"0.5"'})
    place.count([4, 6, 7, 8, 10] * 3, name="minutes")
    assert "Mostly noise so far: the mean within ± 2 % of the range takes about" in hist(place)


def test_one_report_has_no_standard_error_in_any_form(place: Workplace) -> None:
    place.publish(**NUMERIC)
    place.count([6], name="minutes")
    assert "nan" not in hist(place)
    assert as_json(place)["numeric"]["mean"]["standard_error"] is None
    assert "nan" not in hist(place, "--csv")


def test_one_report_of_an_ordinal_survey_has_none_either(place: Workplace) -> None:
    place.publish(mechanism='"ordinal"', distance='"circular"')
    place.count([2])
    shown = succeed("hist", "tea", "--dir", place.directory)
    assert "nan" not in shown
    assert "0.0% – 100.0%" in shown


def test_numeric_csv_is_a_row_a_statistic(minutes: Workplace) -> None:
    rows = list(csv.DictReader(io.StringIO(hist(minutes, "--csv")), strict=True))
    numeric = as_json(minutes)["numeric"]
    assert [row["statistic"] for row in rows] == [
        "mean",
        "quantile 0.25",
        "quantile 0.5",
        "quantile 0.75",
        *(f"share of {group['bin']}" for group in numeric["bins"]),
    ]
    for row, expected in zip(
        [rows[0], *rows[4:]], [numeric["mean"], *numeric["bins"]], strict=True
    ):
        for field in ("estimate", "standard_error", "low", "high"):
            assert float(row[field]) == expected[field]
        assert row["outside"] == str(int(expected["outside"]))
    assert {(row["survey"], row["n"], row["level"]) for row in rows} == {
        ("minutes", str(sum(16 - abs(y - 6) * 2 for y in range(13))), "0.95")
    }


def test_steps_of_figures_are_told_where_there_are_any(place: Workplace) -> None:
    place.publish(minimum_reports="10")
    place.count([0, 1, 2, 3] * 3)
    shown = succeed("hist", "tea", "--dir", place.directory)
    assert "renewed when at least 10 more reports have come" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("changes", "terms"),
    [
        ({"mechanism": '"ordinal"', "distance": '"absolute"'}, "ordinal, absolute distance: "),
        ({"mechanism": '"ordinal"', "distance": '"circular"'}, "ordinal, circular distance: "),
        ({"mechanism": '"ordinal"', "distance": TABLE}, "ordinal, table of distances: "),
        (NUMERIC | {"name": '"tea"'}, "numeric: "),
    ],
    ids=["absolute", "circular", "table", "numeric"],
)
def test_terms_accuracy_and_declaration_are_told_when_publishing_and_after(
    place: Workplace, changes: dict[str, str], terms: str
) -> None:
    published = place.publish(**changes | {"epochs": "8"})
    shown = succeed("survey", "show", "tea", "--dir", place.directory)
    for text in (published, shown):
        assert f"mechanism {terms}" in text
        assert "tight epsilon below" in text
        assert max(map(len, without_places(text))) <= 80
    assert "takes at most" in published
    assert ("with randomised response" in published) == ("numeric" not in terms)
    assert "sent with probability at least" in shown
    assert ("mechanisms=('ordinal',)" in shown) == ("numeric" not in terms)
    if "numeric" in terms:
        assert "-10 to 50 in steps of 5" in shown
        assert "Survey.numeric(" in shown
        assert "    low='-10',\n    high='50',\n    step='5',\n" in shown
