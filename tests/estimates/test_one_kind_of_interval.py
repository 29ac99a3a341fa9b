"""One screen has one kind of interval: of answers, the one that holds for all of them at once."""

import re

import pytest

from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, compare, estimate_histogram
from deniable.estimates.series import Point, Series
from deniable.messages import Manifest
from deniable.presenting.series import headline
from tests.support.effort import some
from tests.support.kinds import EXAMPLES, example_survey
from tests.support.surveys import MANIFEST

_SURVEYS = [
    survey
    for kind, examples in EXAMPLES.items()
    for survey in [example_survey(kind, *one) for one in examples]
    if survey.values is None and kind != "two-round" and survey.repeat == MANIFEST.repeat
]


def _histogram(survey: Manifest, epoch: int, moved: int = 0) -> Histogram:
    n = survey.mechanism.responses
    return estimate_histogram(survey, epoch, [400 + 3 * y + moved * (y == 1) for y in range(n)])


@pytest.mark.parametrize(
    "survey", some(_SURVEYS), ids=lambda survey: str(survey.specification)[:60]
)
def test_the_sentence_table_and_chart_of_a_comparison_have_one_verdict(survey: Manifest) -> None:
    before = _histogram(survey, 0)
    for moved in range(0, 300, 60):
        told = compare(_histogram(survey, 1, moved), None, before)
        known = [row.label for row in told.rows if row.distinguishable]
        sentence = re.match(r"(\d+) of [\d,]+ answers", told.sentence)
        assert len(known) == (int(sentence[1]) if sentence else 0), told.sentence
        (table,) = told.document().tables
        assert [row["answers"] for row in table.rows if not row["mark"]] == known
        drawn = told.plot().svg.count(">not distinguishable<")
        assert drawn == len(told.rows) - len(known)


def test_a_difference_that_one_interval_alone_would_find_is_said_to_be_none() -> None:
    before = _histogram(MANIFEST, 0)
    verdicts = set()
    for moved in range(0, 300, 5):
        now = _histogram(MANIFEST, 1, moved)
        alone = {name: now.share(name) - before.share(name) for name in now.categories}
        told = compare(now, None, before)
        for row in told.rows:
            own = alone[row.label].distinguishable
            assert own or not row.distinguishable
            verdicts.add((own, row.distinguishable))
    assert (True, False) in verdicts  # or this would have tested nothing


def test_the_list_of_surveys_and_the_histogram_have_one_interval_for_one_number() -> None:
    histogram = _histogram(MANIFEST, 0, 300)
    survey_id = histogram.survey_id
    line = headline(Series(MANIFEST.name, (Point(survey_id, 0, 0, 86_400, histogram),)))
    interval = re.search(r"interval ([\d.]+ %) to ([\d.]+ %)", line.sentence)
    assert interval
    low, high = (end.replace(" %", "%") for end in interval.groups())
    text = document_text(histogram.document())
    assert f"{low} to {high}" in text
    assert "95 % simultaneous interval" in text
    assert "95 % interval" not in text
