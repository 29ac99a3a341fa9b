"""What a plan says is what comes of it: simulated, for every kind."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.budget import NANO, RangeCost
from deniable.client.optional.credentials import asked_at, leaves_at
from deniable.estimates import (
    Accuracy,
    Model,
    decoder_of,
    estimate_histogram,
    reports_for_half_width,
    reports_for_mean,
    share_variance,
)
from deniable.estimates.accuracy import default_largest_share
from deniable.estimates.planning import even_variance
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Enrolment, Manifest, Repeat, Schedule
from deniable.planning import plan
from deniable.planning.accuracy import blind_devices_text
from deniable.planning.facts import budget_facts, plan_document
from deniable.planning.plans import epsilon_for, has_shares
from deniable.planning.specification import specified
from deniable.reading import Pace, date_text
from deniable.simulation import SimulatedReports
from tests.estimates.matrices import mean
from tests.support.effort import effort, some
from tests.support.kinds import EXAMPLES, SURVEYS, WITH_SHARES, calibrated, example_survey
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, START, manifest

every_kind = pytest.mark.parametrize(
    "survey", SURVEYS, ids=lambda survey: str(survey.specification)[:60]
)
RUNS = 101


class Worst(NamedTuple):
    """A category's kernel on the responses, and the population of which it varies most."""

    category: int
    kernel: NDArray[np.float64]
    truth: NDArray[np.float64]


def worst_of(survey: Manifest) -> Worst:
    """Return the category and population that the worst case is about, of the first question."""
    decoder = decoder_of(survey.mechanism)
    found: list[tuple[float, Worst]] = []
    for part in decoder.parts:
        own = range(decoder.categories)[part.categories]
        largest = default_largest_share(len(own))
        for j in own:
            kernel = decoder.kernels(np.eye(decoder.categories)[j])
            h = decoder.means(kernel**2)
            x = max((x for x in own if x != j), key=lambda x: float(h[x]))
            for t in np.linspace(0, largest, 101):
                truth = np.zeros(decoder.categories)
                for other in decoder.parts:
                    truth[other.categories] = 1 / len(truth[other.categories])
                truth[part.categories] = 0
                truth[j], truth[x] = t, 1 - t
                found.append((float(t * h[j] + (1 - t) * h[x] - t**2), Worst(j, kernel, truth)))
    return max(found, key=lambda each: each[0])[1]


@pytest.mark.parametrize(("count", "epsilon"), [(5, "1"), (49, "3"), (200, "1")])
def test_the_reports_of_a_mean_give_its_half_width_if_answers_are_spread_evenly(
    count: int, epsilon: str
) -> None:
    survey = manifest(
        categories=tuple(map(str, range(count))),
        specification=specified("mean", count, epsilon),
        epsilon=epsilon,
    )
    assert survey.values is not None
    half = (count - 1) / 50
    n = reports_for_mean(survey.mechanism, survey.values, half)
    reports = SimulatedReports(survey.mechanism, np.full(count, 1 / count), seed=20_261_130)
    widths = []
    for run in range(25):
        found = mean(survey.mechanism, reports.counts(n, run).tolist(), survey.values)
        widths.append((found.high - found.low) / 2)
    # Noise is flat to 2 %, and that of n of some thousands is known to 2 % and better.
    assert median(widths) == pytest.approx(half, rel=0.03)


@pytest.mark.parametrize(
    "survey", some(WITH_SHARES), ids=lambda survey: str(survey.specification)[:60]
)
def test_the_planned_reports_give_the_half_width_in_the_median(survey: Manifest) -> None:
    mechanism, decoder = survey.mechanism, decoder_of(survey.mechanism)
    # So narrow that the plan is some 30,000 reports.
    half = math.sqrt(share_variance(mechanism) / 30_000) * 1.96
    n = reports_for_half_width(mechanism, half)
    assert 25_000 < n < 35_000
    worst, parts = worst_of(survey), len(decoder.parts)
    reports = SimulatedReports(mechanism, worst.truth, seed=20_260_105)
    widths = []
    for run in range(RUNS):
        low, high, _ = decoder.intervals(decoder.tally(reports.counts(n, run).tolist()), 0.95)
        widths.append(float(high[worst.category] - low[worst.category]) / 2)
    # The variance that a run estimates differs from the true V by a share y with a probability of
    # at most ((k4 - 1 + 2/(m - 1))/m + (d - 1)/n)/y^2 (Chebyshev), m = n/d being the reports about
    # the question and k4 = E (g - mean)^4/V^2. Where that is 1/10, the median of 101 runs is off by
    # more with a probability of P(Bin(101, 1/10) > 50) < 1e-21 either way. On top come the search
    # in steps of 1/100, and of the order 1/m what intervals add for what was not seen.
    share = decoder.response_shares(worst.truth) * (worst.kernel != 0) * parts
    share /= share.sum()
    centred = worst.kernel - share @ worst.kernel
    variance, m = float(share @ centred**2), n / parts
    fourth = float(share @ centred**4) / variance**2
    y = math.sqrt(10 * ((fourth - 1 + 2 / (m - 1)) / m + (parts - 1) / n))
    added = (4 + 2 * float((worst.kernel**2).sum()) / variance) / m
    slack = y + added + 1e-3
    assert median(widths) <= half * (1 + slack)
    # A share of a distribution, which is not what such a survey is planned for, has a bound only.
    assert median(widths) >= half * (0.85 if survey.kind.name == "levels" else 1 - slack)


