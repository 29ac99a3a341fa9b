"""What is shown of a histogram, in a chart, a table and columns, are its numbers."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

from deniable.estimates import Estimate, Histogram, View, estimate_histogram
from deniable.estimates.decoders import decoder_of
from deniable.estimates.series import Point, Series
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Manifest
from deniable.presenting.charts import Dot
from deniable.presenting.pictures import histogram_dots, plot_differences
from deniable.presenting.rows import chosen_rows
from tests.support.kinds import EXAMPLES, calibrated
from tests.support.surveys import manifest

SVG = "{http://www.w3.org/2000/svg}"
SURVEYS = [
    manifest(
        name=kind,
        categories=categories,
        specification=calibrated(kind, len(categories), "1", settings),
    )
    for kind, examples in EXAMPLES.items()
    if kind != "two-round"
    for settings, categories in examples
]


def even(asked: Manifest, n: int = 20_000, epoch: int = 0) -> Histogram:
    counts = [round(n * share) for share in decoder_of(asked.mechanism).even_shares]
    return estimate_histogram(asked, epoch, counts)


def bands(dots: Sequence[Dot | None], which: str) -> list[tuple[float, float] | None]:
    return [getattr(dot, which) for dot in dots]


def ends(intervals: Any) -> list[tuple[float, float]]:
    return [*zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)]


@pytest.mark.parametrize("asked", SURVEYS, ids=lambda asked: asked.name)
def test_charts_and_columns_have_the_numbers_of_the_histogram(asked: Manifest) -> None:
    histogram = even(asked)
    dots, columns = histogram_dots(histogram, chosen_rows(histogram)), histogram.columns()
    if histogram.numeric is None:
        # Answers to single questions come before their combinations.
        last = dots[-len(histogram.categories) :]
        assert [dot.label for dot in last] == [*histogram.categories] == columns["category"]
        assert [dot.value for dot in last] == histogram.estimate.tolist() == columns["estimate"]
        assert bands(last, "outer") == ends(histogram.simultaneous)
        assert bands(last, "inner") == [None] * len(last)
        assert columns["low"] == histogram.low.tolist()
        assert columns["simultaneous_low"] == histogram.simultaneous.low.tolist()
        assert ("raw" in columns) is not bool(histogram.responses)
        at_once = chosen_rows(histogram, View.PROJECTED)
        shown = histogram_dots(histogram, at_once)
        assert [dot.value for dot in shown] == histogram.view("projected").tolist()
        assert bands(shown, "outer") == ends(histogram.simultaneous)
        drawn = histogram.plot("projected")._repr_svg_()
        assert "95% simultaneous interval" in drawn
        assert "projected view" in drawn
    else:
        shares = [each.share for each in histogram.numeric.bins]
        shown_shares = [share for share in shares if share.high - share.low <= 0.5]
        assert bands(dots, "outer") == [(share.low, share.high) for share in shown_shares]
        assert columns["estimate"][0] == histogram.numeric.mean.value
        with pytest.raises(ValueError, match="noise"):
            histogram.plot(top=3)
    told = histogram.metadata()
    assert (told["survey_id"], told["epsilon"]) == (histogram.survey_id, histogram.epsilon)
    assert told["epochs"] == "0"
    assert pa.table(histogram).num_rows == len(columns["estimate"])
    assert histogram.to_pandas()["estimate"].tolist() == columns["estimate"]


def test_a_series_is_drawn_with_its_gaps_and_a_line_for_each_survey() -> None:
    first, second = manifest(), manifest(sequence=1)
    ids = first.survey_id.hex(), second.survey_id.hex()
    series = Series(
        "marriage",
        (
            Point(ids[0], 0, 0, 10, even(first)),
            Point(ids[0], 1, 10, 20),
            Point(ids[1], 2, 20, 30, even(second, epoch=2)),
        ),
    )
    root = ET.fromstring(series.plot()._repr_svg_())
    panels = [each for each in root.iter(f"{SVG}g") if each.get("class") == "panel"]
    assert len(panels) == len(first.categories)
    ribbons = [str(each.get("class")) for each in panels[0]]
    assert [ribbons.count(cls) for cls in ("outer", "outer line-1")] == [1, 1]
    for survey_id in ids:
        assert any((text.text or "").startswith(f"survey {survey_id[:12]}, ") for text in root)
    frame = series.to_pandas()
    assert frame.attrs == {"survey": "marriage"}
    assert frame["estimate"].isna().tolist() == [False] * 5 + [True] * 5 + [False] * 5


def test_differences_are_drawn_with_their_own_intervals() -> None:
    counts = [1010, 1040, 1250, 1431, 1602]
    now = estimate_histogram(manifest(), 1, counts)
    then = estimate_histogram(manifest(), 0, [1410, 1009, 1236, 1479, 1610])
    drawn = plot_differences({c: now.share(c) - then.share(c) for c in now.categories})
    root = ET.fromstring(drawn._repr_svg_())
    rows = [
        [text.text for text in each.iter(f"{SVG}text")]
        for each in root.iter(f"{SVG}g")
        if each.get("class") == "row"
    ]
    told = [now.share(c) - then.share(c) for c in now.categories]
    assert [len(row) == 3 for row in rows] == [each.distinguishable for each in told]
    assert rows[0][1:] == [f"{100 * told[0].value:+.1f}", _points(told[0])]


def _points(estimate: Estimate) -> str:
    return f"[{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"


def test_a_page_has_the_same_rows_as_the_chart_and_no_markup_of_labels() -> None:
    asked = manifest(categories=("<b>a</b>", "b&c", '"d"'), question="<script>?")
    histogram = even(asked)
    root = ET.fromstring(histogram._repr_html_())
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert [row[0] for row in rows[1:]] == [*asked.categories]
    assert rows[1][2] == f"{histogram.estimate[0]:.1%}"
    ends = histogram.simultaneous
    assert rows[1][4] == f"{ends.low[0]:.1%} to {ends.high[0]:.1%}"
    assert {each.tag for each in root.iter()}.isdisjoint({"script", "b"})


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [
        ("1", "about 2,900 reports"),
        ("0.1", "about 310,000 reports"),
        ("0.001", "more than a billion reports"),
    ],
)
def test_reports_that_would_help_are_told_in_two_digits_up_to_a_billion(
    epsilon: str, told: str
) -> None:
    mechanism = RandomisedResponse(3, epsilon)
    few = Histogram.of_counts(mechanism, [8, 8, 8])
    said = {caution.code: caution.text for caution in few.cautions}["few-reports"]
    assert said.endswith(f"each by itself, take {told} at this epsilon.")
