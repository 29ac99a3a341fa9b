"""What an analyst asks of a histogram: shares, differences, ratios, pooled epochs, views, tests."""

import pickle
import re
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import comb, prod
from operator import add

import numpy as np
import pytest
from scipy import stats

from deniable.estimates import (
    Estimate,
    Histogram,
    Model,
    Point,
    Series,
    compare,
    decoder_of,
    estimate_histogram,
)
from deniable.estimates import change as tests_of_change
from deniable.estimates.curve import QUARTILES
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Manifest, Repeat
from deniable.presenting.pictures import series_panels
from tests.estimates.matrices import estimated_covariance, standard_errors
from tests.support.effort import effort, some
from tests.support.kinds import WITH_SHARES
from tests.support.surveys import manifest

# Kept responses are refused below.
FRESH = [replace(survey, repeat=Repeat()) for survey in WITH_SHARES if not survey.repeat.epochs]
every = pytest.mark.parametrize("survey", FRESH, ids=lambda survey: str(survey.specification)[:60])
ONE = [1, 0, 0]
CHECKED = RandomisedResponse(4, "1.0986122886681098")  # FORMULAS: E = 3, k = 4


def drawn(survey: Manifest, n: int, seed: int) -> list[int]:
    decoder = decoder_of(survey.mechanism)
    rng = np.random.default_rng(seed)
    f = np.concatenate([rng.dirichlet(np.ones(part.decoder.categories)) for part in decoder.parts])
    law = decoder.response_shares(f).clip(0)
    return [int(count) for count in rng.multinomial(n, law / law.sum())]


def histogram(survey: Manifest, seed: int = 1, epoch: int = 0, n: int = 20_000) -> Histogram:
    return estimate_histogram(survey, epoch, drawn(survey, n, seed))


@every
def test_a_share_of_one_category_is_the_histograms(survey: Manifest) -> None:
    found = histogram(survey)
    for at, category in enumerate(found.categories):
        share = found.share(category)
        assert share.value == pytest.approx(found.estimate[at], abs=1e-9)
        assert share.standard_error == pytest.approx(found.standard_error[at], rel=1e-6, abs=1e-9)
        assert (share.low, share.high) == (found.low[at], found.high[at])
        assert found.simultaneous.low[at] <= share.low <= share.high <= found.simultaneous.high[at]
        assert category in share.sentence
    points = tuple(Point("", epoch, 0, 1, found) for epoch in range(2))
    series = Series("", points)
    if found.values is None:
        for at, (label, shares) in enumerate(series.figures()):
            (told, _), (asked, _) = shares, series.share(label)
            assert told is not None
            assert asked is not None
            for name in ("value", "standard_error", "level", "label"):
                assert getattr(told, name) == pytest.approx(getattr(asked, name), abs=1e-9)
            place = at - len(found.labels) + len(found.categories)
            for name in ("low", "high", "outside") if place >= 0 else ():
                assert getattr(told, name) == getattr(found.simultaneous, name)[place]
    else:
        quartiles = [*QUARTILES.values()] if survey.kind.name == "levels" else []
        assert [label for label, _ in series.figures()] == ["mean", *quartiles]
    for panel, (label, shares) in zip(series_panels(series), series.figures(), strict=True):
        assert panel.label == label
        for dot, estimate in zip(panel.dots, shares, strict=True):
            assert dot is not None
            assert estimate is not None
            drawn = np.clip(estimate.value, *((0, 1) if found.values is None else (None, None)))
            assert dot.value == pytest.approx(drawn, nan_ok=True)
            assert dot.band == (estimate.low, estimate.high)
    assert len(series_panels(series, figures=[(label, shares)])) == 1


