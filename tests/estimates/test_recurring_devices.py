"""Samples of one name have devices in common, whichever of its surveys they answered."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats

from deniable.estimates import Estimate, Histogram, estimate_histogram
from deniable.estimates.series import Point, Series
from deniable.mechanisms import TwoRound
from deniable.mechanisms.answering import answer_labels
from deniable.mechanisms.subset import Subset
from deniable.messages import Manifest, Repeat, Specification
from tests.accounting.curves import kept_law
from tests.estimates.matrices import counts_of
from tests.mechanisms.laws import entries
from tests.support.effort import some
from tests.support.kinds import example_survey
from tests.support.surveys import manifest

RUNS, DEVICES = 400, 300
LEAST = stats.binom.isf(1 - 1e-6, RUNS, 0.95)
"""Of intervals of 95 %, fewer hold in at most 1e-6 of the tests below."""
TRUTH = np.array([0.1, 0.1, 0.2, 0.2, 0.4])
# Epsilon 4: what the devices' being a sample adds is most of the variance.
FIRST = manifest(epsilon="4")
SUCCESSOR = manifest(epsilon="4", sequence=1)
LONGER = manifest(epsilon="4", sequence=2, categories=(*FIRST.categories, "not married"))

FIGURES: dict[str, tuple[Callable[[Estimate, Estimate], Estimate], float]] = {
    "mean of both": (lambda one, other: (one + other) / 2, 0.6),
    "difference": (lambda one, other: one - other, 0.0),
}


def counted(survey: Manifest, answers: np.ndarray, rng: Generator, *epochs: int) -> Histogram:
    """Return the histogram of devices that report their answers in epoch 0, or in each of these."""
    given = np.tile(answers, len(epochs) or 1)
    counts = counts_of(survey.mechanism, given, rng)
    return estimate_histogram(survey, epochs or 0, counts.tolist())


def holding(truth: float, figure: Callable[[Generator], Estimate]) -> int:
    """Return of how many of the runs the figure's interval holds the truth."""
    rng = np.random.default_rng(4)
    made = (figure(rng) for _ in range(RUNS))
    return sum(one.low <= truth <= one.high for one in made)


@pytest.mark.parametrize(
    ("name", "successor"), some(some([*product(FIGURES, [SUCCESSOR, LONGER])]))
)
def test_intervals_hold_of_a_survey_and_its_successor(name: str, successor: Manifest) -> None:
    figure, truth = FIGURES[name]

    def drawn(rng: Generator) -> Estimate:
        answers = rng.choice(5, DEVICES, p=TRUTH)  # the devices answer both alike
        both = (counted(survey, answers, rng) for survey in (FIRST, successor))
        return figure(*(one.share(["good", "very good"]) for one in both))

    # Those of both as if their devices were others held in 82 to 92 %.
    assert holding(truth, drawn) >= LEAST


@pytest.mark.parametrize("leaving", some([3, 6, 1]))
def test_intervals_hold_of_a_trend_whether_devices_stay_or_others_take_their_place(
    leaving: int,
) -> None:
    def drawn(rng: Generator) -> Estimate:
        # After so many epochs others come: 3 of 6 is the worst, 6 that all stay.
        answers = [rng.choice(5, DEVICES, p=TRUTH) for _ in range(6)]
        told = [counted(FIRST, answers[at // leaving], rng, at) for at in range(6)]
        points = [Point(one.survey_id, at, at, at + 1, one) for at, one in enumerate(told)]
        return Series(FIRST.name, tuple(points)).trend(["good", "very good"]).slope

    assert holding(0, drawn) >= LEAST  # of 3, as if all were others: 84 %


@pytest.mark.long
@pytest.mark.parametrize("successor", some([LONGER, SUCCESSOR]))
def test_intervals_hold_of_a_ratio_of_what_both_tell(successor: Manifest) -> None:
    def drawn(rng: Generator) -> Estimate:
        answers = rng.choice(5, DEVICES, p=TRUTH)
        both = [counted(survey, answers, rng) for survey in (FIRST, successor)]
        good, best = (both[0].share(name) + both[1].share(name) for name in ("good", "very good"))
        return good / best

    assert holding(0.5, drawn) >= LEAST  # 84 to 87 % did


QUESTIONS = (("plan", "free", "paid"), ("theme", "light", "dark"))
ONE_OF_TWO = replace(
    example_survey("one-question", {"dimensions": QUESTIONS}, answer_labels(QUESTIONS)), epsilon="4"
)


@pytest.mark.long
@pytest.mark.parametrize("epochs", some([[[0, 1, 2], [3, 4, 5]], [[0, 1, 2, 3, 4]]]))
def test_intervals_hold_where_devices_answer_one_question_now_and_another_later(
    epochs: list[list[int]],
) -> None:
    def drawn(rng: Generator) -> Estimate:
        paid_and_dark = 3 * (rng.random(DEVICES) < 0.5)  # combinations have the numbers 0 to 3
        told = [counted(ONE_OF_TWO, paid_and_dark, rng, *pooled) for pooled in epochs]
        return told[0].share({"plan": "paid"}) + told[-1].share({"theme": "dark"})

    assert holding(1, drawn) >= LEAST  # 82 to 88 % did


def test_reports_of_one_range_are_not_independent() -> None:
    # Why epochs of a range are not pooled. Two reports of a device whose answer stays 0, and the
    # covariance of "the response is 0" in both: 0 if fresh, its variance if memoised, so that two
    # epochs have the error of one; and with two rounds kappa_2^2 of the kept response's variance.
    mechanism = TwoRound(Subset(3, 1), "1", "2")
    kept, fresh = entries(mechanism.kept), entries(mechanism.fresh)
    identity = [[Fraction(x == y) for y in range(3)] for x in range(3)]

    def covariance_of_two(law: list[Fraction]) -> Fraction:
        both, first = law[0], sum(law[:3], Fraction(0))
        assert sum(law[::3], Fraction(0)) == first
        return both - first**2

    d = mechanism.kept.truth
    assert covariance_of_two(kept_law(kept, identity, (0, 0))) == d * (1 - d)
    assert covariance_of_two(kept_law(kept, fresh, (0, 0))) == (
        (mechanism.fresh.hit - mechanism.fresh.miss) ** 2 * d * (1 - d)
    )
    assert covariance_of_two([a * b for a in kept[0] for b in kept[0]]) == 0


ROUNDS = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})


@pytest.mark.parametrize("specification", [FIRST.specification, ROUNDS])
def test_a_histogram_names_the_epochs_whose_noise_it_shares(specification: Specification) -> None:
    survey = manifest(repeat=Repeat("memoised", 3), specification=specification)
    counts = (40, 30, 20, 10, 5)
    for epoch, shared in ((0, (0, 2)), (2, (0, 2)), (3, (3, 5)), (7, (6, 7))):
        histogram = estimate_histogram(survey, epoch, counts)
        assert histogram.kept_range == shared
        assert histogram.to_dict()["kept_range"] == list(shared)
        kept = f"epochs {shared[0]} to {shared[1]}, so figures of these epochs contain"
        assert kept in str(histogram)
    fresh = estimate_histogram(manifest(), 0, counts)
    assert fresh.kept_range is fresh.to_dict()["kept_range"] is None
    assert "the same noise" not in str(fresh)
