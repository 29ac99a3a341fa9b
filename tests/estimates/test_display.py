"""What is shown of histograms, in sentences, charts, tables and columns, are their numbers."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from deniable.documents.terminal import document_text
from deniable.estimates import Estimate, Histogram, View, compare, estimate_histogram
from deniable.estimates.decoders import decoder_of
from deniable.estimates.series import Point, Series
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Manifest
from deniable.presenting.charts import Dot
from deniable.presenting.estimate import estimate_statement
from deniable.presenting.pictures import histogram_dots, plot_differences
from deniable.presenting.rows import chosen_rows
from deniable.presenting.series import headline
from tests.support.effort import some
from tests.support.kinds import WITH_LIST as SURVEYS
from tests.support.surveys import MANIFEST, manifest

FRESH = [survey for survey in SURVEYS if not survey.repeat.epochs]
SVG = "{http://www.w3.org/2000/svg}"


def even(asked: Manifest, n: int = 20_000, epoch: int = 0) -> Histogram:
    counts = [round(n * share) for share in decoder_of(asked.mechanism).even_shares]
    return estimate_histogram(asked, epoch, counts)


def bands(dots: Sequence[Dot | None]) -> list[tuple[float, float] | None]:
    return [None if dot is None else dot.band for dot in dots]


def ends(intervals: Any) -> list[tuple[float, float]]:
    return [*zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)]


@pytest.mark.parametrize("asked", FRESH, ids=lambda asked: asked.specification.kind)
def test_charts_and_columns_have_the_numbers_of_the_histogram(asked: Manifest) -> None:
    histogram = even(asked)
    dots, columns = histogram_dots(chosen_rows(histogram)), histogram.columns()
    if histogram.numeric is None:
        # Answers to single questions come before their combinations.
        last = dots[-len(histogram.categories) :]
        assert [dot.label for dot in last] == [*histogram.categories] == columns["category"]
        assert [dot.value for dot in last] == histogram.estimate.tolist() == columns["estimate"]
        assert bands(last) == ends(histogram.simultaneous)
        assert columns["low"] == histogram.low.tolist()
        assert columns["simultaneous_low"] == histogram.simultaneous.low.tolist()
        assert ("raw" in columns) is not bool(histogram.responses)
        at_once = chosen_rows(histogram, View.PROJECTED)
        shown = histogram_dots(at_once)
        assert [dot.value for dot in shown] == histogram.view("projected").tolist()
        assert bands(shown) == ends(histogram.simultaneous)
        drawn = histogram.plot("projected")._repr_svg_()
        assert "95% all-at-once interval" in drawn
        assert "projected view" in drawn
    else:
        shares = [each.share for each in histogram.numeric.bins]
        shown_shares = [share for share in shares if share.high - share.low <= 0.5]
        assert bands(dots) == [(share.low, share.high) for share in shown_shares]
        assert columns["estimate"][0] == histogram.numeric.mean.value
        with pytest.raises(ValueError, match="groups of values"):
            histogram.plot(top=3)
    told = histogram.metadata()
    assert (told["survey_id"], told["epsilon"]) == (histogram.survey_id, histogram.epsilon)
    assert told["epochs"] == "0"
    assert pa.table(histogram).num_rows == len(columns["estimate"])
    assert histogram.to_pandas()["estimate"].tolist() == columns["estimate"]


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
    value, low, high = (100 * end for end in (told[0].value, told[0].low, told[0].high))
    shown = [f"{value:+.1f}", f"[{low:+.1f}, {high:+.1f}]"]
    assert rows[0][1:] == [text.replace("-", "−") for text in shown]


def test_a_page_has_the_same_rows_as_the_chart_and_no_markup_of_labels() -> None:
    asked = manifest(categories=("<b>a</b>", "b&c", '"d"'), question="<script>?")
    histogram = even(asked)
    root = ET.fromstring(histogram._repr_html_())
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert [row[0] for row in rows[1:]] == [*asked.categories]
    assert rows[1][1] == f"{histogram.estimate[0]:.1%}"
    ends = histogram.simultaneous
    assert rows[1][2] == f"{ends.low[0]:.1%} to {ends.high[0]:.1%}"
    assert {each.tag for each in root.iter()}.isdisjoint({"script", "b"})


def test_reports_that_would_help_are_told_in_two_digits_up_to_a_billion() -> None:
    told = {"1": "about 2,900", "0.1": "about 310,000", "0.001": "more than a billion"}
    for epsilon, reports in told.items():
        few = Histogram.of_counts(RandomisedResponse(3, epsilon), [8, 8, 8])
        said = {caution.code: caution.text for caution in few.cautions}["few-reports"]
        assert said.endswith(f"each by itself, need {reports} reports.")
    assert " of 1 device\n" in str(Histogram.of_counts(RandomisedResponse(3, "1"), [1, 0, 0]))


NAMED = [survey for survey in FRESH if survey.values is None]


def counted(survey: Manifest, epoch: int, moved: int = 0) -> Histogram:
    n = survey.mechanism.responses
    return estimate_histogram(survey, epoch, [400 + 3 * y + moved * (y == 1) for y in range(n)])


@pytest.mark.parametrize("survey", some(NAMED), ids=lambda survey: str(survey.specification)[:60])
def test_the_sentence_table_and_chart_of_a_comparison_have_one_verdict(survey: Manifest) -> None:
    before = counted(survey, 0)
    for moved in range(0, 300, 60):
        told = compare(counted(survey, 1, moved), None, before)
        known = [row.label for row in told.rows if row.distinguishable]
        sentence = re.search(r"(\d+) of [\d,]+ answers", told.sentence)
        single = [label for label in known if told.histogram.question_of(label)]
        stated = int(sentence[1]) if sentence else 2 * (": a clear change" in told.sentence)
        assert stated == len(single or known), told.sentence
        (table,) = told.document().tables
        assert [row["answers"] for row in table.rows if row["mark"] == "clear"] == known
        drawn = told.plot().svg.count(">not clear<")
        assert drawn == len(told.rows) - len(known)


def test_a_difference_that_one_interval_alone_would_find_is_said_to_be_none() -> None:
    before = counted(MANIFEST, 0)
    verdicts = set()
    for moved in range(0, 300, 20):
        now = counted(MANIFEST, 1, moved)
        alone = {name: now.share(name) - before.share(name) for name in now.categories}
        told = compare(now, None, before)
        for row in told.rows:
            own = alone[row.label].distinguishable
            assert own or not row.distinguishable
            verdicts.add((own, row.distinguishable))
    assert (True, False) in verdicts  # or this would have tested nothing


def test_the_list_of_surveys_and_the_histogram_have_one_interval_for_one_number() -> None:
    histogram = counted(MANIFEST, 0, 300)
    survey_id = histogram.survey_id
    line = headline(Series(MANIFEST.name, (Point(survey_id, 0, 0, 86_400, histogram),)))
    interval = re.search(r"interval ([\d.]+ %) to ([\d.]+ %)", line.sentence)
    assert interval
    low, high = (end.replace(" %", "%") for end in interval.groups())
    document = histogram.document()
    assert all(end in document.sentence for end in interval.groups())
    text = document_text(document)
    assert f"{low} to {high}" in text
    assert "95 % interval, all at once" in text


N = 200
TRUTHS = (0.0, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.7, 0.98, 1.0)


def _said(share: Estimate) -> tuple[float, float]:
    """Return the limits that a sentence states, as it rounds them."""
    if limit := re.match(r"Fewer than about ([\d.]+) %", share.sentence):
        return 0.0, (float(limit[1]) + 0.05) / 100
    if limit := re.match(r"More than about ([\d.]+) %", share.sentence):
        return (float(limit[1]) - 0.05) / 100, 1.0
    return share.low, share.high


@pytest.mark.parametrize("epsilon", some(["3", "1", "6"]))
@pytest.mark.parametrize("categories", [2, 5])
def test_a_stated_limit_holds_as_often_as_its_level_says(epsilon: str, categories: int) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    q, kappa = float(mechanism.lie), float(mechanism.truth - mechanism.lie)
    shares = []
    for count in range(N + 1):
        rest = np.full(categories - 1, (N - count) // (categories - 1))
        rest[0] += N - count - rest.sum()
        shares.append(Histogram.of_counts(mechanism, [count, *rest.tolist()]).share("0"))
    said = np.array([_said(share) for share in shares])
    impossible = np.array([not 0 <= share.value <= 1 for share in shares])
    widths = np.array([share.high - share.low for share in shares])
    for share in shares:
        assert "-" not in estimate_statement(share)
        assert not re.search(r"\b\d{3,}\.\d %", estimate_statement(share).replace("100.0 %", ""))
    # No interval is shorter for an estimate that is further astray.
    values = np.array([share.value for share in shares])
    for beyond in (widths[values < 0], widths[values > 1]):
        assert beyond == pytest.approx(np.full(len(beyond), beyond[0]))
    for truth in TRUTHS:
        law = stats.binom.pmf(np.arange(N + 1), N, q + kappa * truth)
        holds = (said[:, 0] <= truth) & (truth <= said[:, 1])
        assert law[holds].sum() >= 0.93
        near = impossible & (abs(truth - (values > 1)) < widths)
        if law[near].sum() > 1e-12:  # of those in doubt beside a limit none misses
            assert holds[near].all()


RUNS = 200
OLD = {"search": 0.4, "export": 0.3, "share": 0.2, "comments": 0.1}


def _told_of_an_added_answer(now: dict[str, float], seed: int) -> list[str]:
    """Return what is said in each run of a version with an answer more, and these shares."""
    rng = np.random.default_rng(seed)

    def drawn(version: int, shares: dict[str, float]) -> Histogram:
        asked = manifest(sequence=version, categories=tuple(shares), epsilon="2")
        law = decoder_of(asked.mechanism).response_shares(np.array([*shares.values()]))
        return estimate_histogram(asked, version, rng.multinomial(8_000, law).tolist())

    return [compare(drawn(1, now), None, drawn(0, OLD)).sentence for _ in range(RUNS)]


@pytest.mark.parametrize("taken_of_all", some([True, False]))
def test_what_an_added_answer_explains_is_said_as_often_right_as_intervals_hold(
    taken_of_all: bool,
) -> None:
    now = {name: 0.9 * share for name, share in OLD.items()}
    if not taken_of_all:
        now = {**OLD, "search": OLD["search"] - 0.1}
    # Of what the old answers have together, each share changed by so much.
    moved = {name: share / 0.9 - OLD[name] for name, share in now.items()}
    clear = wrong = 0
    for sentence in _told_of_an_added_answer({**now, "AI": 0.1}, 5):
        added = re.search(r'"AI" was added, and an estimated ([\d.]+) % chose it, ', sentence)
        assert added
        assert float(added[1]) == pytest.approx(10, abs=5)
        other = re.search(
            r'the old answers, "(\w+)" clearly changed: [\d.]+ points \w+ in version 2 '
            r"\(95 % interval ([−+][\d.]+) to ([−+][\d.]+)\)",
            sentence,
        )
        if other:
            clear += 1
            low, high = (float(end.replace("−", "-")) for end in other.groups()[1:])
            wrong += not low - 0.05 <= 100 * moved[other[1]] <= high + 0.05
        else:
            most = re.search(r"clearly changed \(any change is at most ([\d.]+) points", sentence)
            assert most
            wrong += max(map(abs, moved.values())) > float(most[1]) / 100
    # By chance more than this are wrong with a probability of 1e-6.
    often = stats.binom.isf(1e-6, RUNS, 0.05)
    assert wrong <= often
    assert (clear <= often) == taken_of_all


def test_what_is_said_among_the_old_answers_stands_in_a_table() -> None:
    schedule = manifest().schedule
    newer = manifest(sequence=1, schedule=schedule, categories=(*manifest().categories, "new"))
    now = estimate_histogram(newer, 1, [900, 1_500, 1_500, 1_500, 1_500, 1_200])
    change = compare(now, None, even(manifest()))
    first, among = change.document().tables
    assert among.title == "Shares among devices that chose one of the old answers"
    assert [row["answers"] for row in among.rows] == [row["answers"] for row in first.rows]
    said = re.search(r'"([\w ]+)" clearly changed: ([\d.]+) points', change.sentence)
    assert said
    row = next(row for row in among.rows if row["answers"] == said[1])
    assert row["mark"] == "clear"
    assert f"{100 * abs(row['estimate']):.1f}" == said[2]


def test_two_surveys_that_do_not_clearly_differ_on_one_day_may_do_so_on_more() -> None:
    other = manifest(name="elsewhere")
    note = "those of more dates together may tell."
    for epoch, expected in ((0, False), (1, True)):
        alike = compare(even(manifest(), epoch=epoch), None, even(other, epoch=epoch))
        assert any(text.endswith(note) for text in alike.document().notes) == expected
    apart = compare(estimate_histogram(manifest(), 1, {2: 900}), None, even(other, epoch=1))
    assert not any(text.endswith(note) for text in apart.document().notes)


def test_a_change_of_a_chosen_answer_may_be_chance_if_it_is_not_clear_among_all() -> None:
    before, told = even(manifest()), set()
    for more in range(0, 3_001, 250):
        now = estimate_histogram(manifest(), 1, [4_000, 4_000 + more, 4_000, 4_000, 4_000])
        alone, every = compare(now, "poor", before), compare(now, None, before)
        (clear,) = {row.distinguishable for row in every.rows if row.label == "poor"}
        perhaps = (
            "that may be chance: among all 5 answers, the change is not clear." in alone.sentence
        )
        assert perhaps == (alone.rows[0].distinguishable and not clear)
        told.add((perhaps, alone.rows[0].distinguishable))
    assert told == {(False, False), (True, True), (False, True)}


def test_where_only_all_answers_together_changed_no_answer_is_said_to_have() -> None:
    before, told = even(manifest()), set()
    for moved in range(0, 301, 20):
        counts = [4_000 + moved, 4_000 - moved, 4_000 + moved, 4_000 - moved, 4_000]
        change = compare(estimate_histogram(manifest(), 1, counts), None, before)
        assert change.test is not None
        clear = any(row.distinguishable for row in change.rows)
        together = change.test.p_value < 0.05 and not clear
        said = "All answers together changed more than chance usually explains." in change.sentence
        assert said == together == ("no answer clearly changed" in change.sentence)
        told.add((said, clear))
    assert told == {(False, False), (True, False), (False, True)}


def test_two_versions_of_the_same_time_are_said_to_be_of_different_devices() -> None:
    apart, cut = "those that answer the older version have not been updated", "Shares below 0 %"
    now, weeks_before = (even(manifest(sequence=1), epoch=epoch) for epoch in (1, 0))
    for epoch, same_time in ((0, False), (1, True)):
        compared = compare(now, None, even(manifest(), epoch=epoch))
        assert (apart in compared.sentence) == same_time
        assert not any(note.startswith(cut) for note in compared.document().notes)
    assert apart not in compare(now, None, weeks_before).sentence
    none = estimate_histogram(manifest(), 0, {2: 900})
    assert any(note.startswith(cut) for note in compare(now, None, none).document().notes)


def test_a_version_with_the_same_answers_is_not_said_to_have_more() -> None:
    now, before = (even(manifest(sequence=version), epoch=version) for version in (1, 0))
    assert "added" not in compare(now, None, before).sentence
