"""``deniable hist``: the same figures as table, JSON and CSV, each safe in its medium."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from deniable.cli.root import deniable
from deniable.estimates import estimate_histogram
from deniable.mechanisms.affine import incidences
from deniable.reading import EpochStanding, EpochState
from tests.cli.commands import SURVEY, Workplace, all_commands, changed
from tests.support.designs import SIZES

MARKUP = ["[bold]x[/]", "[/]", ":smile:", "[link=x]y[/link]", "50 % [red]"]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "plain", "'quoted", 'a, "b"', "1=1"]


@pytest.fixture
def counted(place: Workplace) -> Workplace:
    """Return a collector with 40 reports in epoch 0 and 3 in epoch 2."""
    place.publish(start="2026-01-05T00:00:00Z")
    place.count([0] * 20 + [1] * 8 + [2] * 8 + [3] * 4)
    place.count([0, 1, 1], epoch=2)
    return place


def as_json(place: Workplace, words: str = "hist tea") -> Any:
    return json.loads(place.succeed(f"{words} --json"), parse_constant=pytest.fail)


def as_csv(place: Workplace, words: str = "hist tea") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(place.succeed(f"{words} --csv")), strict=True))


def test_every_form_says_when_the_epoch_was_and_whether_it_is_final(counted: Workplace) -> None:
    shown = counted.succeed("hist tea --epoch 0")
    assert "2026-01-05 00:00 UTC to 2026-01-06 00:00 UTC\n" in shown
    assert "so these counts are final" in shown
    (digest,) = re.findall(r"\b[0-9a-f]{64}\b", counted.succeed("survey seal tea 0 --yes"))
    assert "sealed: these counts are final" in counted.succeed("hist tea --epoch 0")
    whole = as_json(counted, "hist tea --epoch 0")
    assert (whole["state"], whole["seal"]) == ("sealed", digest)
    for row in (whole, *as_csv(counted, "hist tea --epoch 0")):
        assert (row["start"], row["end"]) == ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
        assert row["state"] == "sealed"
    assert as_csv(counted)[0]["state"] == "closed"
    # What has figures is listed, with the same.
    rows = [line.split() for line in counted.succeed("survey epochs tea").splitlines()]
    told = [" ".join(row) for row in rows if row[-1:] in (["0"], ["1"], ["2"])]
    assert told == ["5 January 2026 40 final 0", "7 January 2026 3 over 2"]
    values = as_json(counted, "survey epochs tea")
    assert values["survey_id"] == counted.manifest().survey_id.hex()
    listed = as_csv(counted, "survey epochs tea")
    for epoch, (line, one) in enumerate(zip(listed, values["epochs"], strict=True)):
        read = as_json(counted, f"hist tea --epoch {2 * epoch}")
        assert [one["epoch"]] == read["epochs"]
        for field in ("start", "end", "n", "state", "seal"):
            assert one[field] == read[field]
            assert line[field] == ("" if one[field] is None else str(one[field]))
        assert line["survey_id"] == values["survey_id"]


def test_without_figures_one_line_says_from_when_there_are(place: Workplace) -> None:
    assert "'tea'" in place.fail("hist tea")
    place.publish(minimum_reports="50")
    none = "no figures yet: they appear once 50 devices have answered in one day; this day ends on"
    assert none in place.fail("hist tea")
    place.count([0] * 49)
    assert none in (shown := place.fail("hist tea"))
    assert shown.endswith("; 49 of 50 reports so far")
    assert "that time has not begun" in place.fail("hist tea --epoch 29")
    assert "0 to 29" in place.fail("hist tea --epoch 30")
    assert place.succeed("survey epochs tea").startswith(none)
    assert place.succeed("ask trend tea").startswith(none)
    assert as_json(place, "survey epochs tea")["epochs"] == []
    assert place.succeed("survey epochs tea --csv").count("\n") == 1


def test_steps_of_figures_and_a_running_epoch_are_told(place: Workplace) -> None:
    place.publish(minimum_reports="10")
    place.count([0, 1, 2, 3] * 3)
    shown = " ".join(place.succeed("hist tea").split())
    assert "updated after at least 10 more reports" in shown
    assert "open: more reports may arrive" in shown
    assert as_json(place)["state"] == "open"


def test_epochs_are_added_up_and_those_without_figures_left_out(counted: Workplace) -> None:
    closed = EpochStanding(EpochState.CLOSED)
    sums = estimate_histogram(counted.manifest(), [0, 2], [21, 10, 8, 4], standing=closed)
    assert as_json(counted, "hist tea --epoch 0-3") == sums.to_dict()
    shown = counted.succeed("hist tea --epoch 0-3")
    assert re.search(r"tea, 5 January 2026 and 7 January 2026\n.*\nreports +43", shown)
    assert {row["epoch"] for row in as_csv(counted, "hist tea --epoch 0-3")} == {"0 2"}


def test_the_version_with_the_most_reports_is_shown_unless_one_is_named(counted: Workplace) -> None:
    counted.succeed("hist tea")  # of one version, nothing is said
    older = counted.manifest().survey_id.hex()
    counted.publish(start="2026-01-05T00:00:00Z", epochs="40")
    # While the newest has no figures, those of the one before it stay, and it is said why.
    ended = "Version 2 has no figures: the survey ended on 13 February 2026, and no device answered"
    for words in ("hist tea", "ask trend tea", "ask leaders tea"):
        shown = counted.run(f"{words} --json")
        assert re.match(rf"On \d.* 20\d\d .*\. {ended}.* the figures of version 1", shown.stderr)
        assert older in shown.stdout
    newest = counted.manifest().survey_id.hex()
    assert ended[14:] in counted.fail("hist tea --survey", newest)
    counted.count([0, 1, 2, 3], epoch=2)
    told = (
        r"On 7 January 2026, 4 of 7 devices answered version 2 of .*; 3 more answered version 1 of "
    )
    for words, first, others in (
        ("hist tea", newest, told),
        ("ask leaders tea --epoch 2", newest, told),
        ("hist tea --epoch 0", older, ""),  # which no device answered in the newer version
        (
            f"hist tea --survey {older}",
            older,
            "On 7 January 2026, 3 of 7 devices answered version 1 of .*; 4 more",
        ),
    ):
        shown = counted.run(f"{words} --json")
        assert json.loads(shown.stdout)["survey_id"] == first, words
        assert bool(shown.stderr) is bool(others), words
        assert re.match(others, shown.stderr.strip()), words
    assert "at least 4 hex digits" in counted.fail("hist tea --survey g")


def test_csv_has_the_same_numbers_as_json_and_what_qualifies_them(counted: Workplace) -> None:
    whole, rows = as_json(counted, "hist tea --epoch 0"), as_csv(counted, "hist tea --epoch 0")
    assert [row["category"] for row in rows] == list(counted.manifest().categories)
    same = {"survey": "tea", "epoch": "0", "n": "40", "level": "0.95", "kept_first": ""}
    same |= {"epsilon": "1", "delta": "0", "distrusted": "0", "kept_last": ""}
    same |= {field: whole[field] for field in ("survey_id", "enrolment")}
    for row, category in zip(rows, whole["categories"], strict=True):
        shown = {"low": "simultaneous_low", "high": "simultaneous_high"}  # as on pages
        shown |= {"own_low": "low", "own_high": "high"}
        for field in ("raw", "estimate", "standard_error", *shown):
            assert float(row[field]) == pytest.approx(category[shown.get(field, field)], rel=5e-6)
            assert len(row[field].lstrip("-0.")) <= 8  # six digits, and a decimal point
        assert row["method"] == category["method"]
        assert row.items() >= same.items()
        bias = whole["poisoning"]["bias_at_1_percent"]
        assert float(row["bias_at_1_percent"]) == pytest.approx(bias, rel=5e-6)
        assert int(row["fewest_fakes"]) == whole["poisoning"]["fewest_fakes"]
    refused = counted.run("hist tea --top 3 --csv")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--json and --csv always include all answers, with both intervals" in refused.stderr


def test_impossible_counts_are_marked_and_explained_in_every_form(place: Workplace) -> None:
    place.publish()
    place.count([0] * 30 + [1] * 30 + [2] * 30)
    shown, whole = place.succeed("hist tea"), as_json(place)
    rows = [line for line in shown.splitlines() if ")  impossible" in line]
    assert [row.split()[0] for row in rows] == ["always"]
    told = " ".join(shown.split())
    assert f"At least {whole['poisoning']['fewest_fakes']} of 90 reports are fake" in told
    # Before the figures, and nothing that more reports would mend.
    assert told.index("!! Do not use these figures") < told.index(" estimate ")
    assert "Mostly noise" not in told
    # The one mark includes the other.
    assert "outside the possible range" not in shown
    assert [row["impossible"] for row in as_csv(place)] == ["0", "0", "0", "1"]
    assert [row["impossible"] for row in whole["categories"]] == [False] * 3 + [True]


def test_markup_is_shown_literally_and_no_csv_cell_is_a_formula(place: Workplace) -> None:
    place.publish(categories=json.dumps(MARKUP), question='"[red]Which[/red] :cat:?"')
    place.count([0, 1, 2, 3, 4, 0])
    for shown in (place.succeed("hist tea"), place.succeed("hist tea --json")):
        assert "[red]Which[/red] :cat:?" in shown
        assert [text for text in MARKUP if text not in shown] == []
        assert "\x1b" not in shown
    place.publish(name='"sums"', categories=json.dumps(FORMULAS))
    place.count([0, 1, 2, 3], name="sums")
    assert "\r" not in place.succeed("hist sums --csv")
    cells = [row["category"] for row in as_csv(place, "hist sums")]
    assert cells == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", *FORMULAS[4:]]


OPTIONS = {
    " ".join((*path, *option.opts)): option
    for path, command in all_commands()
    for option in command.params
    if isinstance(option, click.Option)
}


@pytest.mark.parametrize("text", ["99.9%", "0.999", ".999"])
def test_every_command_reads_a_level_in_percent_or_as_a_fraction(text: str) -> None:
    levels = {
        words: option.type.convert(text, None, None)
        for words, option in OPTIONS.items()
        if "--level" in words
    }
    assert {f"{words} --level" for words in ("hist", "ask share", "plan", "watch")} < {*levels}
    assert {*levels.values()} == {0.999}


def test_what_programs_read_is_utf_8_where_the_terminal_knows_no_such_character(
    place: Workplace, tmp_path: Path
) -> None:
    def written(*arguments: str | Path) -> str:
        runner = CliRunner(charset="cp1252")
        result = runner.invoke(deniable, [*map(str, arguments)], catch_exceptions=False)
        assert result.exit_code == 0
        return result.stdout_bytes.decode()

    answers, at = ["日本", "한국"], ("--dir", place.directory)
    text = changed(categories=json.dumps(answers, ensure_ascii=False))
    place.publish(text)
    place.count([0, 0, 1, 1])
    rows = csv.DictReader(written("hist", "tea", "--csv", *at).splitlines())
    assert [row["category"] for row in rows] == answers
    (tmp_path / "home.toml").write_text(text, "utf-8")
    truth = ("--truth", "uniform", "--devices", "100")
    found = json.loads(written("simulate", tmp_path / "home.toml", *truth, "--json"))
    assert [row["name"] for row in found["figures"]] == answers


def test_every_form_for_programs_is_utf_8() -> None:
    callbacks = [
        option.callback for words, option in OPTIONS.items() if re.search("--(json|csv)$", words)
    ]
    assert len(callbacks) > 20
    for callback in callbacks:
        assert callback is not None
        assert callback.__qualname__.startswith("program_option.")


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
    assert f"{whole['n']}" in place.succeed("survey epochs tea")

    assert whole["n"] > 100
    place.succeed("survey seal tea 0 --yes")
    assert place.succeed("store check") == "the store is in order\n"
    backup = tmp_path / "copy.backup"
    place.succeed("store backup", backup)
    assert backup.stat().st_size < 200_000 + 100 * categories