@every
def test_what_is_made_of_estimates_has_the_variance_of_the_summed_weights(survey: Manifest) -> None:
    found, other = histogram(survey), histogram(replace(survey, name="another"), 2)
    rng = np.random.default_rng(3)
    v, w = rng.normal(size=(2, len(found.categories)))
    matrices = [
        estimated_covariance(survey.mechanism, each.sample.tally) for each in (found, other)
    ]
    made = 3 * found.query(v) - found.query(w) / 2
    asked = 3 * v - w / 2
    assert made.value == pytest.approx(asked @ found.estimate, rel=1e-9)
    assert made.standard_error == pytest.approx(np.sqrt(asked @ matrices[0] @ asked), rel=1e-6)
    change = found.query(v) - other.query(w)
    variance = v @ matrices[0] @ v + w @ matrices[1] @ w
    assert change.value == pytest.approx(v @ found.estimate - w @ other.estimate, rel=1e-9)
    assert change.standard_error == pytest.approx(np.sqrt(variance), rel=1e-6)
    nothing = found.query(v) - histogram(survey).query(v)  # the same reports, read twice
    assert nothing.value == pytest.approx(0, abs=1e-9)
    assert nothing.standard_error == pytest.approx(0, abs=1e-9)


@every
def test_epochs_of_the_same_devices_average_out_noise_and_nothing_else(survey: Manifest) -> None:
    counts = drawn(survey, 20_000, 1)
    once = estimate_histogram(survey, 0, counts)
    four = estimate_histogram(survey, range(4), [4 * count for count in counts])
    noise = standard_errors(survey.mechanism, once.sample.tally, Model.FIXED) ** 2
    sampling = np.maximum(once.standard_error**2 - noise, 0)
    # Noise of a fourth, and sampling of all: of an estimate below 0, whose sampling is none, the
    # variance of devices that are drawn is less than that of fixed ones.
    below = np.minimum(once.standard_error**2 - noise, 0)
    expected = noise / 4 + sampling + below / 4
    # n - 1 in one place and n in the other.
    assert four.standard_error**2 == pytest.approx(expected, rel=1e-3)
    assert four.epochs == (0, 1, 2, 3)
    assert four.estimate == pytest.approx(once.estimate, abs=1e-12)
    wide, narrow = once.high - once.low, four.high - four.low
    assert (narrow <= wide + 1e-9).all()
    for at, category in enumerate(four.categories):
        share = four.share(category)
        assert (share.low, share.high) == pytest.approx((four.low[at], four.high[at]), abs=1e-9)
    with pytest.raises(ValueError, match="single epoch"):
        four.changed_from(once)
    # Nor does adding up by hand make more of it; a difference takes devices to be others.
    each = [estimate_histogram(survey, epoch, counts) for epoch in range(4)]
    weights = np.random.default_rng(3).normal(size=len(once.categories))
    first, second, *rest = (one.query(weights) for one in each)
    error = pytest.approx(four.query(weights).standard_error, rel=1e-3)
    assert (reduce(add, rest, first + second) / 4).standard_error == error
    assert (first - second).standard_error == pytest.approx(2**0.5 * first.standard_error)


def test_what_shares_reports_or_noise_is_not_compared() -> None:
    survey = manifest()
    found, later = histogram(survey), histogram(survey, 2)
    with pytest.raises(ValueError, match="at different times"):
        found.share("good") - later.share("good")
    both = estimate_histogram(survey, (0, 1), drawn(survey, 100, 1))
    with pytest.raises(ValueError, match="the two sides share some epochs"):
        both.share("good") - found.share("good")
    kept = manifest(repeat=Repeat("memoised", 4))
    with pytest.raises(ValueError, match="kept their responses"):
        histogram(kept).share("good") - histogram(kept, 2, epoch=1).share("good")
    with pytest.raises(ValueError, match="keep their responses"):
        estimate_histogram(kept, (0, 1), drawn(kept, 100, 1))
    assert estimate_histogram(kept, (0, 4), drawn(kept, 100, 1)).epochs == (0, 4)
    ratio = found.share("good") / found.share("poor")
    with pytest.raises(TypeError, match="ratio"):
        ratio - ratio
    with pytest.raises(ValueError, match="finite"):
        found.share("good") * float("nan")
    with pytest.raises(TypeError, match="product"):
        found.share("good") * found.share("poor")
    with pytest.raises(TypeError, match="unsupported"):
        found.share("good") - 0.5  # type: ignore[operator]
    assert found.share("good") * Fraction(1, 2) == found.share("good") / 2
    assert found.share(iter(["good", "poor"])).label == "good or poor"
    for answers in ("", [], ["good", "good"], ["awful"], {"plan": "good"}):
        with pytest.raises(ValueError, match=r"answer|question"):
            found.share(answers)
    with pytest.raises(ValueError, match="no answer of the group fair or poor is good"):
        found.share("good", given=["fair", "poor"])
    simulated = histogram(manifest(name="simulated-rating"), 2)
    for mixed in (found.share("good").__sub__, found.share("good").__truediv__):
        with pytest.raises(ValueError, match="simulated"):
            mixed(simulated.share("good"))
    with pytest.raises(ValueError, match="simulated"):
        found.changed_from(simulated)


