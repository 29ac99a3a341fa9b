"""Surveys of one name that run side by side: no difference is taken between two of them."""

import re
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from deniable.estimates import Series, compare, estimate_histogram
from deniable.messages import Manifest
from deniable.presenting import series_of
from deniable.reading import EpochCounts, EpochStanding, EpochState
from tests.support.surveys import MANIFEST, manifest

_DAY: Final = 86_400
_SCHEDULE: Final = replace(MANIFEST.schedule, start=20_000 * _DAY, epoch_seconds=_DAY, epochs=30)
_OLDER: Final = manifest(sequence=1, schedule=_SCHEDULE)
_NEWER: Final = manifest(sequence=2, schedule=_SCHEDULE, epsilon="2")
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
    counts = [counted(newer, epoch, _MANY_GOOD) for epoch in range(3, 9)]
    counts += [counted(_OLDER, epoch, _FEW_GOOD) for epoch in range(9)]
    return series_of(MANIFEST.name, [newer, _OLDER], counts)


def test_nothing_changed_where_two_surveys_differ_and_neither_changed() -> None:
    series = side_by_side()
    for sentence in (series.sentence(), series.sentence("good"), series.to_dict()["sentence"]):
        assert sentence.startswith(("No answer is known to have changed", "good, ")), sentence
        assert re.search(r"\+0\.0 percentage points|-0\.0 percentage points| 0\.0 ", sentence)
        assert f"of survey {_NEWER.survey_id.hex()[:12]}." in sentence


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
        assert all(line == sorted(line) for line in lines)
        assert lines[0][3:] == lines[1]  # an epoch of the same days stands at the same place
    texts = [each.text or "" for each in root.iter() if each.tag.endswith("text")]
    for survey in (_OLDER, _NEWER):
        assert sum(text.startswith(f"survey {survey.survey_id.hex()[:12]}") for text in texts) == 1


@pytest.mark.parametrize("other", _OTHERS, ids=["question", "order", "numbers"])
def test_another_question_of_the_name_is_another_axis(other: Manifest) -> None:
    series = side_by_side(other)
    assert {point.survey_id for point in series.points} == {other.survey_id.hex()}
    assert series.apart == (_OLDER.survey_id.hex(),)
    text = " ".join(map(str, series.document(list(series.figures())).notes))
    assert f"survey {_OLDER.survey_id.hex()[:12]}" in text


def test_the_older_survey_is_subtracted_from_the_newer_whichever_epochs_are_later() -> None:
    newer = estimate_histogram(_NEWER, 3, _MANY_GOOD)
    older = estimate_histogram(_OLDER, 8, _FEW_GOOD)
    for one, other in ((newer, older), (older, newer)):
        told = compare(one, None, other)
        assert (told.histogram.survey_id, told.rows[-1].estimate.value > 0) == (
            newer.survey_id,
            True,
        )
        assert "changed" not in told.sentence