@pytest.mark.long
@pytest.mark.parametrize("mechanism", [RandomisedResponse(5, "1"), RandomisedResponse(2, "0.5")])
def test_a_planned_difference_is_found_as_often_as_was_asked(mechanism: RandomisedResponse) -> None:
    difference, runs, k = 0.05, 4000, mechanism.categories
    n = Accuracy.difference(difference, power=0.8, significance=0.05).reports(
        share_variance(mechanism)
    )
    decoder = decoder_of(mechanism)

    def found(first: float, second: float) -> float:
        """Return how often a two-sided test at 5 % finds the shares of category 0 to differ."""
        z = []
        truths = [
            np.array([share, *[(1 - share) / (k - 1)] * (k - 1)]) for share in (first, second)
        ]
        groups = [SimulatedReports(mechanism, truth, at) for at, truth in enumerate(truths)]
        for run in range(runs):
            tallies = [decoder.tally(each.counts(n, run).tolist()) for each in groups]
            f = [decoder.frequencies(tally)[0] for tally in tallies]
            errors = [decoder.standard_errors(tally, Model.SAMPLED)[0] for tally in tallies]
            z.append((f[0] - f[1]) / math.hypot(*errors))
        return float(np.mean(np.abs(z) > 1.959964))

    # Where the variance is largest: q + kappa t = 1/2, or the share is 1.
    kappa = float(mechanism.truth - mechanism.lies / Fraction(mechanism.grid))
    largest = default_largest_share(k)
    t = min(largest - difference / 2, (0.5 - mechanism.lies / mechanism.grid) / kappa)
    # 5 standard errors of a share of 4,000 runs: 6e-7. Less variance than the worst is 1 % at most.
    assert (
        abs(found(t - difference / 2, t + difference / 2) - 0.8) < 5 * math.sqrt(0.16 / runs) + 0.01
    )
    assert abs(found(t, t) - 0.05) < 5 * math.sqrt(0.0475 / runs)


def _pace(survey: Manifest, closed: str) -> Pace:
    """Return the pace of 1,500 reports in each closed epoch; a week of silence later, or ended."""
    count = int(closed.rstrip("se"))
    now = START + (count + 1 + 7 * ("s" in closed)) * DAY
    ended_at = now if "e" in closed else None
    return Pace.of(survey, dict.fromkeys(range(count), 1500), now, ended_at)


def _published(kept: int | None = None, epochs: int = 40) -> Manifest:
    repeat = Repeat() if kept is None else Repeat("memoised", kept)
    schedule = Schedule(START, DAY, epochs, DAY)
    return manifest(categories=tuple("abcd"), epsilon="2", schedule=schedule, repeat=repeat)


@pytest.mark.parametrize("kept", [None, 5])
def test_a_figure_is_so_exact_on_the_date_that_is_said_and_not_before(kept: int | None) -> None:
    survey = _published(kept)
    made = plan(survey, Accuracy.half_width(0.029), 0.5, _pace(survey, "3"))
    at = made.reached_at()
    assert at is not None
    mechanism, half = survey.mechanism, np.array([1, 1 / 3, 1 / 3, 1 / 3]) / 2
    counts = 1500 * decoder_of(mechanism).response_shares(half)

    def reach(end: int) -> float:
        epochs = range(0, end, kept or 1)
        histogram = estimate_histogram(survey, epochs, [round(len(epochs) * n) for n in counts])
        return 1.959964 * float(histogram.standard_error[0])

    end = (at - DAY - START) // DAY
    assert reach(end) <= 0.02901
    assert reach(end - 1) > 0.0289
    day = date_text(START + (end + 1) * DAY)
    reached = f". ± 2.9 percentage points will be reached on about {day}."
    assert reached in made.sentence
    finer = plan(survey, Accuracy.half_width(0.02), 0.5, _pace(survey, "3")).sentence
    (so_far,) = re.findall(r"So far, [^.]*± ([\d.]+) percentage points\. ", finer)
    assert float(so_far) == pytest.approx(100 * reach(3), rel=5e-3)
    assert (" To see this average, choose all days together" in made.sentence) == (kept is None)