@pytest.mark.parametrize("survey", some(some(FRESH)), ids=lambda survey: survey.specification.kind)
def test_the_same_reports_stay_the_same_at_other_levels_and_in_other_processes(
    survey: Manifest,
) -> None:
    counts = drawn(survey, 300, 1)
    for found in (
        Histogram.of_counts(survey.mechanism, counts),
        estimate_histogram(survey, 0, counts),
    ):
        category = found.categories[0]
        nothing = found.at(0.5).share(category) - found.share(category)
        assert (nothing.value, nothing.standard_error) == (0, 0)
        again, share = pickle.loads(pickle.dumps((found, found.share(category))))
        assert again.at(0.5).to_dict() == found.at(0.5).to_dict()
        assert share == found.share(category)
        assert (again.share(category) - share).standard_error == 0
        # Decoders are made anew, once others were needed in between.
        for epsilon in ("0.5", "0.6", "0.7"):
            Histogram.of_counts(RandomisedResponse(2, epsilon), [1, 1])
        Histogram.of_counts(survey.mechanism, counts).changed_from(found)
        with pytest.raises(ValueError, match="finite"):
            found.query([float("nan")] * len(found.categories))


def test_a_group_of_randomised_response_has_wilsons_interval() -> None:
    found = Histogram.of_counts(CHECKED, [60, 30, 20, 10], ["a", "b", "c", "d"])
    # FORMULAS 4: estimates, errors, and Wilson's interval of the second category.
    assert found.estimate == pytest.approx([1, 0.25, 0, -0.25], abs=1e-9)
    errors = [0.1375047746, 0.1190826279, 0.1024900077, 0.0760086240]
    assert found.standard_error == pytest.approx(errors, abs=1e-9)
    share = found.share("b")
    assert (share.low, share.high) == pytest.approx((0.0432946497, 0.5032340999), abs=1e-9)
    rest = found.share(["a", "c", "d"])
    assert (rest.low, rest.high) == pytest.approx((1 - share.high, 1 - share.low), abs=1e-9)
    assert found.view("projected") == pytest.approx([0.875, 0.125, 0, 0], abs=1e-9)
    assert found.at(0.5).share("b").low > share.low


@every
def test_views_are_frequencies_and_the_best_of_their_kind(survey: Manifest) -> None:
    found = histogram(survey, n=300)
    decoder, tally = found.sample.decoder, found.sample.tally
    for part in decoder.parts:
        own = part.tally(tally)
        near = found.view("projected")[part.categories]
        f = part.decoder.frequencies(own)
        assert near.min() >= 0
        assert near.sum() == pytest.approx(1)
        # Kuhn and Tucker: f - near is one number on the support, and no more elsewhere.
        off = f - near
        assert np.ptp(off[near > 0]) == pytest.approx(0, abs=1e-9)
        assert (off[near == 0] <= off[near > 0].max() + 1e-9).all()


def test_change_is_pearsons_test_of_the_noisy_counts() -> None:
    one, other = [120, 80, 60, 140], [150, 170, 130, 150]
    found, later = (Histogram.of_counts(CHECKED, counts) for counts in (one, other))
    test = later.changed_from(found)
    pearson = stats.chi2_contingency([one, other], correction=False)
    assert test.statistic == pytest.approx(pearson.statistic, rel=1e-9)
    assert test.p_value == pytest.approx(pearson.pvalue, rel=1e-9)
    assert test.degrees == 3


