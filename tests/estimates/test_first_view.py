"""Which view and rows people are shown first, and why intervals beside them hold all at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.views import TRUTHS, population
from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, View, estimate_histogram
from deniable.estimates.decoders import Decoder, Floats, Tally, decoder_of
from deniable.estimates.frequencies import first_view, projected
from deniable.messages import Manifest
from deniable.planning import best
from deniable.presenting.rows import ShownRows, chosen_rows, shown_rows
from deniable.reading import MOST_ROWS
from deniable.simulation.bulk import SimulatedReports
from tests.support.effort import some
from tests.support.kinds import WITH_LIST as SURVEYS
from tests.support.kinds import WITH_SHARES
from tests.support.processes import ROOT

K, N = 1_000, 20_000
every = pytest.mark.parametrize("survey", SURVEYS, ids=lambda one: str(one.specification)[:60])


def note(histogram: Histogram, rows: ShownRows) -> str:
    """Return what the choice by size does to the figures, if there was one."""
    cautions = {caution.code: caution.text for caution in histogram.cautions_of(rows)}
    return str(cautions.get("chosen-by-size", ""))


@pytest.fixture(scope="module")
def many() -> tuple[Histogram, Floats]:
    """Return the histogram of 20,000 reports of 1,000 answers, and the true shares."""
    mechanism = best(K, "1").mechanism()
    truth = 1 / np.arange(1, K + 1)
    truth /= truth.sum()
    counts = SimulatedReports(mechanism, truth, 23).counts(N)
    return Histogram.of_counts(mechanism, counts.tolist()), truth


def test_the_largest_of_many_have_intervals_that_hold(many: tuple[Histogram, Floats]) -> None:
    histogram, truth = many
    shown = chosen_rows(histogram)
    assert (len(shown.rows), shown.total, shown.chosen, shown.simultaneous) == (50, K, True, True)
    held = [row["low"] <= truth[int(row["category"])] <= row["high"] for row in shown.rows]
    own = [
        histogram.low[j] <= truth[j] <= histogram.high[j]
        for j in (int(row["category"]) for row in shown.rows)
    ]
    # All 1,000 hold at once but for a chance of 5 %: with this seed they do, and those of the
    # largest by themselves hold in about half of the cases.
    assert all(held)
    assert sum(own) < 40
    assert note(histogram, shown).startswith("The 50 largest of 1,000 are shown: by chance")


def test_every_surface_shows_the_chosen_rows_so(many: tuple[Histogram, Floats]) -> None:
    histogram, _ = many
    text, html, chart = str(histogram), histogram._repr_html_(), histogram.plot().svg
    largest = chosen_rows(histogram).rows[0]
    assert all("The 50 largest of" in shown for shown in (text, html, chart))
    assert f"{largest['low']:.1%} to {largest['high']:.1%}" in text
    assert "hold at once" in text
    assert "95 % interval, all at once" in html
    assert "95 % interval, all at once" in text
    assert "95% all-at-once interval" in chart
    assert "50% interval" not in chart  # which would hold less often of rows that are chosen
    assert len(text.splitlines()) < MOST_ROWS + 28


@every
def test_the_rows_of_every_kind_have_intervals_that_hold_at_once(survey: Manifest) -> None:
    counts = [40 + 3 * y for y in range(survey.mechanism.responses)]
    histogram, plain = estimate_histogram(survey, 0, counts), View.UNBIASED
    if histogram.numeric is not None:
        with pytest.raises(ValueError, match="groups of values"):
            chosen_rows(histogram, top=3)
        return
    own, wide = shown_rows(histogram), chosen_rows(histogram, plain)
    assert wide.simultaneous
    assert not note(histogram, wide)
    both = wide.total if wide.total > 2 else 1  # of two answers, one interval mirrors the other
    expected = shown_rows(histogram.at(1 - (1 - histogram.level) / both))
    if both == 1:
        yes, no = expected
        assert (yes["low"], yes["high"]) == pytest.approx((1 - no["high"], 1 - no["low"]))
    for end in ("low", "high"):
        ends = [row[end] for row in wide.rows]
        assert ends == pytest.approx([row[end] for row in expected])
    for narrow, row in zip(own, wide.rows, strict=True):
        assert row["low"] <= narrow["low"] <= narrow["high"] <= row["high"]
        assert row["outside"] <= narrow["outside"]
    top = chosen_rows(histogram, plain, top=2)
    single = [row for row in own if "raw" not in row] or own
    assert [row["category"] for row in top.rows] == [
        row["category"] for row in sorted(single, key=lambda row: -row["estimate"])[:2]
    ]
    assert top.simultaneous
    assert all("shown" in row for row in chosen_rows(histogram, View.PROJECTED, top=2).rows)
    document = histogram.document(top=5, raw=True)
    titles = {"Answers to single questions", "Shares"}
    tables = [len(table.rows) for table in document.tables if table.title in titles]
    assert sum(tables) == min(5, len(chosen_rows(histogram, top=5).rows))
    document_text(document)


def test_answers_that_are_looked_for_by_name_are_not_chosen_by_size(
    many: tuple[Histogram, Floats],
) -> None:
    found = chosen_rows(many[0], wanted="99")
    assert not found.chosen
    assert [row["category"] for row in found.rows][:2] == ["99", "199"]
    assert found.total == K
    assert not note(many[0], found)
    several = chosen_rows(many[0], wanted="9")  # in the name of 271
    assert note(many[0], several).startswith("The 50 largest of 271 found are shown: by chance")
    assert "hold for all 1,000 at once" in note(many[0], several)
    assert note(many[0], chosen_rows(many[0], top=1)).startswith(
        "Only the largest of 1,000 is shown: "
    )
    assert not note(many[0], chosen_rows(many[0], top=K))


def most_projected(decoder: Decoder) -> int:
    """Return the most reports with which projected shares come first; 0 if with none."""
    few, many = 0, 1 << 50
    while many - few > 1:
        n = (few + many) // 2
        first = first_view(decoder, decoder.tally({0: n}))
        few, many = (n, many) if first is View.PROJECTED else (few, n)
    return few


@pytest.mark.parametrize("survey", WITH_SHARES, ids=lambda one: str(one.specification)[:60])
def test_no_answer_decides_which_view_comes_first(survey: Manifest) -> None:
    decoder, rng = decoder_of(survey.mechanism), np.random.default_rng(5)
    for n in (12, 400, 10**6):
        firsts = set()
        for _ in range(5):
            counts = np.zeros(decoder.responses, dtype=np.int64)
            for part in decoder.parts:  # of each question as many, which no answer decides either
                law = rng.dirichlet(np.full(part.decoder.responses, 0.1))
                counts[part.responses] = rng.multinomial(n // len(decoder.parts), law)
            firsts.add(first_view(decoder, Tally(int(counts.sum()), counts)))
        assert len(firsts) == 1


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("k", some([16, 105]))
def test_projected_shares_come_first_where_one_estimate_or_more_is_negative(
    k: int, truth: str
) -> None:
    # Where the rule turns, one estimate is below 0 on average if all answers are alike, and more
    # if they are not. The normal law, and the designs' few points without answers, take 8 % off at
    # most. The mean of 2,000 runs has an error below 0.023 for a variance up to 1, since estimates
    # of a design err against each other: 6 of these are 0.14, missed with less than 1e-8.
    decoder, runs = decoder_of(best(k, "1").mechanism()), 2_000
    n = most_projected(decoder)
    law = decoder.response_shares(population(truth, k))
    draws = np.random.default_rng(7).multinomial(n, law / law.sum(), runs)
    negative = (draws / n @ decoder.kernels(np.eye(k)).T < 0).sum(axis=1).mean()
    assert negative > 0.92 - 0.14
    assert (negative < 1.14) == (truth == "uniform")


def test_the_more_answers_and_the_less_epsilon_the_longer_they_come_first() -> None:
    most = [
        [most_projected(decoder_of(best(k, epsilon).mechanism())) for k in (2, 10, 16, 105)]
        for epsilon in ("2", "1", "0.5")
    ]
    assert np.all(np.diff(most, axis=0)[:, 2:] > 0)
    assert np.all(np.diff(most, axis=1)[:, 1:] > 0)
    assert not np.array(most)[:, :2].any()  # of so few answers never
    sixteen, many = most[1][2:]
    text = " ".join((ROOT / "docs" / "analysts.md").read_text("utf-8").split())
    assert f"up to {sixteen:,} reports for 16 answers, {many:,} for 105" in text


@given(st.integers(2, 40), st.integers(0, 2**32), st.floats(0.001, 3))
def test_where_equally_wide_intervals_hold_projected_shares_are_in_them(
    k: int, seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(k, 0.3))
    estimate = truth + scale * rng.standard_normal(k)
    half = np.abs(estimate - truth).max()
    low, high = np.clip(estimate - half, 0, 1), np.clip(estimate + half, 0, 1)
    shares = projected(estimate)
    assert np.all((low - 1e-9 <= shares) & (shares <= high + 1e-9))


def test_rows_in_a_biased_view_are_ranked_by_it_and_have_intervals_that_hold_at_once() -> None:
    mechanism = best(105, "1").mechanism()
    decoder = decoder_of(mechanism)
    law = decoder.response_shares(population("zipf", 105))
    counts = np.random.default_rng(3).multinomial(10_000, law / law.sum())
    histogram = Histogram.of_counts(mechanism, counts.tolist())
    rows = chosen_rows(histogram)
    assert rows.view is histogram.first_view is View.PROJECTED
    assert rows.simultaneous
    shown = [row["shown"] for row in rows.rows]
    assert shown == sorted(shown, reverse=True)
    # Projection keeps the order: what it makes 0 is ranked by the estimate.
    plain = chosen_rows(histogram, View.UNBIASED)
    assert [row["category"] for row in rows.rows] == [row["category"] for row in plain.rows]
    for row in rows.rows:
        at = int(row["category"])
        ends = histogram.simultaneous.low[at], histogram.simultaneous.high[at]
        assert (row["low"], row["high"]) == ends