_WORDS = {
    "PACE": "About 1,500 reports arrive a day. So far,",
    "SUM": "all closed days together reach ± 3.12 percentage points.",
    "FIRST": "1,500 reports reach ± 4.04 percentage points.",
    "NOT": "will not be reached",
    "#": "percentage points will be reached",
    "BEST": "the best is",
    "POINTS": "percentage points.",
    "END": "by the end, on 25 December 2023: the best is",
    "ALL": "To see this average, choose all days together and one answer in Figures.",
    "LESS": "Reports that the same devices send in several days count for less.",
    "RARE": "Small shares are known sooner.",
    "ALONE": "One day alone (1,500 reports) reaches ± 4.04 percentage points",
}
_OUTLOOKS = """
.05 40 3 This has already been reached: SUM ALL ALONE.
.03 40 3 LESS PACE SUM ± 3 # on about 19 November 2023. ALL RARE ALONE; for ± 3 percentage points,
    a day needs 2,717 reports.
.035 40 1 PACE FIRST ± 3.5 # on about 17 November 2023. ALL RARE ALONE; for ± 3.5 percentage
    points, a day needs 1,997 reports.
.02 40 3 PACE SUM ± 2 percentage points NOT END ± 2.58 POINTS ALL RARE ALONE; for ± 2
    percentage points, a day needs 6,113 reports.
.01 3 3 The survey is over, with 4,500 reports. ± 1 percentage point NOT: BEST ± 3.12 POINTS ALL
    ALONE; for ± 1 percentage point, a day needs 24,452 reports.
.01 1 1 The survey is over, with 1,500 reports. ± 1 percentage point NOT: BEST ± 4.04 POINTS
.01 3 0e The survey is over, and no epoch has figures.
.03 40 3e LESS The survey is over, with 4,500 reports. ± 3 percentage points NOT: BEST ± 3.12 POINTS
    ALL ALONE; for ± 3 percentage points, a day needs 2,717 reports.
.02 40 3s There have been no new figures since 17 November 2023, so no date can be
    predicted. ± 2 percentage points NOT:
    BEST ± 3.12 POINTS ALL
.01 3 0 A day has figures once it has 1 report. From 16 November 2023 at the earliest, when the day
    is final, this line shows when the goal is reached.
"""


@pytest.mark.parametrize("outlook", _OUTLOOKS.replace("\n   ", "").strip().split("\n"))
def test_each_outlook_has_its_sentences_of_at_most_30_words(outlook: str) -> None:
    size, epochs, closed, told = outlook.split(" ", 3)
    for short, words in _WORDS.items():
        told = told.replace(short, words)
    survey = _published(epochs=int(epochs))
    made, error = (
        plan(survey, accuracy, 0.5, _pace(survey, closed))
        for accuracy in (Accuracy.half_width(float(size)), Accuracy(float(size) / 2, 1.0))
    )
    assert made.sentence.endswith(f" {told}")
    assert all(len(each.split()) <= 30 for each in error.sentence.split(". ")[1:])


@pytest.mark.parametrize(("answers", "sooner"), [("abcd", True), ("abcdefghijklmnop", False)])
def test_small_shares_are_said_to_be_known_sooner_where_they_are(
    answers: str, sooner: bool
) -> None:
    epsilon = "2" if sooner else "1"
    survey = manifest(
        categories=tuple(answers),
        epsilon=epsilon,
        specification=specified("auto", len(answers), epsilon),
        schedule=Schedule(START, DAY, 40, DAY),
    )
    largest = default_largest_share(len(answers))
    ratio = share_variance(survey.mechanism, 0.01) / share_variance(survey.mechanism, largest)
    assert (ratio < 0.8) == sooner
    made = plan(survey, Accuracy.half_width(0.02), pace=_pace(survey, "3"))
    assert ("Small shares are known sooner." in made.sentence) == sooner


def test_what_is_no_power_and_cannot_be_reached_is_refused() -> None:
    for power, significance in (
        (0.05, 0.05),
        (1, 0.05),
        (math.nan, 0.05),
        (0.8, 0),
        (0.8, math.nan),
    ):
        with pytest.raises(ValueError, match="must be in"):
            Accuracy.difference(0.1, power, significance)
    for size in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="must be above 0"):
            Accuracy(size, 1.0)


