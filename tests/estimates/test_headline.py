"""The headline: one figure for a survey, which chance did not choose, in a line of a list."""

import re

import pytest

from deniable.estimates import Histogram
from deniable.estimates.series import Point, Series
from deniable.messages import Manifest
from deniable.presenting.series import headline
from tests.support.kinds import EXAMPLES, example_survey
from tests.support.surveys import MANIFEST


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
    assert f"answered {label} (90 % interval" in document.sentence
    ends = [f"{100 * end[0]:.1f} %" for end in (newest.simultaneous.low, newest.simultaneous.high)]
    assert f"{' to '.join(ends)}, which holds for all answers at once)" in document.sentence
    assert document.facts[0].text == "21,500 in epochs 0, 2"
    assert document.chart is not None
    svg = document.chart(132)
    (title,) = re.findall("<title>(.*?)</title>", svg)
    shares = [point.histogram.estimate[0] for point in made.points if point.histogram]
    expected = [f"epoch {at} {100 * share:.1f}%" for at, share in zip((0, 2), shares, strict=True)]
    assert title == f"{label}: {', '.join(expected)}"
    assert svg.count("<circle") == 2, "a gap stays a gap"
    assert 'viewBox="0 0 132 32"' in svg


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_kind_has_one(kind: str) -> None:
    for example in EXAMPLES[kind]:
        survey = example_survey(kind, *example)
        counts = [response + 1 for response in range(survey.mechanism.responses)]
        made = headline(series(survey, counts, counts[::-1]))
        assert made.sentence.endswith(".")
        assert "90 % interval" in made.sentence
        assert all(caution.brief and caution.text in made.sentence for caution in made.cautions)
        assert made.chart is not None
        assert made.chart(100).count('class="outer"') == 1