@pytest.mark.parametrize("counts", [(4, 0, 1), (1, 2, 3), (3, 2, 2)])
def test_of_sparse_samples_chance_is_counted_among_all_tables(
    counts: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tests_of_change, "_TABLES", 20_000)
    monkeypatch.setattr(tests_of_change, "_AS_LARGE", 20_000)
    mechanism, n, many = RandomisedResponse(3, "3"), sum(counts), (40, 11, 9)
    found, later = (Histogram.of_counts(mechanism, each) for each in (counts, many))
    # By definition: Pearson's X^2 of every table, and how likely it is.
    tables = [(a, b, n - a - b) for a in range(n + 1) for b in range(n - a + 1)]
    both = [own + other for own, other in zip(counts, many, strict=True)]
    ways = [prod(comb(own, one) for own, one in zip(both, each, strict=True)) for each in tables]
    apart = np.array(ways) / comb(sum(both), n)
    test, expected = found.changed_from(later), np.array(both) * n / sum(both)
    sizes = ((np.array(tables) - expected) ** 2 / expected).sum(axis=1)
    exact = apart[sizes >= sizes[tables.index(counts)] * (1 - 1e-9)].sum()
    # Six standard errors, and the table itself: beyond them by chance in 1e-8 for all three.
    error = np.sqrt(exact * (1 - exact) / test.tables)
    assert abs(test.p_value - exact) <= 6 * error + 1 / test.tables
    assert str(test).endswith(f"counted among {test.tables:,} tables")
    assert found.changed_from(later) == found.changed_from(later)


def test_a_ratio_of_two_figures_is_compared_with_1_and_a_part_of_a_whole_with_0() -> None:
    found, one = (Histogram.of_counts(RandomisedResponse(3, "3"), n) for n in ([400, 400, 40], ONE))
    same = found.share("0") / found.share("1")
    assert 0 < same.low <= 1 <= same.high
    assert not same.distinguishable
    assert "; no clear difference)" in same.sentence
    assert (found.share("2") / found.share("1")).distinguishable
    part = found.share("2", given=["1", "2"])
    assert not part.distinguishable
    assert part.sentence.startswith(
        'An estimated 0.5 % of the devices that answered "1 or 2" answered'
    )
    assert found.share("1", given=["1", "2"]).distinguishable
    # What one report tells may be anything.
    anything = one.share("0") / found.share("0")
    assert (anything.low, anything.high) == (0, float("inf"))
    assert not anything.distinguishable


@pytest.mark.long
@every
def test_where_nothing_changed_few_tests_say_so(survey: Manifest) -> None:
    decoder = decoder_of(survey.mechanism)
    f = np.concatenate(
        [np.full(part.decoder.categories, 1 / part.decoder.categories) for part in decoder.parts]
    )
    law = decoder.response_shares(f)
    rng, runs, low = np.random.default_rng(7), effort(200), []
    for one, other in rng.multinomial(3_000, law / law.sum(), size=(runs, 2)).tolist():
        found, later = (Histogram.of_counts(survey.mechanism, each) for each in (one, other))
        low.append(found.changed_from(later).p_value)
    # p-values below 5 % come in 5 % of runs: more than allowed in at most 1e-6 of such tests.
    assert sum(p < 0.05 for p in low) <= stats.binom.isf(1e-6, runs, 0.05)


def test_what_is_not_to_be_used_says_so_whatever_is_made_of_it() -> None:
    fine = estimate_histogram(manifest(), 3, [1032, 1009, 1236, 1479, 1610])
    bad = estimate_histogram(manifest(), 4, [3000, 2800, 2500, 1600, 100])
    simulated = estimate_histogram(manifest(name="simulated-rating"), 4, [100] * 5)
    good, other = bad.share("good"), fine.share("good")
    halved, all_ = good.at(0.5), bad.query([1] * 5)
    for made in (good, halved, good - other, good / other, 2 * good, all_):
        assert (
            "Do not use these figures: honest devices would not produce the counts of"
            in made.sentence
        )
    assert "Do not use these figures" not in other.sentence
    assert (
        simulated.share("good").sentence.count(
            " These figures are simulated: no real device answered."
        )
        == 1
    )
    assert "!! These figures are simulated: no real device answered." in str(simulated)
    series = Series("", tuple(Point("", at, 0, 1, each) for at, each in enumerate((fine, bad))))
    fakes = {row["epoch"]: row["fewest_fakes"] for row in series.rows()}
    assert fakes == {0: 0, 1: bad.poisoning.fewest_fakes}
    assert fakes[1] > 0
    assert (
        "Do not use these figures: honest devices would not produce the counts of"
        in series.plot().svg
    )
    assert bad.metadata()["fewest_fakes"] == str(fakes[1])