@pytest.mark.parametrize(("kind", "at"), some(some([(k, n) for k in EXAMPLES for n in (0, -1)])))
def test_reports_allow_the_least_epsilon_at_which_they_do(kind: str, at: int) -> None:
    settings, categories = EXAMPLES[kind][at]
    survey = example_survey(kind, settings, categories)
    accuracy, reports = Accuracy.half_width(0.1), 1_000

    def draft(epsilon: str) -> Manifest:
        specification = calibrated(kind, len(categories), epsilon, settings)
        return replace(survey, epsilon=epsilon, specification=specification)

    found = epsilon_for(survey, draft, accuracy, reports)
    if found is None:
        # A matrix has its own probabilities; a mean of answers that differ by too much never does.
        spread = kind == "mean" and accuracy.reports(even_variance(survey.values or ())) > reports
        assert kind == "matrix" or spread
        return
    assert accuracy.reports(plan(draft(found), accuracy).ways[0].variance) <= reports
    if kind == "matrix":
        return
    less = draft(f"{float(found) * 0.985:.6f}".rstrip("0"))
    assert accuracy.reports(plan(less, accuracy).ways[0].variance) > reports
    assert epsilon_for(survey, draft, Accuracy.half_width(1e-6), reports) is None


@every_kind
def test_a_plan_tells_what_other_ways_take(survey: Manifest) -> None:
    made = plan(survey, Accuracy(0.01, 1.0))
    own, *_, unprotected = made.ways
    assert len({way.title for way in made.ways}) == len(made.ways)
    assert all(unprotected.variance <= way.variance for way in made.ways)
    assert unprotected.variance == 0.25 or survey.kind.name != "levels"  # of any share
    assert made.reports(own) == math.ceil(Fraction(own.variance) / Fraction(0.01) ** 2)
    needed = made.reports(own)
    assert needed is not None
    assert made.reached(needed) == pytest.approx(0.01, rel=1e-3)
    compared = has_shares(survey) and not survey.kind.texts  # which no other kind asks for
    assert compared == any("the best" in way.mechanism for way in made.ways)


@every_kind
def test_a_lifetime_does_for_as_many_reports_as_are_told(survey: Manifest) -> None:
    cost, kept = RangeCost.of(survey.mechanism), survey.repeat.epochs or 1
    told = {fact.key: fact.value for fact in budget_facts(survey)}
    affordable = told["affordable_reports"]
    assert isinstance(affordable, int)
    assert cost.most(affordable, kept) <= 20 * NANO < cost.most(affordable + 1, kept)
    assert told["charged"] == cost.most(survey.schedule.epochs, kept) / NANO


def test_so_many_devices_give_a_blind_survey_its_reports() -> None:
    keys = Enrolment("blind", issuer="issuer.example", keys=(RSA_KEYS[0].modulus,))
    survey = manifest(enrolment=keys, schedule=Schedule(START, 7 * DAY, 1, DAY))
    half, draws, devices = START + 3.5 * DAY, np.random.default_rng(7), effort(4000)
    told = re.search(
        r"about (\d+) % .*: 1,000 reports need ([\d,]+) devices\. .* need ([\d,]+) "
        r"devices; with 14 runs, ([\d,]+)$",
        blind_devices_text(survey, 1000),
    )
    assert told
    for runs, needed in zip((4, 7, 14), told.groups()[1:], strict=True):
        left = 0
        for _ in range(devices):
            moments = START + 7 * DAY * draws.random(draws.poisson(runs))
            secret = draws.bytes(32)
            asks = (moments >= asked_at(secret, survey, 0)) & (moments < half)
            left += any(asks) and any(moments >= leaves_at(secret, survey, 0, START))
        # Five standard errors; and half a point, for the first hour that no token falls due in.
        share = 1000 / int(needed.replace(",", ""))
        assert abs(left / devices - share) < 5 * math.sqrt(share * (1 - share) / devices) + 0.005
        if runs == 4:
            assert abs(100 * (1 - share) - int(told[1])) <= 0.6
    facts = plan_document(plan(survey, Accuracy.half_width(0.1)), lambda _: survey, None).facts
    assert [fact.label for fact in facts].count("lost") == 1


def test_all_answers_at_once_take_as_many_reports_as_is_said() -> None:
    survey = manifest(epsilon="1", specification=specified("auto", 5, "1"))
    told = plan(survey, Accuracy.half_width(0.05)).sentence
    alone, at_once = (
        int(number.replace(",", "")) for number in re.findall(r"it takes ([\d,]+)", told)
    )
    assert "For all 5 at once, as in Figures, it takes " in told
    worst = worst_of(survey)
    law = decoder_of(survey.mechanism).response_shares(worst.truth)
    wide = estimate_histogram(survey, 0, (at_once * law).round().astype(int).tolist()).simultaneous
    width = (wide.high - wide.low)[worst.category]
    assert width == pytest.approx(0.1, rel=0.01)
    assert alone == reports_for_half_width(survey.mechanism, 0.05)
