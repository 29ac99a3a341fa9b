"""The summary of a numeric survey: its parts, its groups of values, and what it says of itself."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.estimates import Quantile, decoder_of, numeric
from deniable.estimates.curve import quantiles, rising_shares
from deniable.estimates.numeric import NumericSummary, bin_ends, numeric_summary
from deniable.estimates.queries import cautious_values
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.presenting.fields import numeric_map
from tests.estimates.matrices import SURVEYED, Floats, debias, linear_query, mean
from tests.support.effort import effort
from tests.support.entries import probability
from tests.support.geometric import clamped_geometric

PROPERTY = settings(max_examples=effort(200))


def values_to(most: int) -> list[Fraction]:
    return [Fraction(i) for i in range(most + 1)]


def summary(mechanism: Mechanism, counts: list[int], level: float = 0.95) -> NumericSummary:
    values = values_to(mechanism.categories - 1)
    return numeric_summary(mechanism, counts, list(map(str, values)), values, level)


PLAIN = SolutionMatrix([[int(x == y) for y in range(100)] for x in range(100)], 1)
PERCENT = clamped_geometric(101, "1")
GENERATOR = np.random.default_rng(11)
COUNTS = GENERATOR.multinomial(20_000, np.full(101, 1 / 101)).tolist()


def test_the_means_influence_is_that_of_a_lie_from_end_to_end() -> None:
    # A fake report of 100 is worth 100 and what clamping is made up for, r/(1-r). Its device, were
    # it honest, would be worth 0 at least.
    ratio = probability(PERCENT, 0, 1) / probability(PERCENT, 1, 1)
    beyond = float(ratio / (1 - ratio))
    found = summary(PERCENT, COUNTS)
    assert found.mean.influence == pytest.approx(100 + beyond, rel=1e-9)
    n, values = sum(COUNTS), values_to(100)
    poisoned = mean(PERCENT, [*COUNTS[:-1], COUNTS[-1] + 1], values).value
    honest = mean(PERCENT, COUNTS, values).value
    assert (n + 1) * poisoned - n * honest == pytest.approx(found.mean.influence, rel=1e-6)


def test_without_noise_groups_have_sharp_ends_and_their_share_of_the_counts() -> None:
    counts, decoder = list(range(100)), decoder_of(PLAIN)
    found = summary(PLAIN, counts)
    assert found.blur == 0
    assert [group.label for group in found.bins][:2] == ["0 – 4", "5 – 9"]
    assert [group.label for group in found.bins][-1] == "95 – 99"
    for group, first in zip(found.bins, range(0, 100, 5), strict=True):
        weights = [float(first <= x < first + 5) for x in range(100)]
        query = linear_query(PLAIN, counts, weights)
        assert group.share.value == pytest.approx(query.value, abs=1e-12)
        assert group.share.standard_error == pytest.approx(query.standard_error, abs=1e-12)
        # The query counts reports, and has a binomial interval; groups have the normal one.
        half = 1.959964 * cautious_values(decoder, decoder.tally(counts), np.array(weights))[1]
        ends = max(query.value - half, 0.0), min(query.value + half, 1.0)
        assert (group.share.low, group.share.high) == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize("at", [0, 4, 5, 9, 10, 50, 89, 90, 99])
def test_blur_moves_no_interval_away_from_the_share_with_sharp_ends(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    # Everybody at one value: nothing is uncertain but what the blurred ends leave open.
    monkeypatch.setattr(numeric, "blur_of", lambda *_: 4)
    found = summary(PLAIN, [10**9 * (x == at) for x in range(100)])
    assert [group.label for group in found.bins][:2] == ["0 – 9", "10 – 19"]
    for i, share in enumerate(group.share for group in found.bins):
        assert share.low <= (at // 10 == i) <= share.high
        assert share.high - share.low <= 1e-6 or abs(10 * i + 4.5 - at) < 15


@PROPERTY
@example([0, 0, 1, *[0] * 8], 0.95)
@given(
    st.lists(st.integers(0, 500), min_size=11, max_size=11).filter(any),
    st.sampled_from([1e-9, 0.95, 1 - 1e-12]),
)
def test_whatever_was_counted_is_plain_json_with_ordered_intervals(
    counts: list[int], level: float
) -> None:
    found = summary(clamped_geometric(11, "1"), counts, level)
    for share in (group.share for group in found.bins):
        assert 0 <= share.low <= share.high <= 1
        assert share.outside or share.low <= min(max(share.value, 0), 1) <= share.high
    written = json.loads(json.dumps(numeric_map(found), allow_nan=False))
    assert set(written) == {"mean", "influence", "quartiles", "blur", "bins"}
    fields = "estimate standard_error low high outside too_wide influence fakes_decide"
    assert set(written["mean"]) == {*fields.split()}
    assert set(written["bins"][0]) == {"bin", *written["mean"]}
    assert set(written["quartiles"][0]) == {"probability", "value", "low", "high", "too_wide"}
    if sum(counts) == 1:  # one report says nothing of groups
        assert {(row["low"], row["high"]) for row in written["bins"]} == {(0, 1)}
        assert {row["standard_error"] for row in written["bins"]} == {None}
    # Over more than half of what is possible: of the range 0 to 10, or of [0, 1].
    names = ("mean", "lower quartile", "median", "upper quartile")
    rows = [
        *zip(names, (written["mean"], *written["quartiles"]), [10] * 4, strict=True),
        *((row["bin"], row, 1) for row in written["bins"]),
    ]
    for _, row, possible in rows:
        assert row["too_wide"] == (row["high"] - row["low"] > possible / 2)
    assert found.hidden == tuple(name for name, row, _ in rows if row["too_wide"])


@PROPERTY
@given(st.integers(2, 5000), st.integers(1, 300))
def test_groups_cover_the_range_in_round_and_equal_sizes(k: int, least: int) -> None:
    ends = bin_ends(k, least)
    sizes = [last - before for before, last in pairwise([-1, *ends])]
    assert ends[-1] == k - 1
    assert 2 <= len(sizes) <= 20
    assert len(set(sizes[:-1])) == 1
    assert sizes[0] / 2 <= sizes[-1] < 1.5 * sizes[0]
    if sizes[0] < (k + 1) // 2:
        assert sizes[0] >= least
        assert str(sizes[0]).rstrip("0") in {"1", "2", "5"}


HUNDRED = settings(max_examples=effort(100))
TENS = [Fraction(10 * i) for i in range(7)]

SEVEN = SolutionMatrix([[int(x == y) for y in range(7)] for x in range(7)], 1)
"""No noise at all."""


def test_without_noise_intervals_are_woodruffs() -> None:
    # n = 100, F = .1, .2, .45, .55, .8, 1, 1 with errors sqrt(F(1-F)/99): at .5 and z = 1.96 both
    # .45 + .098 and .55 - .098 are on the other side, .2 + .079 and .8 - .079 are not.
    found = quantiles(SEVEN, (10, 10, 25, 10, 25, 20, 0), TENS, (0.5,))
    assert found == (Quantile(0.5, 30, 20, 40, 0.95),)
    # At z = 0.25 nor are .45 + .012 and .55 - .012.
    assert quantiles(SEVEN, (10, 10, 25, 10, 25, 20, 0), TENS, (0.5,), 0.2)[0] == Quantile(
        0.5, 30, 30, 30, 0.2
    )


@pytest.mark.parametrize("blur", [1, 2])
@pytest.mark.parametrize("at", range(7))
def test_blur_moves_no_interval_away_from_the_quantile(
    monkeypatch: pytest.MonkeyPatch, blur: int, at: int
) -> None:
    # Everybody at one value: F is 0 before it and 1 from it on, and nothing is uncertain. Averages
    # around the value are between 0 and 1; only those before and after it are not.
    module = import_module("deniable.estimates.curve")
    monkeypatch.setattr(module, "blur_of", lambda *_: blur)
    counts = [10**9 * (x == at) for x in range(7)]
    for quantile in quantiles(SEVEN, counts, TENS, (0.02, 0.3, 0.5, 0.7, 0.98)):
        assert quantile.low <= TENS[at] <= quantile.high
        assert quantile.high - quantile.low <= 2 * 2 * blur * 10
        assert abs(quantile.value - TENS[at]) <= blur * 10


ANY_COUNTS = st.lists(st.integers(0, 3000), min_size=7, max_size=7).filter(any)


@HUNDRED
@given(
    st.sampled_from([SEVEN, RandomisedResponse(7, "1"), *SURVEYED.values()]),
    ANY_COUNTS,
    st.sampled_from([1e-9, 0.5, 0.95, 1 - 1e-12]),
)
def test_whatever_was_counted_there_is_an_interval_around_the_estimate(
    mechanism: Mechanism, counts: list[int], level: float
) -> None:
    found = quantiles(mechanism, counts, TENS, (0.01, 0.25, 0.5, 0.75, 0.99), level)
    for quantile in found:
        assert quantile.low <= quantile.value <= quantile.high
        assert {quantile.low, quantile.value, quantile.high} <= set(map(float, TENS))
    estimates = [quantile.value for quantile in found]
    assert estimates == sorted(estimates)


def minimum_of_maxima(shares: Floats, weights: Floats) -> list[float]:
    """Return the isotonic regression by its max-min formula: another way than pooling."""
    at = range(len(shares))
    means = [
        [np.average(shares[a : b + 1], weights=weights[a : b + 1]) for b in at[a:]] for a in at
    ]
    return [max(min(means[a][i - a :]) for a in range(i + 1)) for i in at]


@HUNDRED
@given(
    st.lists(st.tuples(st.integers(-40, 40), st.sampled_from([1, 3, 10])), min_size=1, max_size=8)
)
def test_shares_are_made_to_rise_by_weighted_least_squares(pairs: list[tuple[int, int]]) -> None:
    shares = np.array([share / 20 for share, _ in pairs] + [1.0])
    errors = np.array([error / 10 for _, error in pairs] + [0.0])
    rising = np.clip(minimum_of_maxima(shares[:-1], errors[:-1] ** -2.0), 0, 1)
    np.testing.assert_allclose(rising_shares(shares, errors), [*rising, 1], atol=1e-9)


def test_of_many_values_only_some_are_tested_and_the_interval_covers_the_rest() -> None:
    # 8,192 categories: 256 are tested, the last of every 32.
    k = 8_192
    mechanism = RandomisedResponse(k, "12")
    counts = [3] * k
    counts[2_500] = 10**6
    median = quantiles(mechanism, counts, [Fraction(i) for i in range(k)], (0.5,))[0]
    assert (median.low, median.value, median.high) == (78 * 32, 79 * 32 - 1, 79 * 32 - 1)
    assert debias(mechanism, counts)[2_500] > 0.9


_REFUSED: list[tuple[Callable[..., object], str]] = [
    *[(partial(quantiles, values=TENS, level=x), "level must be") for x in (1.0, math.nan)],
    *[
        (partial(quantiles, values=TENS, probabilities=(0.5, x)), "probability must be")
        for x in (0.0, 1.0, math.nan)
    ],
    (partial(quantiles, values=TENS[:6]), "7 values are expected"),
]


def test_what_allows_no_estimate_is_refused() -> None:
    mechanism = clamped_geometric(7, "1")
    for call, problem in _REFUSED:
        with pytest.raises(ValueError, match=problem):
            call(mechanism, [5] * 7)
    for counts, problem in (
        ([5] * 6, "counts are expected"),
        ([0] * 7, "no reports to estimate from"),
    ):
        with pytest.raises(ValueError, match=problem):
            quantiles(mechanism, counts, TENS)