def test_of_all_answers_no_rounding_is_taken_for_the_impossible() -> None:
    for k in range(2, 40):
        found = Histogram.of_counts(RandomisedResponse(k, "1"), range(100, 100 + k))
        whole, part = found.share(found.categories), found.share(found.categories[1:])
        assert whole.value == pytest.approx(1)
        assert not whole.outside
        sums = (whole, found.query([1.0] * k))
        assert [(each.influence, each.fakes_decide) for each in sums] == [(0.0, False)] * 2
        told = "are fake, it does not change: fake reports cannot affect it."
        assert all(any(told in str(one) for one in total.cautions) for total in sums)
        other = Histogram.of_counts(RandomisedResponse(k, "1"), [2, 1, *[0] * k][:k])
        few = other.share(other.categories)
        for share in (whole, found.share("0") + part, few):
            assert (share.low, share.high) == pytest.approx((1, 1))
            assert re.match(
                r"All of the devices .* \(this holds whatever the counts\)\.", share.sentence
            )
        ratio = few / whole
        assert (ratio.low, ratio.high) == pytest.approx((1, 1))


def test_sentences_can_be_published() -> None:
    found = estimate_histogram(manifest(), 3, [1032, 1009, 1236, 1479, 1610])
    good = found.share(["good", "very good"])
    assert good.sentence == (
        "An estimated 73.3 % of the devices that reported to rating-of-marriage on 17 November "
        '2023 answered "good or very good" (95 % interval 68.5 % to 78.1 %). That is about 4,670 '
        "(4,360 to 4,980) of the 6,366 devices that answered, not of all users."
    )
    uncounted = "Users who were not asked or did not answer are not counted."
    whom = "6,366 devices answered rating-of-marriage on 17 November 2023"
    assert found.turnout == f"{whom}. {uncounted}"
    two = estimate_histogram(manifest(), [3, 4], [2042, 2029, 2466, 2969, 3210])
    assert two.turnout.startswith("12,716 answers were sent to rating-of-marriage from 17 to 18")
    assert f", up to 2 from each device. {uncounted}" in two.turnout
    assert ") of the 12,716 reports of 2 epochs, not of all" in two.share("good").sentence
    later = estimate_histogram(manifest(), 4, [1010, 1020, 1230, 1490, 1600])
    change = later.share("good") - found.share("good")
    assert not change.distinguishable
    assert change.sentence == (
        "good, rating-of-marriage on 18 November 2023 against 17 November 2023: +0.9 points (95 % "
        "interval −4.8 to +6.7; no clear difference)."
    )
    one = estimate_histogram(manifest(), 3, [0, 0, 0, 1, 0]).share("good")
    assert one.sentence == (
        "Too few reports to tell how many of the devices that reported to rating-of-marriage on "
        '17 November 2023 answered "good": the estimate may be off by more than 25 points (95 % '
        "interval 0.0 % to 100.0 %)."
    )
    both = found.share("good") + found.share("poor")
    assert both.sentence.startswith(
        "An estimated 36.4 % of the devices that reported to rating-of-marriage on"
    )
    # No share of anything: it may be above 100 %.
    for twice in (both + found.share("good"), found.share("good") + later.share("good")):
        assert "of the devices" not in twice.sentence
    assert found.query([1, 2, 3, 4, 5]).sentence.startswith("estimate: 4.00 (95 %")
    times = found.share("good") / found.share("poor")
    assert times.low < times.value < times.high
    assert "as a multiple of" in times.sentence
    assert isinstance(times, Estimate)
    grown = later.share("good") / found.share("good")
    on = "rating-of-marriage on"
    assert grown.label == f"good, {on} 18 November 2023 as a multiple of 17 November 2023"


def test_more_answers_than_can_be_compared_one_by_one_are_refused() -> None:
    told = Histogram.of_counts(RandomisedResponse(2_000, "1"), [1] * 2_000)
    with pytest.raises(ValueError, match="2,000 answers are too many to compare; name some"):
        compare(told, None, told)
