"""``deniable ask compare``: epochs, versions and surveys set against each other."""

import csv
import io
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from deniable.directory import Config
from deniable.directory.store_source import StoreSource
from deniable.messages import Repeat, Schedule
from deniable.presenting import Surveys
from deniable.reading import EpochState, ListedEpoch, TooFewReports, newest_over, sides_across
from deniable.stores import Note
from tests.cli.commands import Workplace
from tests.support.surveys import manifest

DAY = 86_400
EPOCHS = {
    0: (600, 480, 500, 420),
    1: (600, 480, 500, 420),
    2: (450, 420, 630, 500),
    3: (25, 25, 25, 25),  # not over
}
ANDROID = (590, 490, 500, 420)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return a collector with four epochs of a survey, its older version, and others."""
    made = Workplace.made(tmp_path_factory.mktemp("compared") / "collector")
    start = datetime.fromtimestamp(time.time() - 3.5 * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def asked(name: str, epochs: Mapping[int, Sequence[int]], **changes: str) -> None:
        made.publish(start=start, name=f'"{name}"', **changes)
        for epoch, counts in epochs.items():
            made.count([each for each, n in enumerate(counts) for _ in range(n)], epoch, name)

    asked("tea", {0: EPOCHS[0], 1: EPOCHS[1]}, epsilon='"2"')
    asked("tea", EPOCHS, epsilon='"3"')
    asked("tea-android", {1: EPOCHS[2], 2: ANDROID}, epsilon='"3"')
    asked("coffee", {0: EPOCHS[0]}, categories='["never", "sometimes", "often", "daily"]')
    asked("snack", {0: EPOCHS[0], 1: EPOCHS[1]}, epsilon='"3"')
    more = '["never", "sometimes", "often", "always", "daily"]'
    asked("snack", {2: (*EPOCHS[2], 600)}, epsilon='"3"', categories=more)
    numeric = {
        "categories": "",
        "tells": '"distribution"',
        "widths": "[1]",
        "low": "0",
        "high": "3",
        "step": "1",
    }
    asked("cups", {1: EPOCHS[1], 2: EPOCHS[2]}, **numeric)
    return made


def compared(place: Workplace, *options: str, name: str = "tea") -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_printed(place, name, "--json", *options))
    return told


def shown(place: Workplace, *options: str, name: str = "tea") -> str:
    return " ".join(_printed(place, name, *options).split())


def _printed(place: Workplace, *options: str) -> str:
    """Return what the command prints, beside who answered another version."""
    result = place.run("ask compare", *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_newest_epoch_that_is_over_is_compared_with_the_one_before(place: Workplace) -> None:
    told = compared(place)
    assert (told["epochs"], told["against_epochs"]) == ([2], [1])
    changed = "3 of 4 answers clearly changed since the day before. The largest change is for "
    changed += '"never": down 9.1 '
    assert re.match(rf"tea on \d+ \w+ \d+: {changed}", told["sentence"])
    survey = Surveys(StoreSource(Config.load(place.directory)))["tea"]
    assert json.loads(json.dumps(survey.compare().to_dict())) == told
    assert survey.compare().sentence in shown(place)
    assert "recurring-devices" in {caution.code for caution in survey.compare().cautions}


def test_the_earlier_is_subtracted_in_whatever_order_they_are_named(place: Workplace) -> None:
    forward = compared(place, "--epoch", "2-3", "0-1")
    assert (forward["epochs"], forward["against_epochs"]) == ([2, 3], [0, 1])
    assert compared(place, "--epoch", "0-1", "2-3") == forward
    assert compared(place, "2") == compared(place)  # which is what "yesterday" may name
    text = shown(place, "--epoch", "0-1", "2-3")
    assert re.search(r"now .* \(2,100 reports\) before .* \(4,000 rep", text)
    assert "the 2 days before" in text
    older = compared(place, "--epoch", "2", "older:0")
    assert older["against_survey"] == "tea"
    assert older["against_survey_id"] != older["survey_id"]
    (first,) = (row["estimate"] for row in older["rows"] if row["answers"] == "never")
    (now, before) = ((row["now"], row["before"]) for row in older["rows"][:1]).__next__()
    assert first == pytest.approx(now - before)
    prefix = older["against_survey_id"][:12]
    assert compared(place, "--epoch", "2", f"{prefix}:0") == older
    assert compared(place, "--epoch", "2", "older")["against_epochs"] == [1]
    # The older survey's epoch 1 is later than the newer one's epoch 0: they run side by side.
    beside = compared(place, "--epoch", "0", "older:1")
    assert (beside["survey_id"], beside["epochs"]) == (older["survey_id"], [0])
    assert beside["against_survey_id"] == older["against_survey_id"]
    assert beside["against_epochs"] == [1]
    assert " changed" not in beside["sentence"]  # other devices answered


def test_surveys_of_the_same_answers_are_called_by_their_names(place: Workplace) -> None:
    told = compared(place, "tea-android:1")
    assert (told["survey"], told["against_survey"]) == ("tea", "tea-android")
    assert told["sentence"].startswith("No clear difference between tea on ")
    assert compared(place, "tea-android")["against_epochs"] == [1, 2]  # of up to seven days
    text = shown(place, "tea-android")
    assert re.search(r"\([\d,]+ reports\) tea-android .* \d{4} \([\d,]+ reports\)", text)
    assert "test chi-square" in shown(place, "--epoch", "2", "tea-android:2")  # of single epochs
    assert "answer tea-android tea difference 95 % interval, all at once" in text
    written = place.succeed("ask compare tea tea-android --csv")
    rows = list(csv.DictReader(io.StringIO(written)))
    assert {row["against_survey"] for row in rows} == {"tea-android"}
    assert len(rows) == 4


def test_what_cannot_be_compared_says_why(place: Workplace) -> None:
    def refused(*options: str) -> str:
        return place.fail("ask compare tea", *options)

    assert "different answers" in refused("coffee")
    assert "version 1 ('older') has some; compare with that version" in refused("--epoch", "0")
    assert re.search(r"days such as .*; the survey collects from .* to ", refused("2020-01-01"))
    assert "no survey 'nobody-asks' is published" in refused("nobody-asks")
    assert "an epoch of tea must be one of" in refused("99")
    assert "cannot be compared with itself" in refused("--epoch", "1", "1")
    assert "has no older version" in place.fail("ask compare cups older")
    share = compared(place, "coffee", "--share", "never")
    assert re.match(r"never, tea on .* against coffee on .*: −", share["rows"][0]["sentence"])


def test_means_are_compared_in_their_unit_and_drawn(place: Workplace) -> None:
    told = compared(place, "previous", name="cups")
    moved = "the mean is up from the day before: 1.80 against 1.07 (difference +0.73, 95 %"
    assert moved in told["sentence"]
    numbers = re.search(r"([\d.]+) against ([\d.]+) \(difference \+([\d.]+)", told["sentence"])
    assert numbers
    assert len({len(number) for number in numbers.groups()}) == 1, "all have the same decimals"
    median = compared(place, "--quantile", "50%", name="cups")
    moved = "the median is up from the day before: 2 against 1 (difference +1, 95 %"
    assert moved in median["sentence"]
    (row,) = median["rows"]
    assert (row["answers"], row["now"], row["estimate"]) == ("median", 2, 1)
    assert row["low"] <= 1 <= row["high"]
    survey = Surveys(StoreSource(Config.load(place.directory)))["cups"]
    assert "In percentage points" not in survey.compare().plot().svg
    assert "mean" in survey.compare().plot().svg
    assert survey.compare(quantile=0.5).sentence == median["sentence"]
    (one,) = survey.compare(quantile=0.5).rows
    fell = replace(one, estimate=replace(one.estimate, low=-3.0, high=4.0))
    fallen = replace(survey.compare(quantile=0.5), rows=(fell,))
    assert "interval −3 to +4" in fallen.sentence
    assert "median" in survey.compare(quantile=0.5).plot().svg


def test_by_default_the_newest_over_with_one_before_it_is_compared() -> None:
    for states, expected in (
        ("sealed", 0),
        ("open open", 1),
        ("sealed open", 1),  # the only one that is over has none before it
        ("sealed closed open", 1),
        ("sealed closed grace open", 2),
    ):
        named = enumerate(states.split())
        listed = [ListedEpoch(at, 9, EpochState(state), None) for at, state in named]
        assert newest_over(listed, with_before=True) == expected
    assert newest_over([ListedEpoch(9, 0, EpochState.OPEN, None)], with_before=True) is None


@pytest.mark.parametrize(
    ("hour", "states", "kept", "sides"),
    [
        (48, "sealed sealed sealed closed open", None, ([2, 3], [0, 1])),
        (49, "sealed sealed sealed closed open", None, ([3], [1])),  # epoch 2 has both
        (72, "sealed - sealed closed closed", None, ([3, 4], [0, 1, 2])),  # a gap is none of them
        (48, "sealed sealed sealed closed open", 3, ([3], [1])),  # 2 shares the noise of 1
        (24, "sealed sealed sealed open", None, ([1], [0])),
        (96, "sealed sealed sealed open", None, "after 'out'"),
        (0, "sealed sealed", None, "before 'out'"),
    ],
)
def test_epochs_after_a_note_are_compared_with_as_many_before_it(
    hour: int, states: str, kept: int | None, sides: tuple[list[int], list[int]] | str
) -> None:
    repeat = Repeat("fresh") if kept is None else Repeat("memoised", kept)
    survey = manifest(schedule=Schedule(0, DAY, 30, 0), repeat=repeat)
    listed = [
        ListedEpoch(at, 9, EpochState(state), None)
        for at, state in enumerate(states.split())
        if state != "-"
    ]
    note = Note(3_600 * hour, "out")
    if isinstance(sides, str):
        with pytest.raises(TooFewReports, match=f"no completed epoch {sides} has figures"):
            sides_across(note, [(survey, listed)])
        return
    since, _, before = sides_across(note, [(survey, listed)])
    assert ([*since], [*before]) == sides


def test_an_update_with_another_answer_is_compared_by_the_answers_of_both(place: Workplace) -> None:
    start = place.manifest("snack").schedule.start
    at = datetime.fromtimestamp(start + 2 * DAY, UTC).isoformat()
    place.succeed("survey note snack", "2.0 released", "--at", at)
    words = ("--across", "2.0 Released")
    told = compared(place, *words, name="snack")
    assert (told["epochs"], told["against_epochs"]) == ([2], [1])
    assert told["survey_id"] != told["against_survey_id"]
    assert [row["answers"] for row in told["rows"]] == ["never", "sometimes", "often", "always"]
    assert re.match(
        r'snack on [\w ]+: \d of 4 answers clearly changed from before "2.0 released". The largest '
        r'change is for "\w+": down [\d.]+ points',
        told["sentence"],
    )
    assert "Only version 2 since then and version 1 before it are compared." in told["sentence"]
    text = shown(place, *words, name="snack")
    assert 'Some answers are not compared, because only one side has them: "daily".' in text
    assert "of equal length, are compared. Differ" in text
    at = datetime.fromtimestamp(start + 1.5 * DAY, UTC).isoformat()
    place.succeed("survey note tea", "3.0 released", "--at", at)
    text = shown(place, "--across", "3.0 released")
    days = r"\d+ \w+ \d{4}"
    left_out = (
        f"{days} is left out: the note's date is within this period, so its reports may be from "
        "before or after the note."
    )
    assert re.search(f"{days} and {days}, of equal length, are compared. {left_out}", text)
    survey = Surveys(StoreSource(Config.load(place.directory)))["snack"]
    assert survey.compare(against="across 2.0 released").sentence == told["sentence"]
    assert (
        survey.compare(against="older")
        .to_dict()["sentence"]
        .startswith("2 of 4 answers clearly differ")
    )
    assert "newest notes: '2.0 released'" in place.fail("ask compare snack --across 3.0")
    assert "omit WHAT and --epoch" in place.run("ask compare snack older", *words).stderr
    with pytest.raises(ValueError, match="the note determines which epochs are compared"):
        survey.compare(2, "across 2.0 released")
