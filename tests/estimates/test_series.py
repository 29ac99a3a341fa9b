"""Series: gaps, surveys of one name that run side by side, and the headline in a list."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, Series, Unit, compare, estimate_histogram
from deniable.estimates.decoders import decoder_of
from deniable.estimates.series import Point
from deniable.messages import Manifest, Repeat
from deniable.presenting import headline_of, series_of
from deniable.presenting.series import headline
from deniable.reading import EpochCounts, EpochStanding, EpochState
from deniable.simulation.bulk import SimulatedReports
from tests.support.kinds import EXAMPLES, WITH_SHARES, example_survey
from tests.support.surveys import MANIFEST, manifest

_DAY: Final = 86_400
_SCHEDULE: Final = replace(MANIFEST.schedule, start=20_000 * _DAY, epoch_seconds=_DAY, epochs=30)
_OLDER: Final = manifest(sequence=1, schedule=_SCHEDULE)
_LATER: Final = replace(_SCHEDULE, start=20_003 * _DAY)
_NEWER: Final = manifest(sequence=2, schedule=_LATER, epsilon="2")
_FEW_GOOD: Final = (3_000, 2_500, 2_000, 1_500, 1_000)
_MANY_GOOD: Final = (1_000, 1_500, 2_000, 2_500, 3_000)
_OTHERS: Final = (
    manifest(sequence=2, schedule=_SCHEDULE, question="How do you rate your work?"),
    manifest(sequence=2, schedule=_SCHEDULE, categories=MANIFEST.categories[::-1]),
    manifest(sequence=2, schedule=_SCHEDULE, categories=("1", "2", "3", "4", "5")),
)


def counted(survey: Manifest, epoch: int, counts: tuple[int, ...]) -> EpochCounts:
    standing = EpochStanding(EpochState.SEALED)
    return EpochCounts(survey.survey_id, epoch, dict(enumerate(counts)), 0, standing)


def side_by_side(newer: Manifest = _NEWER) -> Series:
    """Return a series in which devices of the older and of the newer app never change."""
    counts = [counted(newer, epoch, _MANY_GOOD) for epoch in range(6)]
    counts += [counted(_OLDER, epoch, _FEW_GOOD) for epoch in range(9)]
    return series_of(MANIFEST.name, [newer, _OLDER], counts)


def test_nothing_changed_where_two_surveys_differ_and_neither_changed() -> None:
    series = side_by_side()
    for sentence in (series.sentence(), series.to_dict()["sentence"]):
        assert "no clear change" in sentence
        assert re.search(r"(?:up|down|difference) \+?0\.0 points", sentence)
        assert "Only version 3 is compared." in sentence
    told = series.sentence("good")
    assert 'no clear trend in "good": +0.00 points a day (95 % interval −' in told
    assert "Only version 3 is compared." in told
    assert _NEWER.survey_id.hex()[:12] not in str(
        series.document([*series.figures()]).tables[0].rows[0]["survey"]
    )


def test_each_survey_is_a_line_whose_epochs_go_on_to_the_right() -> None:
    series = side_by_side()
    assert [len(line) for line in series.lines] == [9, 6]
    ids = [row["survey_id"] for row in series.rows()]
    assert ids == sorted(ids, key=[_OLDER.survey_id.hex(), _NEWER.survey_id.hex()].index)
    root = ET.fromstring(series.plot()._repr_svg_())
    for panel in (each for each in root.iter() if each.get("class") == "panel"):
        circles = [each for each in panel if each.tag.endswith("circle")]
        lines = [
            [float(each.get("cx", "nan")) for each in circles if each.get("class") in classes]
            for classes in (("dot line-1", "point line-1"), ("dot", "point"))
        ]
        assert [len(line) for line in lines] == [9, 6]
        ribbons = [str(each.get("class")) for each in panel]
        assert [ribbons.count(cls) for cls in ("band", "band line-1")] == [1, 1]
        assert all(line == sorted(line) for line in lines)
        assert lines[0][3:] == lines[1]  # an epoch of the same days stands at the same place
    texts = [each.text or "" for each in root.iter() if each.tag.endswith("text")]
    for version in ("version 2", "version 3"):
        assert texts.count(version) == 1


def test_an_added_answer_is_a_gap_in_the_version_before_and_the_others_go_on() -> None:
    series = side_by_side(replace(_NEWER, categories=(*MANIFEST.categories, "none")))
    figures = dict(series.figures())
    assert [*figures] == [*MANIFEST.categories, "none"]
    assert [one is None for one in figures["none"]] == [True] * 9 + [False] * 6
    assert None not in figures["good"]
    document = series.document([*figures.items()])
    assert "Versions differ in their answers" in " ".join(document.notes)
    assert "Only version 3 is compared." in document.sentence


@pytest.mark.parametrize("other", _OTHERS, ids=["question", "order", "numbers"])
def test_another_question_of_the_name_is_another_axis(other: Manifest) -> None:
    series = side_by_side(other)
    assert {point.survey_id for point in series.points} == {other.survey_id.hex()}
    assert series.apart == (_OLDER.survey_id.hex(),)
    text = " ".join(map(str, series.document(list(series.figures())).notes))
    assert "One survey with this name asks something different, and is not shown." in text


def test_the_older_survey_is_subtracted_from_the_newer_whichever_epochs_are_later() -> None:
    newer = estimate_histogram(_NEWER, 3, _MANY_GOOD)
    older = estimate_histogram(_OLDER, 8, _FEW_GOOD)
    for one, other in ((newer, older), (older, newer)):
        told = compare(one, None, other)
        assert told.histogram.survey_id == newer.survey_id
        assert told.rows[-1].estimate.value > 0
        assert "changed" not in told.sentence


def falling(
    survey: Manifest, epochs: Sequence[int], state: EpochState = EpochState.SEALED
) -> Series:
    """Return a series in which "good" falls, whose last epoch has a state, of uneven reports."""
    counts = [
        counted(survey, epoch, (300, 300, 300, 2_000 - 90 * epoch + 7 * (epoch % 3), 100 * epoch))
        for epoch in epochs
    ]
    counts[-1] = replace(counts[-1], standing=EpochStanding(state))
    return series_of(survey.name, [survey], counts)


def test_a_trend_is_the_slope_of_weighted_least_squares_over_the_epochs_that_are_over() -> None:
    told = falling(_NEWER, range(15), EpochState.OPEN)
    trend = told.trend(["good", "fair"])
    assert (trend.seconds, len(trend.points)) == (7 * _DAY, 14)
    shares = [share.value for share in told.share(["good", "fair"]) if share][:14]
    roots = [point.n**0.5 for point in trend.points]
    slope, _ = np.polyfit([epoch / 7 for epoch in range(14)], shares, 1, w=roots)
    assert trend.slope.value == pytest.approx(slope)
    end = -100 * trend.slope.high
    assert trend.sentence.startswith(
        'rating-of-marriage, 7–20 October 2024: "good or fair" is falling by '
        f"{-100 * slope:.1f} points a week (95 % interval {end:.1f} to "
    )
    wider = "epochs make the trend's interval wider than necessary, never"
    assert wider in str(told.to_dict(["good", "fair"])["cautions"])
    assert told.to_dict(["good", "fair"])["trend"]["estimate"] == trend.slope.value
    assert trend.sentence in told.sentence(["good", "fair"])
    step = "The figure may have changed suddenly at that time: compare the epochs before and after."
    noted = replace(told, notes=((trend.points[3].start, "2.0 released"),))
    assert noted.sentence(["good", "fair"]).endswith(step)
    assert step not in noted.sentence("fair") + told.sentence(["good", "fair"])
    assert "compares 7 October 2024 with 20 October 2024: choose an answer" in told.sentence()
    assert told.to_dict()["trend"] is None


def test_a_trend_has_one_epoch_of_those_that_share_noise_and_three_at_least() -> None:
    kept = manifest(schedule=_SCHEDULE, repeat=Repeat("memoised", 4), epsilon="2")
    trend = falling(kept, [0, 1, 4, 8, 9]).trend("good")
    assert [point.epoch for point in trend.points] == [1, 4, 9]
    for told in (falling(kept, [0, 1, 4, 5, 6, 7]), falling(_NEWER, [0, 1, 2], EpochState.OPEN)):
        with pytest.raises(ValueError, match="a trend needs 3 finished epochs"):
            told.trend("good")
        assert "is falling" not in told.sentence("good")


@pytest.mark.parametrize(
    ("seconds", "every"), [(60, "a minute"), (1_800, "an hour"), (_DAY, "a day"), (2**20, "a week")]
)
def test_a_slope_is_told_by_a_unit_of_which_two_passed(seconds: int, every: str) -> None:
    schedule = replace(_SCHEDULE, start=20_000 * _DAY, epoch_seconds=seconds)
    told = falling(manifest(schedule=schedule, epsilon="2"), range(4)).sentence("good")
    assert f" points {every} (95 %" in told


def test_a_sudden_change_at_a_note_is_no_trend() -> None:
    counts = [counted(_OLDER, epoch, _FEW_GOOD) for epoch in range(5)]
    counts += [counted(_OLDER, epoch, (2_600, 2_300, 2_000, 1_700, 1_400)) for epoch in range(5, 9)]
    told = series_of(_OLDER.name, [_OLDER], counts)
    assert "is rising by" in told.sentence("good")
    at = told.points[5].start
    noted = replace(told, notes=((at, "2.0 released"),))
    before, after = (
        np.mean([share.value for share in told.share("good") if share][part])
        for part in (slice(1, 5), slice(5, None))  # as many before as since
    )
    sentence = noted.sentence("good")
    assert "rising" not in sentence
    note, move = '"2.0 released" (9 October 2024)', 100 * (after - before)
    assert f'"good" was {100 * before:.1f} % from 5 to 8 October 2024, before {note}, ' in sentence
    assert (
        f"and {100 * after:.1f} % from 9 to 12 October 2024 (difference +{move:.1f} p" in sentence
    )
    assert "Noted:" not in sentence
    for own in (sentence, headline(noted).notes[0]):
        assert own.startswith("rating-of-marriage, 4–12 October 2024: ")
    # A note on another day does not explain it, since the figure rises after it or before it.
    elsewhere = replace(told, notes=((told.points[2].start, "2.0 released"),))
    assert "is rising by" in elsewhere.sentence("good")


def test_what_fell_in_an_older_version_is_said_beside_the_newer_ones_trend() -> None:
    shares = [np.array([20, 20, 20, 30 - 3 * at, 10 + 3 * at]) / 100 for at in range(9)]
    reports = [SimulatedReports(_OLDER.mechanism, share, 1).counts(20_000) for share in shares]
    fell = [counted(_OLDER, at, tuple(one.tolist())) for at, one in enumerate(reports)]
    old = series_of(_OLDER.name, [_OLDER], fell).points
    counts = [counted(_NEWER, epoch, _MANY_GOOD) for epoch in range(6)]
    series = series_of(MANIFEST.name, [_NEWER], counts)
    told = replace(series, points=(*old, *series.points)).sentence(["good", "fair"])
    assert 'no clear trend in "good or fair"' in told
    assert re.search(
        r"In version 2, from 4 to 12 October 2024, it was falling by [\d.]+ points a day\.$", told
    )


def test_of_two_answers_one_has_the_trend_and_not_one_that_a_version_removed() -> None:
    newer = manifest(sequence=1, schedule=_SCHEDULE, categories=("yes", "no"), epsilon="2")
    counts = [counted(newer, at, (900 + 60 * at, 1_100 - 60 * at)) for at in range(4)]
    counts += [counted(_OLDER, at, _MANY_GOOD) for at in range(4)]
    told = series_of(_OLDER.name, [newer, _OLDER], counts)
    assert '"no" is falling by ' in told.sentence() or '"yes" is rising by ' in told.sentence()
    assert told.to_dict()["trend"] is not None


def test_a_mean_has_a_trend_too() -> None:
    survey = example_survey("levels", *EXAMPLES["levels"][2])
    schedule = replace(survey.schedule, epoch_seconds=_DAY, epochs=30)
    survey = replace(survey, schedule=schedule)
    rising = [
        [100 + epoch * response for response in range(survey.mechanism.responses)]
        for epoch in range(4)
    ]
    told = series_of(
        survey.name, [survey], [counted(survey, at, tuple(one)) for at, one in enumerate(rising)]
    )
    assert "the mean is rising by " in told.sentence()
    assert told.trend().slope.unit is Unit.CHANGE


_MINUTES: Final = replace(
    example_survey("levels", *EXAMPLES["levels"][2]), schedule=replace(_SCHEDULE, grace_seconds=0)
)


def medians(*powers: int, n: int = 9_000) -> Series:
    """Return a series of numbers whose larger answers are the more frequent the larger a power."""
    shares = [np.arange(1, len(_MINUTES.categories) + 1.0) ** power for power in powers]
    reports = [SimulatedReports(_MINUTES.mechanism, f / f.sum(), 1) for f in shares]
    counts = [
        counted(_MINUTES, at, tuple(one.counts(n, at).tolist())) for at, one in enumerate(reports)
    ]
    return series_of(_MINUTES.name, [_MINUTES], counts)


def test_over_time_the_change_of_a_median_is_stated() -> None:
    two = medians(0, 9)
    first, now = two.histograms
    change = compare(now, None, first, quantile=0.5).rows[0]
    assert change.before is not None
    assert "the median is up from the day before: " in two.sentence()
    assert f": {change.now.value:g} against {change.before.value:g} (difference +" in two.sentence()
    for still in (medians(0, 0, n=900), medians(0, 0, 0, n=900)):
        assert "Too few reports to say whether the median moved: " in still.sentence()
        assert " in the last day against " in still.sentence()


def test_what_already_rose_before_a_note_is_said_to_have_done_so() -> None:
    told = medians(0, 1, 2, 3, 4)
    for at, already in ((3, True), (2, False)):
        noted = replace(told, notes=((told.points[at].start, "3.0 released"),)).sentence()
        text = (
            ' A note marks a date, not a cause. Before "3.0 released", the mean was already rising'
        )
        assert (text in noted) == already
        assert noted.endswith(
            "may have changed suddenly at that time: compare the epochs before and after."
        ) != (already)


def test_a_version_too_young_for_a_trend_has_its_change_beside_the_trend_of_the_one_before() -> (
    None
):
    counts = [counted(_NEWER, epoch, _MANY_GOOD) for epoch in range(2)]
    counts += [counted(_OLDER, epoch, _FEW_GOOD) for epoch in range(9)]
    told = series_of(MANIFEST.name, [_NEWER, _OLDER], counts).sentence("good")
    assert 'no clear change in "good" since the day before' in told
    assert 'no clear trend in "good"' in told
    assert told.endswith(" The change is within version 3; the trend is of version 2.")


def series(survey: Manifest, *counts: list[int] | None) -> Series:
    """Return the series of responses that were counted in the epochs."""
    histograms = [
        None if counted is None else Histogram.of_counts(survey.mechanism, counted, level=0.9)
        for counted in counts
    ]
    points = (Point("", epoch, 0, 1, one) for epoch, one in enumerate(histograms))
    return Series("mood", tuple(points))


def test_the_largest_share_is_that_of_all_epochs_with_an_interval_that_holds_for_all() -> None:
    counts = [9_000, 2_000, 1_000, 1_000, 1_000], None, [2_000, 2_500, 1_000, 1_000, 1_000]
    made = series(MANIFEST, *counts)
    document, label = headline(made), made.categories[0]
    newest = made.points[-1].histogram
    assert newest is not None
    assert newest.estimate[1] > newest.estimate[0], "of the newest epoch it is another"
    assert f'answered "{label}" from 1 January 1970, 00:00:00' in document.sentence
    ends = [f"{100 * end[0]:.1f} %" for end in (newest.simultaneous.low, newest.simultaneous.high)]
    assert f"(90 % interval {' to '.join(ends)})." in document.sentence
    assert document.facts[0].text.startswith("21,500 from 1 January 1970")
    assert document.chart is not None
    marks = re.findall('<circle class="dot" cx="([0-9.]+)"', document.chart(280))
    assert len(marks) == 3, "two epochs and the legend: a gap stays a gap"


def test_a_headline_is_of_the_last_epoch_that_is_over_and_has_its_trend_if_that_is_clear() -> None:
    # With a step of 100, a day's change is not clear, but the trend over eight days is.
    for step, news in (
        (0, "no clear change since the day before."),
        (100, '"very poor" is rising by'),
    ):
        firsts = [16_000 + step * epoch for epoch in range(8)]
        counts = [
            counted(_OLDER, epoch, (first, *[(40_000 - first) // 4] * 4))
            for epoch, first in enumerate(firsts)
        ]
        still = EpochStanding(EpochState.OPEN)
        counts.append(replace(counted(_OLDER, 8, (10, 20, 30, 40, 50)), standing=still))
        document = headline_of(_OLDER.name, [_OLDER], counts)
        assert " on 11 October 2024 (" in document.sentence
        assert not document.sentence.startswith("So far")
        assert [news in note for note in document.notes] == [True]


@pytest.mark.parametrize("survey", WITH_SHARES, ids=lambda survey: survey.specification.kind)
def test_every_kind_has_a_headline(survey: Manifest) -> None:
    counts = [response + 1 for response in range(survey.mechanism.responses)]
    made = headline(series(survey, counts, counts[::-1]))
    assert made.sentence.endswith(".")
    assert "90 % interval" in made.sentence
    assert all(caution.brief for caution in made.cautions)
    assert made.chart is not None
    assert made.chart(280).count('class="panel"') == 1


def even(survey: Manifest, epoch: int = 0, n: int = 20_000) -> Histogram:
    counts = [round(n * share) for share in decoder_of(survey.mechanism).even_shares]
    return estimate_histogram(survey, epoch, counts)


def test_a_series_shows_gaps() -> None:
    first, second = manifest(), manifest(sequence=1)
    ids = first.survey_id.hex(), second.survey_id.hex()
    points = (
        Point(ids[0], 0, 0, 10, even(first)),
        Point(ids[0], 1, 10, 20),
        Point(ids[1], 2, 20, 30, even(second, 2)),
    )
    told = Series("marriage", points)
    good = told.share("good")
    assert [share is None for share in good] == [False, True, False]
    assert (good[2] - good[0]).standard_error > 0  # type: ignore[operator]
    for answers in ("awful", iter(["good", "awful"])):
        with pytest.raises(ValueError, match="no answer 'awful'"):
            told.share(answers)
    rows = list(told.rows())
    assert len(rows) == 3 * len(told.categories)
    assert told.to_csv().count("\n") == 1 + len(rows)
    assert told.to_dict()["survey"] == "marriage"
    frame = told.to_pandas()
    assert frame.attrs == {"survey": "marriage"}
    assert frame["estimate"].isna().tolist() == [False] * 5 + [True] * 5 + [False] * 5


def test_epochs_of_less_than_a_day_begin_at_a_time() -> None:
    told = Series("tea", (Point("ab" * 32, 7, 3600, 7200),))
    shown = document_text(told.document(list(told.figures("never")), "never"))
    assert "1970-01-01 01:00      7 " in shown


def test_a_series_of_a_distribution_has_its_quartiles() -> None:
    survey = example_survey("levels", *EXAMPLES["levels"][2])
    histogram = even(survey)
    told = Series("minutes", (Point(survey.survey_id.hex(), 0, 0, 10, histogram),))
    figures = dict(told.figures())
    assert list(figures) == ["mean", "lower quartile", "median", "upper quartile"]
    (median,) = figures["median"]
    assert median is not None
    assert histogram.numeric is not None
    own = histogram.numeric.quartiles[1]
    assert (median.value, median.low, median.high) == (own.value, own.low, own.high)
    assert [row["standard_error"] for row in told.to_dict()["rows"]][1:] == [None] * 3
    assert "median" in told.plot().svg
