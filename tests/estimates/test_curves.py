"""The cumulative curve: by hand without noise, its band by how often it holds, and its surfaces."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from deniable.audit import SolutionMatrix
from deniable.estimates import Histogram, cumulative_variance, decoder_of, estimate_histogram
from deniable.estimates.curve import (
    averaged_shares,
    blur_of,
    cumulative_curve,
    quantile_bounds,
    quantiles,
)
from deniable.estimates.decoders.dense import solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.mechanisms.answering import Answering
from deniable.messages import Specification
from deniable.planning.specification import _answered, best_tree
from deniable.simulation.bulk import SimulatedReports
from tests.estimates.matrices import SURVEYED, Floats, falling, linear_query
from tests.estimates.test_decoders import COMPLETE, OTHERS
from tests.mechanisms.test_levels import levels
from tests.support.effort import THOROUGH, effort, some
from tests.support.geometric import clamped_geometric
from tests.support.surveys import manifest

NAMES = tuple("abcdefg")
PLAIN = SolutionMatrix([[int(x == y) for y in range(7)] for x in range(7)], 1)
"""No noise at all."""


def of_levels(k: int, epsilon: str) -> Mechanism:
    tree = best_tree(k, float(epsilon))
    return levels(k, dict(zip(tree["widths"], tree["mechanisms"], strict=True)), epsilon)


LEVELS = of_levels(24, "1")


def test_without_noise_it_is_that_of_the_counts_and_its_band_is_the_binomial_one() -> None:
    counts = [100, 0, 300, 100, 400, 100, 0]
    curve = cumulative_curve(PLAIN, counts, NAMES)
    share = np.cumsum(counts) / 1000
    assert curve.blur == 0
    assert curve.categories == NAMES
    assert curve.estimate == pytest.approx(share)
    assert curve.rising == pytest.approx(share)
    # Wider than one interval, and no wider than Bonferroni's six, of which one is a twin.
    assert stats.norm.isf(0.025) < curve.deviations <= stats.norm.isf(0.025 / 6)
    error = np.sqrt(share * (1 - share) / 999)
    assert curve.low[:5] == pytest.approx((share - curve.deviations * error)[:5])
    assert curve.high[:5] == pytest.approx((share + curve.deviations * error)[:5])
    assert [*curve.low[-2:], *curve.high[-2:]] == [1, 1, 1, 1]


@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("mechanism", [LEVELS, clamped_geometric(24, "1")], ids=repr)
def test_few_reports_say_little_but_are_no_error(mechanism: Mechanism, n: int) -> None:
    counts = np.random.default_rng(n).multinomial(n, decoder_of(mechanism).even_shares)
    curve = cumulative_curve(mechanism, counts.tolist(), tuple(map(str, range(24))))
    assert (np.diff(curve.low) >= 0).all()
    assert (np.diff(curve.high) >= 0).all()
    assert (np.diff(curve.rising) >= 0).all()
    assert (curve.low >= 0).all()
    assert (curve.low <= curve.high).all()
    assert (curve.high <= 1).all()
    assert curve.width > 0.4
    assert curve.rising[-1] == curve.low[-1] == 1


SHAPES = {
    "even": np.full(24, 1 / 24),
    "falling": 0.8 ** np.arange(24) / (0.8 ** np.arange(24)).sum(),
    "one": np.eye(24)[9],
}


REPORTED = [(LEVELS, 1000), (LEVELS, 20_000), (falling(24, Fraction(7, 8)), 20_000)]


# Turned, so that of a sample each shape and each mechanism is one.
@pytest.mark.parametrize(
    ("shape", "turn"),
    some([(shape, (row + turn) % 3) for row, shape in enumerate(SHAPES) for turn in range(3)]),
)
def test_the_band_holds_for_all_of_the_curve_as_often_as_it_says(shape: str, turn: int) -> None:
    mechanism, n = REPORTED[turn]
    truth, runs, held = SHAPES[shape], 100 if THOROUGH else 50, 0
    curve_of_truth = np.cumsum(truth)
    reports = SimulatedReports(mechanism, truth, 5)
    for run in range(runs):
        counts = reports.counts(n, run).tolist()
        curve = cumulative_curve(mechanism, counts, tuple(map(str, range(24))), 0.9)
        true = curve_of_truth[list(map(int, curve.categories))]
        held += bool(((curve.low <= true + 1e-9) & (true <= curve.high + 1e-9)).all())
    # Fewer of so many at a coverage of 90 % have a chance of 1e-6; the seed is fixed.
    assert held >= stats.binom.ppf(1e-6, runs, 0.9)


def test_an_ordered_histogram_has_quantiles_ranges_and_a_curve() -> None:
    answered = best_tree(24, 2)
    answers = tuple(map(str, range(0, 120, 5)))
    specification = Specification("levels", answered)
    survey = manifest(categories=answers, specification=specification, epsilon="2")
    assert survey.ordered
    assert survey.values is not None
    counts = SimulatedReports(survey.mechanism, SHAPES["falling"], 2).counts(30_000).tolist()
    histogram = estimate_histogram(survey, 0, counts)
    median = histogram.quantile(0.5)
    assert median == quantiles(survey.mechanism, counts, survey.values, (0.5,))[0]
    assert isinstance(median.low, float)
    assert median.sentence.startswith(
        f"The median answer of the devices that reported to {survey.name} on 14 November "
        "2023 is "
        f"{median.value:g} (95 % interval {median.low:g} to {median.high:g})."
    )
    most = histogram.quantile(0.9)
    interval = f"{most.value:g} or less (95 % interval {most.low:g} to {most.high:g})."
    assert f"About 90 % of the devices that reported to {survey.name}" in most.sentence
    assert interval in most.sentence
    assert median.low <= 15 <= median.high  # 1 - 0.8^4 = .59, 1 - 0.8^3 = .488
    weights = [float(10 <= 5 * x <= 40) for x in range(24)]
    between = histogram.between("10", 40)
    expected = linear_query(survey.mechanism, counts, weights)
    assert (between.value, between.standard_error) == (expected.value, expected.standard_error)
    assert "10 – 40" in between.label
    assert histogram.between(Fraction(5), "5") == histogram.share("5")
    for wrong in ((40, 10), ("x", "10"), (10, 41)):
        with pytest.raises(ValueError, match=r"comes after|is not an answer"):
            histogram.between(*wrong)
    curve, again = histogram.cumulative(), histogram.at(0.5).cumulative()
    assert (again.high - again.low).mean() < curve.width < 0.2
    written = json.loads(json.dumps(histogram.to_dict()))["distribution"]
    assert [row["category"] for row in written["curve"]] == list(survey.categories)
    assert [row["low"] for row in written["curve"]] == curve.low.tolist()
    assert [one["value"] for one in written["quartiles"]] == [
        f"{one.value:g}"
        for one in histogram.numeric.quartiles  # type: ignore[union-attr]
    ]
    text = str(histogram)
    assert "Cumulative shares" in text
    assert "95 % interval, all at once" in text
    drawn = histogram.document().chart
    assert drawn is not None
    assert drawn(720).count("<svg") == 2
    assert "cumulative share" in drawn(720)


@pytest.mark.parametrize("seed", range(2))
def test_a_page_has_one_figure_of_the_share_up_to_an_answer(seed: int) -> None:
    answered = best_tree(49, 2)
    survey = manifest(
        categories=tuple(map(str, range(49))),
        specification=Specification("levels", answered),
        epsilon="2",
    )
    counts = SimulatedReports(survey.mechanism, np.full(49, 1 / 49), seed).counts(2_000)
    histogram = estimate_histogram(survey, 0, counts.tolist())
    document, curve = histogram.document(), histogram.cumulative()
    tables = {table.title: table.rows for table in document.tables}
    groups = [*tables["Shares of groups of values"]]
    total, fell, moved = 0.0, False, False
    for row, group in zip(tables["Cumulative shares"], groups, strict=False):
        last = group["category"].rpartition(" ")[2]
        assert row["name"] == f"up to {last}"
        fell |= group["estimate"] < 0
        total += group["estimate"]
        assert row["estimate"] == pytest.approx(total)
        assert histogram.between("0", last).value == pytest.approx(total)
        moved |= abs(curve.rising[curve.categories.index(last)] - total) > 0.001
    assert moved, "the nearest curve that never falls is another"
    assert any("by chance some of them are smaller" in note for note in document.notes) is fell


# Hardest is what half of the time seems to be 0 and not 1, beside what seems to be 3 and not 2.
_EDGES = ([0.4999, 0.3, 0.1, 0.05, 0.0501], [0.1, 0.2, 0.2001, 0.2999, 0.2])


@pytest.mark.parametrize(
    ("truth", "other", "epsilon", "probability"),
    [
        (*_EDGES, "2", 0.5),
        (*_EDGES[::-1], "8", 0.5),
        (np.exp(-np.arange(49) / 20), np.ones(49), "4", 0.25),
        (np.exp(-np.arange(200) / 80), np.ones(200), "8", 0.9),
    ],
)
def test_a_quantile_has_moved_as_far_as_its_interval_says(
    truth: ArrayLike, other: ArrayLike, epsilon: str, probability: float
) -> None:
    shares = [np.asarray(each) / np.sum(each) for each in (truth, other)]
    mechanism = of_levels(len(shares[0]), epsilon)
    places = [int(np.argmax(np.cumsum(each) >= probability)) for each in shares]
    reports = [SimulatedReports(mechanism, each, seed) for seed, each in enumerate(shares)]
    runs, missed = 200 if THOROUGH else 60, 0
    for run in range(runs):
        now, before = (
            quantile_bounds(mechanism, each.counts(1500, run).tolist()) for each in reports
        )
        low, high = now.difference(before, probability, 0.95)
        missed += not low <= places[0] - places[1] <= high
        back = before.difference(now, probability, 0.95)
        assert back == (-high, -low)
    # More of so many have a chance of 1e-6 at a coverage of 95 %; seeds are fixed.
    assert missed <= stats.binom.isf(1e-6, runs, 0.05)


def test_names_have_quantiles_where_they_have_an_order() -> None:
    counts = [40, 30, 60, 20, 50]
    mechanism = RandomisedResponse(5, "3")
    plain = Histogram.of_counts(mechanism, counts, list("abcde"))
    for asked in (plain.cumulative, plain.distribution, lambda: plain.quantile(0.5)):
        with pytest.raises(ValueError, match="no stated order"):
            asked()
    ordered = Histogram.of_counts(mechanism, counts, list("abcde"), ordered=True)
    assert ordered.quantile(0.5).value == "c"
    assert ordered.at(0.5).ordered
    assert ordered.between("b", "d") == ordered.share(["b", "c", "d"])
    assert plain.to_dict()["distribution"] is None
    assert "Quartiles" not in str(plain)
    assert "lower quartile" in str(ordered)


@pytest.mark.parametrize(("n", "withheld"), [(999, True), (1000, False)])
def test_of_fewer_than_a_thousand_reports_no_curve_is_shown(n: int, withheld: bool) -> None:
    # The band is narrow at epsilon 6, and holds too seldom: of 100 reports in 78 %.
    mechanism = RandomisedResponse(7, "6")
    survey = manifest(categories=tuple(map(str, range(7))), epsilon="6", name="few")
    kept = Specification("levels", {"widths": (1,), "mechanisms": (("randomised-response",),)})
    ordered = replace(survey, specification=kept)
    counts = SimulatedReports(mechanism, np.full(7, 1 / 7), 1).counts(n, 0)
    histogram = estimate_histogram(ordered, 0, counts.tolist())
    assert histogram.distribution().withheld == withheld
    assert ("Cumulative shares are not shown" in str(histogram)) == withheld
    assert json.loads(json.dumps(histogram.to_dict()))["distribution"]["withheld"] == withheld


PROPERTY = settings(max_examples=effort(150))


def share_up_to(frequencies: Floats, v: int) -> float:
    """Return F_v, of any v."""
    return 1.0 if v >= len(frequencies) - 1 else float(frequencies[: max(v + 1, 0)].sum())


@PROPERTY
@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=12).filter(any),
    st.integers(0, 8),
    st.data(),
)
def test_it_is_the_triangular_average_and_bounds_what_it_averages(
    answers: list[int], blur: int, data: st.DataObject
) -> None:
    f, k = np.array(answers) / sum(answers), len(answers)
    v = data.draw(st.integers(0, k - 2))
    for shift in (-blur, 0, blur):
        found = float((averaged_shares(k, [v], blur, shift) @ f)[0])
        average = sum(
            (blur + 1 - abs(u)) * share_up_to(f, v + shift + u) for u in range(-blur, blur + 1)
        )
        assert found == pytest.approx(average / (blur + 1) ** 2, abs=1e-12)
    before, after = (float((averaged_shares(k, [v], blur, s) @ f)[0]) for s in (-blur, blur))
    assert before - 1e-12 <= share_up_to(f, v) <= after + 1e-12


def test_more_reports_never_take_more_blur() -> None:
    mechanism = clamped_geometric(101, "1")
    blurs = [blur_of(mechanism, 10**power) for power in range(13)]
    assert blurs == sorted(blurs, reverse=True)
    assert blurs[0] > 20
    assert blurs[-1] == 0


BLURRED = [clamped_geometric(31, "2"), falling(31, Fraction(15, 16)), RandomisedResponse(31, "1")]


@pytest.mark.parametrize("mechanism", BLURRED, ids=["numeric", "matrix", "randomised response"])
def test_no_other_blur_has_its_bounds_much_nearer(mechanism: Mechanism) -> None:
    # Two standard errors in a uniform population, and the step of F over so many values.
    uniform = np.full(31, 1 / 31)

    def distance(blur: int) -> float:
        weights = averaged_shares(31, [15], blur, 0)[0]
        g = decoder_of(mechanism).kernels(weights)
        variance = float(uniform @ solution_matrix(mechanism) @ g**2 - (uniform @ weights) ** 2)
        return 2 * math.sqrt(variance / n) + blur / 31

    for n in (30, 1000, 10**5, 10**8):
        assert distance(blur_of(mechanism, n)) <= 1.1 * min(map(distance, range(16)))
    for other in SURVEYED.values():  # a category is left to either side
        assert all(0 <= blur_of(other, n) < 7 / 2 for n in (1, 100, 10**9))


def cumulative(k: int) -> np.ndarray:
    return np.tril(np.ones((k, k)))


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_no_other_tree_is_much_better(epsilon: str) -> None:
    def variance(widths: tuple[int, ...]) -> float:
        answered = {
            width: _answered(-(-24 // width), float(epsilon), 0, 1 << 20, 1.02) for width in widths
        }
        tree: dict[int, Answering] = {
            width: (one.kind, *one.parameters.values()) for width, one in answered.items()
        }
        decoder = decoder_of(levels(24, tree, epsilon))
        shares, g = decoder.even_shares, decoder.kernels(cumulative(24)[:-1])
        return float((g**2 @ shares - (g @ shares) ** 2).mean())

    def trees(top: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        yield top
        for width in range(2 * top[0], 24, top[0]):
            yield from trees((width, *top))

    best = min(map(variance, trees((1,))))
    assert variance(best_tree(24, float(epsilon))["widths"]) <= 1.04 * best


@pytest.mark.parametrize(("categories", "tree"), some(COMPLETE + OTHERS[::2]))
def test_no_population_varies_more_than_is_planned_for(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism, generator = levels(categories, tree), np.random.default_rng(3)
    matrix = solution_matrix(mechanism)
    g = decoder_of(mechanism).kernels(cumulative(categories)[:-1])
    # Two answers are the worst population, which that is the variance of.
    pairs = [
        np.eye(categories)[[one, other]].T @ [t, 1 - t]
        for one, other in combinations(range(categories), 2)
        for t in np.linspace(0, 1, 101)
    ]
    some_of_all = generator.dirichlet(np.full(categories, 0.1), 200)
    others, worst = (
        float((laws @ (g**2).T - (laws @ g.T) ** 2).max())
        for laws in (some_of_all @ matrix, np.array(pairs) @ matrix)
    )
    assert others <= cumulative_variance(mechanism) * (1 + 1e-9)
    assert worst == pytest.approx(cumulative_variance(mechanism), rel=1e-3)
