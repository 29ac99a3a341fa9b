"""``deniable hist``: the same figures as table, JSON and CSV, each safe in its medium."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deniable.estimates import estimate_histogram
from deniable.reading import EpochStanding, EpochState
from tests.cli.commands import Workplace, all_commands, fail, run, succeed

MARKUP = ["[bold]x[/]", "[/]", ":smile:", "[link=x]y[/link]", "50 % [red]"]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "plain", "'quoted", 'a, "b"', "1=1"]


@pytest.fixture
def counted(place: Workplace) -> Workplace:
    """Return a collector with 40 reports in epoch 0 and 3 in epoch 2."""
    place.publish(start="2026-01-05T00:00:00Z")
    place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * 4)
    place.count([0, 1, 1], epoch=2)
    return place


def hist(place: Workplace, *options: str | Path) -> str:
    return succeed("hist", "tea", "--dir", place.directory, *options)


def as_json(place: Workplace, *options: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        hist(place, "--json", *options), parse_constant=lambda word: pytest.fail(word)
    )
    return loaded


def as_csv(place: Workplace, *options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(hist(place, "--csv", *options)), strict=True))


def test_every_form_says_when_the_epoch_was_and_whether_it_is_final(counted: Workplace) -> None:
    assert "2026-01-05 00:00 UTC to 2026-01-06 00:00 UTC\n" in hist(counted, "--epoch", "0")
    assert "about to be sealed" in hist(counted, "--epoch", "0")
    sealed = succeed("survey", "seal", "tea", "0", "--yes", "--dir", counted.directory)
    (digest,) = re.findall(r"\b[0-9a-f]{64}\b", sealed)
    assert "sealed: these counts are final" in hist(counted, "--epoch", "0")
    whole = as_json(counted, "--epoch", "0")
    assert (whole["state"], whole["seal"]) == ("sealed", digest)
    for row in (whole, *as_csv(counted, "--epoch", "0")):
        assert (row["start"], row["end"]) == ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
        assert row["state"] == "sealed"
    assert as_csv(counted)[0]["state"] == "closed"


def test_an_epoch_that_runs_is_open(place: Workplace) -> None:
    place.publish()
    place.count([0, 1, 2])
    assert "open: more reports may come" in hist(place)
    assert as_json(place)["state"] == "open"


def test_survey_epochs_lists_those_that_have_figures(counted: Workplace) -> None:
    def listed(*form: str) -> str:
        return succeed("survey", "epochs", "tea", *form, "--dir", counted.directory)

    succeed("survey", "seal", "tea", "0", "--yes", "--dir", counted.directory)
    shown = [line.split() for line in listed().splitlines()]
    assert [line[-2:] for line in shown if line and line[0] in {"0", "1", "2"}] == [
        ["40", "sealed"],
        ["3", "closed"],
    ]
    values = json.loads(listed("--json"))
    assert values["survey_id"] == counted.manifest().survey_id.hex()
    rows = list(csv.DictReader(io.StringIO(listed("--csv")), strict=True))
    for epoch, (row, one) in enumerate(zip(rows, values["epochs"], strict=True)):
        read = as_json(counted, "--epoch", str(2 * epoch))
        assert [one["epoch"]] == read["epochs"]
        for field in ("start", "end", "n", "state", "seal"):
            assert one[field] == read[field]
            assert row[field] == ("" if one[field] is None else str(one[field]))
        assert row["survey_id"] == values["survey_id"]


def test_epochs_of_which_too_few_are_counted_are_not_listed(place: Workplace) -> None:
    place.publish(minimum_reports="3")
    place.count([0, 1])
    listing = ("survey", "epochs", "tea", "--dir", place.directory)
    assert succeed(*listing) == "no figures yet: they appear once an epoch has 3 reports\n"
    assert json.loads(succeed(*listing, "--json"))["epochs"] == []
    assert succeed(*listing, "--csv").count("\n") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--json", "--csv"), "--json or --csv, not both"),
        (("--top", "3", "--csv"), "--json and --csv have all answers, with both intervals"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    counted: Workplace, options: tuple[str, ...], told: str
) -> None:
    result = run("hist", "tea", "--dir", counted.directory, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_epochs_are_added_up_and_those_without_figures_left_out(counted: Workplace) -> None:
    closed = EpochStanding(EpochState.CLOSED)
    sums = estimate_histogram(counted.manifest(), [0, 2], [21, 10, 8, 4], standing=closed)
    assert as_json(counted, "--epoch", "0-3") == sums.to_dict()
    shown = hist(counted, "--epoch", "0-3")
    assert re.search(r"tea, epochs 0, 2\n.*\nreports +43", shown)
    assert {row["epoch"] for row in as_csv(counted, "--epoch", "0-3")} == {"0 2"}


def test_a_numeric_survey_has_no_biased_view(place: Workplace) -> None:
    place.publish(categories="", low="0", high="3", step="1", tells='"distribution"')
    place.count([0, 1, 2])
    biased = fail("hist", "tea", "--view", "projected", "--dir", place.directory)
    assert biased == "a numeric survey is shown unbiased only"


def test_an_older_survey_that_has_figures_too_is_named(counted: Workplace) -> None:
    assert "older survey" not in hist(counted)
    older = counted.manifest().survey_id.hex()
    counted.publish(start="2026-01-05T00:00:00Z", epochs="40")
    counted.count([0, 1, 2])
    shown = hist(counted)
    assert f"An older survey of this name has figures of its own: --survey {older[:12]}" in shown
    assert "older survey" not in hist(counted, "--survey", older)


def test_csv_has_what_qualifies_the_figures(counted: Workplace) -> None:
    whole = as_json(counted, "--epoch", "0")
    for row in as_csv(counted, "--epoch", "0"):
        assert row["enrolment"] == whole["enrolment"]
        assert (row["epsilon"], row["delta"], row["distrusted"]) == ("1", "0", "0")
        assert float(row["bias_at_1_percent"]) == whole["poisoning"]["bias_at_1_percent"]
        assert int(row["fewest_fakes"]) == whole["poisoning"]["fewest_fakes"]
        assert (row["kept_first"], row["kept_last"]) == ("", "")


def test_csv_has_the_same_numbers_as_json(counted: Workplace) -> None:
    whole = as_json(counted, "--epoch", "0")
    rows = as_csv(counted, "--epoch", "0")
    assert [row["category"] for row in rows] == list(counted.manifest().categories)
    for row, category in zip(rows, whole["categories"], strict=True):
        for field in ("raw", "estimate", "standard_error", "low", "high"):
            assert float(row[field]) == category[field]
        assert row["method"] == category["method"]
        assert (row["survey"], row["survey_id"]) == ("tea", whole["survey_id"])
        assert (row["epoch"], row["n"], row["level"]) == ("0", "40", "0.95")


def test_the_newest_survey_is_shown_unless_one_is_named(counted: Workplace) -> None:
    older = counted.manifest().survey_id.hex()
    counted.publish(epochs="10000")
    assert "no figures yet" in fail("hist", "tea", "--dir", counted.directory)
    for prefix in (older, older[:8]):
        assert as_json(counted, "--survey", prefix)["survey_id"] == older
    message = fail("hist", "tea", "--dir", counted.directory, "--survey", "g")
    assert "at least 4 hex digits" in message


def test_impossible_counts_are_marked_and_explained_in_every_form(place: Workplace) -> None:
    place.publish()
    place.count([0] * 30 + [1] * 30 + [2] * 30)
    shown = hist(place)
    rows = [line for line in shown.splitlines() if "%  impossible" in line]
    assert [row.split()[0] for row in rows] == ["always"]
    told = " ".join(shown.split())
    fewest = as_json(place)["poisoning"]["fewest_fakes"]
    assert f"At least {fewest} of 90 reports are fake" in told
    # Before the figures, and nothing that more reports would mend.
    assert told.index("!! Not to be used") < told.index(" raw ")
    assert "Mostly noise" not in told
    # The one mark includes the other.
    assert "further from all that is possible" not in shown
    assert [row["impossible"] for row in as_csv(place)] == ["0", "0", "0", "1"]
    assert [row["impossible"] for row in as_json(place)["categories"]] == [False] * 3 + [True]


def test_an_unknown_survey_is_one_line(place: Workplace) -> None:
    assert "'tea'" in fail("hist", "tea", "--dir", place.directory)


def test_an_epoch_beyond_the_last_is_one_line(counted: Workplace) -> None:
    message = fail("hist", "tea", "--dir", counted.directory, "--epoch", "30")
    assert "0 to 29" in message


def test_without_figures_one_line_says_from_when_there_are(place: Workplace) -> None:
    place.publish(minimum_reports="50")
    assert "no figures yet: they appear once an epoch has 50 reports" in fail(
        "hist", "tea", "--dir", place.directory
    )
    place.count([0] * 49)
    assert "no figures yet" in fail("hist", "tea", "--dir", place.directory)
    message = fail("hist", "tea", "--dir", place.directory, "--epoch", "29")
    assert "no figures of epoch 29" in message


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_markup_in_texts_is_shown_literally(place: Workplace, form: tuple[str, ...]) -> None:
    place.publish(categories=json.dumps(MARKUP), question='"[red]Which[/red] :cat:?"')
    place.count([0, 1, 2, 3, 4, 0])
    shown = hist(place, *form)
    assert "[red]Which[/red] :cat:?" in shown
    assert [text for text in MARKUP if text not in shown] == []
    assert "\x1b" not in shown


def test_no_csv_cell_is_a_formula(place: Workplace) -> None:
    place.publish(categories=json.dumps(FORMULAS))
    place.count([0, 1, 2, 3])
    cells = [row["category"] for row in as_csv(place)]
    assert "\r" not in hist(place, "--csv")
    assert cells == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", *FORMULAS[4:]]


@pytest.mark.parametrize("text", ["99.9%", "0.999", ".999"])
def test_every_command_reads_a_level_in_percent_or_as_a_fraction(text: str) -> None:
    options = {
        path: option.type.convert(text, None, None)
        for path, command in all_commands()
        for option in command.params
        if "--level" in option.opts
    }
    assert {("hist",), ("ask", "share"), ("plan",), ("watch",)} < {*options}
    assert {*options.values()} == {0.999}
