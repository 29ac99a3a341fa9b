"""``deniable hist`` of shares, of several epochs, against others, and as a series."""

import csv
import io
import json
import re
from typing import Any

import pytest

from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, Point, Series, estimate_histogram
from deniable.estimates.comparison import compare
from deniable.mechanisms import RandomisedResponse
from tests.cli.commands import Workplace, fail, run, succeed
from tests.support.surveys import manifest

COUNTS = {0: [300, 240, 250, 210], 1: [200, 150, 340, 310], 3: [100, 100, 100, 100]}
START = "2026-01-05T00:00:00Z"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return a collector with a survey of three epochs, and one that keeps responses."""
    directory = tmp_path_factory.mktemp("compared") / "collector"
    succeed("init", directory)
    made = Workplace(directory)
    made.publish(start=START)
    made.publish(start=START, name='"kept"', repeat='"memoised"', memoised_epochs="2")
    made.publish(
        start=START,
        name='"sizes"',
        categories='["small", "large, or larger", "or larger", "none"]',
    )
    made.publish(
        start=START,
        name='"usage"',
        categories="",
        dimensions='{ plan = ["free", "paid"], theme = ["light", "dark"] }',
        mechanism='"joint"',
    )
    numeric = {"categories": "", "mechanism": '"numeric"', "low": "0", "high": "4", "step": "1"}
    made.publish(start=START, name='"cups"', **numeric)
    for name in ("tea", "kept", "sizes", "usage", "cups"):
        for epoch, counts in COUNTS.items():
            responses = [each for each, n in enumerate(counts) for _ in range(n)]
            made.count(responses, epoch=epoch, name=name)
    return made


def test_more_answers_than_can_be_compared_one_by_one_are_refused() -> None:
    told = Histogram.of_counts(RandomisedResponse(2_000, "1"), [1] * 2_000)
    with pytest.raises(ValueError, match="2,000 answers are too many to compare: name some"):
        compare(told, None, told)


def hist(place: Workplace, *options: str, name: str = "tea") -> str:
    return succeed("hist", name, *options, "--dir", place.directory)


def as_json(place: Workplace, *options: str, name: str = "tea") -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(hist(place, "--json", *options, name=name))
    return loaded


def estimated(place: Workplace, *epochs: int, name: str = "tea", level: float = 0.95) -> Histogram:
    total = [sum(COUNTS[epoch][x] for epoch in epochs) for x in range(4)]
    survey = place.manifest(name)
    counts = total + [0] * (survey.mechanism.responses - 4)
    return estimate_histogram(survey, epochs, counts, level)


def test_a_share_is_that_of_the_object(place: Workplace) -> None:
    told = as_json(place, "--epoch", "1", "--share", "often, always", "--level", "0.9")
    share = estimated(place, 1, level=0.9).share(["often", "always"])
    (row,) = told["rows"]
    assert row["answers"] == "often or always"
    assert [row[key] for key in ("estimate", "standard_error", "low", "high")] == [
        *(share.value, share.standard_error, share.low, share.high)
    ]
    assert row["sentence"] == share.sentence
    shown = " ".join(hist(place, "--epoch", "1", "--share", "often,always").split())
    assert estimated(place, 1).share(["often", "always"]).sentence in shown


def test_epochs_are_added_up_and_those_without_figures_left_out(place: Workplace) -> None:
    told = as_json(place, "--epoch", "0-3")
    assert told["epochs"] == [0, 1, 3]
    expected = estimated(place, 0, 1, 3).to_dict()
    assert told["categories"] == expected["categories"]
    assert re.search(r"tea, epochs 0 to 1, 3\n.*\nreports +2,400", hist(place, "--epoch", "0-3"))
    rows = csv.DictReader(io.StringIO(hist(place, "--epoch", "0-3", "--csv")))
    assert {row["epoch"] for row in rows} == {"0 1 3"}


def test_a_difference_has_the_interval_of_the_difference(place: Workplace) -> None:
    told = as_json(place, "--epoch", "1", "--against", "0")
    now, before = estimated(place, 1), estimated(place, 0)
    for row, category in zip(told["rows"], now.categories, strict=True):
        difference = now.share(category) - before.share(category)
        assert (row["estimate"], row["low"], row["high"]) == (
            *(difference.value, difference.low, difference.high),
        )
        assert row["distinguishable"] == difference.distinguishable
    assert told["test"]["p_value"] == now.changed_from(before).p_value
    marked = [
        line.split()[0] for line in hist(place, "--against", "0-1").splitlines() if "not d" in line
    ]
    far, near = estimated(place, 3), estimated(place, 0, 1)
    assert marked == [
        each for each in far.categories if not (far.share(each) - near.share(each)).distinguishable
    ]
    assert 0 < len(marked) < 4


def test_numbers_are_compared_by_their_mean(place: Workplace) -> None:
    (row,) = as_json(place, "--epoch", "1", "--against", "0", name="cups")["rows"]
    now, before = (estimated(place, epoch, name="cups").mean() for epoch in (1, 0))
    assert (row["answers"], row["estimate"]) == ("mean", (now - before).value)
    assert "mean" in hist(place, "--epoch", "1", "--against", "0", name="cups")
    assert {row["category"] for row in as_json(place, "--series", name="cups")["rows"]} == {"mean"}


@pytest.mark.parametrize(
    ("name", "share", "told"),
    [
        ("sizes", "large, or larger", "large, or larger"),
        ("sizes", "large, or larger, or larger", "large, or larger or or larger"),
        ("sizes", "or larger,small", "or larger or small"),
        ("usage", "plan: paid", "plan: paid"),
        ("usage", "theme: light, dark", "theme: light or dark"),
        ("usage", "free + dark", "free + dark"),
    ],
)
def test_answers_are_named_by_their_texts(
    place: Workplace, name: str, share: str, told: str
) -> None:
    assert as_json(place, "--share", share, name=name)["rows"][0]["answers"] == told


def test_a_series_has_a_line_an_epoch_and_its_gaps(place: Workplace) -> None:
    rows = as_json(place, "--series", "--share", "never")["rows"]
    assert [(row["epoch"], row["n"]) for row in rows] == [(0, 1000), (1, 1000), (2, 0), (3, 400)]
    assert [row["estimate"] for row in rows] == [
        None if epoch == 2 else estimated(place, epoch).share("never").value for epoch in range(4)
    ]
    shown = [line.split() for line in hist(place, "--series", "--share", "never").splitlines()]
    assert ["2", "2026-01-07", "-", "-", "-"] in shown
    assert "reports are fake, a share is off by" in " ".join(
        word for line in shown for word in line
    )
    for answer in estimated(place, 0).categories:
        assert re.search(rf"^{answer} *$", hist(place, "--series"), re.MULTILINE)


def test_epochs_of_less_than_a_day_begin_at_a_time() -> None:
    series = Series("tea", (Point("ab" * 32, 7, 3600, 7200),))
    shown = document_text(series.document(list(series.figures("never")), "never"))
    assert "7  1970-01-01 01:00 " in shown


def test_a_series_says_which_figures_are_not_to_be_used_and_which_intervals_are_nowhere() -> None:
    survey = manifest(name="simulated-rating")
    found = estimate_histogram(survey, 7, [3000, 2800, 2500, 1600, 100])
    series = Series(survey.name, (Point(found.survey_id, 7, 0, 86_400, found),))
    document = series.document(list(series.figures("very good")), "very good")
    lines = document_text(document).splitlines()
    assert "!! Simulated: no real device answered." in lines
    text = " ".join(" ".join(lines).split())
    assert "!! Not to be used: honest devices do not cause the counts of epoch 7 of" in text
    assert any("none possible" in line for line in lines)


def test_a_view_is_labelled_wherever_it_is_shown(place: Workplace) -> None:
    for view in ("projected", "likelihood"):
        told = as_json(place, "--view", view)
        assert told["view"] == view
        shown = estimated(place, 3).view(view)
        assert [row["shown"] for row in told["categories"]] == shown.tolist()
        assert view in hist(place, "--view", view).split()
        assert "biased" in hist(place, "--view", view)
        rows = list(csv.DictReader(io.StringIO(hist(place, "--view", view, "--csv"))))
        assert {row["view"] for row in rows} == {view}
        assert [float(row["shown"]) for row in rows] == shown.tolist()


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        (
            *("tea", ["--share", "coffee"]),
            "there is no answer 'coffee', but 'never', 'sometimes', 'often', 'always'; "
            "see: deniable survey show tea",
        ),
        ("tea", ["--share", "never, never"], "each once"),
        ("tea", ["--epoch", "1", "--against", "0-3"], "on both sides"),
        ("tea", ["--epoch", "3-1"], "0 to 29"),
        ("tea", ["--against", "3"], "not compared with itself"),
        ("kept", ["--epoch", "0-1"], "keep their responses"),
        ("kept", ["--epoch", "1", "--against", "0"], "kept their responses"),
        ("cups", ["--view", "projected"], "unbiased only"),
    ],
)
def test_wrong_use_is_refused_with_the_reason(
    place: Workplace, name: str, options: list[str], told: str
) -> None:
    assert told in fail("hist", name, *options, "--dir", place.directory)


@pytest.mark.parametrize(
    "options",
    [
        ["--series", "--against", "0"],
        ["--series", "--epoch", "0"],
        ["--series", "--view", "projected"],
        ["--epochs", "--series"],
        ["--epochs", "--share", "never"],
        ["--against", "0", "--view", "projected"],
        ["--share", "never", "--view", "projected"],
    ],
)
def test_options_that_answer_different_questions_are_refused(
    place: Workplace, options: list[str]
) -> None:
    result = run("hist", "tea", *options, "--dir", place.directory)
    assert (result.exit_code, result.stdout) == (2, "")
