"""Samples of one name have devices in common, whichever of its surveys they answered."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.estimates import Estimate, Histogram, Model, combined, estimate_histogram
from deniable.mechanisms.answering import answer_labels
from deniable.messages import Manifest
from deniable.simulation import SimulatedWords, randomise_many
from tests.support.effort import some
from tests.support.kinds import example_survey
from tests.support.surveys import manifest

RUNS, DEVICES = 400, 300
TRUTH = np.array([0.1, 0.1, 0.2, 0.2, 0.4])
# Epsilon 4: what the devices' being a sample adds is most of the variance.
FIRST = manifest(epsilon="4")
SUCCESSOR = manifest(epsilon="4", sequence=1)
LONGER = manifest(epsilon="4", sequence=2, categories=(*FIRST.categories, "not married"))

FIGURES: dict[str, tuple[Callable[[Estimate, Estimate], Estimate], float]] = {
    "mean of both": (lambda one, other: (one + other) / 2, 0.6),
    "combined": (lambda one, other: combined([one, other]), 0.6),
    "difference": (lambda one, other: one - other, 0.0),
}


def counted(survey: Manifest, answers: np.ndarray, rng: np.random.Generator) -> Histogram:
    responses = randomise_many(survey.mechanism, answers, SimulatedWords(rng))
    counts = np.bincount(responses, minlength=survey.mechanism.responses)
    return estimate_histogram(survey, 0, counts.tolist())


@pytest.mark.parametrize(("name", "successor"), some([*product(FIGURES, [SUCCESSOR, LONGER])]))
def test_intervals_hold_of_a_survey_and_its_successor(name: str, successor: Manifest) -> None:
    figure, truth = FIGURES[name]
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(RUNS):
        answers = rng.choice(5, DEVICES, p=TRUTH)  # the devices answer both alike
        one, other = (
            counted(survey, answers, rng).share(["good", "very good"])
            for survey in (FIRST, successor)
        )
        made = figure(one, other)
        held += made.low <= truth <= made.high
    # Fewer hold in at most 1e-6 of such tests, if each does with 95 % (as 82 to 92 % did not).
    assert held >= stats.binom.isf(1 - 1e-6, RUNS, 0.95)


@pytest.mark.long
@pytest.mark.parametrize("successor", some([LONGER, SUCCESSOR]))
def test_intervals_hold_of_a_ratio_of_what_both_tell(successor: Manifest) -> None:
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(RUNS):
        answers = rng.choice(5, DEVICES, p=TRUTH)
        both = [counted(survey, answers, rng) for survey in (FIRST, successor)]
        good, best = (combined([one.share(name) for one in both]) for name in ("good", "very good"))
        made = good / best
        held += made.low <= 0.5 <= made.high
    # As above; 84 to 87 % did.
    assert held >= stats.binom.isf(1 - 1e-6, RUNS, 0.95)


QUESTIONS = (("plan", "free", "paid"), ("theme", "light", "dark"))
ONE_OF_TWO = replace(
    example_survey("one-question", {"dimensions": QUESTIONS}, answer_labels(QUESTIONS)), epsilon="4"
)


@pytest.mark.long
@pytest.mark.parametrize("epochs", some([[[0, 1, 2], [3, 4, 5]], [[0, 1, 2, 3, 4]]]))
def test_intervals_hold_where_devices_answer_one_question_now_and_another_later(
    epochs: list[list[int]],
) -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(RUNS):
        paid_and_dark = 3 * (rng.random(DEVICES) < 0.5)  # combinations have the numbers 0 to 3
        told = []
        for pooled in epochs:
            answers = np.tile(paid_and_dark, len(pooled))
            responses = randomise_many(ONE_OF_TWO.mechanism, answers, SimulatedWords(rng))
            counts = np.bincount(responses, minlength=ONE_OF_TWO.mechanism.responses)
            told.append(estimate_histogram(ONE_OF_TWO, pooled, counts.tolist()))
        made = told[0].share({"plan": "paid"}) + told[-1].share({"theme": "dark"})
        held += made.low <= 1 <= made.high
    # As above; 82 to 88 % did.
    assert held >= stats.binom.isf(1 - 1e-6, RUNS, 0.95)


@pytest.mark.long
def test_what_changed_among_the_devices_that_reported_is_known_up_to_noise() -> None:
    rng = np.random.default_rng(8)
    answers = rng.choice(5, DEVICES, p=TRUTH)
    held = 0
    for _ in range(RUNS):
        epochs = []
        for epoch in range(2):  # the same devices, which keep their answers
            responses = randomise_many(FIRST.mechanism, answers, SimulatedWords(rng))
            epochs.append((epoch, np.bincount(responses, minlength=5).tolist()))
        known, drawn = (
            later.share(["good", "very good"]) - earlier.share(["good", "very good"])
            for model in (Model.FIXED, Model.SAMPLED)
            for earlier, later in [
                [estimate_histogram(FIRST, *epoch, model=model) for epoch in epochs]
            ]
        )
        held += known.low <= 0 <= known.high
        assert known.value == drawn.value
        assert known.high - known.low < 0.7 * (drawn.high - drawn.low)
    # As above, on either side: they are as wide as need be.
    assert stats.binom.isf(1 - 1e-6, RUNS, 0.95) <= held <= stats.binom.isf(1e-6, RUNS, 0.95)


def test_where_few_responses_are_moved_fixed_devices_have_no_less_an_error() -> None:
    counts = [30, 0, 0, 0, 30]  # at epsilon 9 hardly one of 60
    at_nine = [manifest(epsilon="9", sequence=sequence) for sequence in (0, 1)]
    known, drawn = (
        one.share("good") - other.share("very poor")
        for model in (Model.FIXED, Model.SAMPLED)
        for one, other in [[estimate_histogram(s, 0, counts, model=model) for s in at_nine]]
    )
    assert known.high - known.low >= 0.9 * (drawn.high - drawn.low) > 0


def test_who_knows_that_devices_are_others_says_so() -> None:
    rng = np.random.default_rng(4)
    answers = rng.choice(5, DEVICES, p=TRUTH)
    one, other = (counted(survey, answers, rng).share("good") for survey in (FIRST, SUCCESSOR))
    both, disjoint = combined([one, other]), combined([one, other], disjoint=True)
    assert disjoint.value == both.value
    assert disjoint.standard_error < 0.85 * both.standard_error
    assert (2 * disjoint).standard_error == pytest.approx(2 * disjoint.standard_error)
    elsewhere = counted(replace(SUCCESSOR, name="other"), answers, rng).share("good")
    assert combined([one, elsewhere]).standard_error < 0.85 * both.standard_error


def test_a_label_says_which_surveys_are_compared() -> None:
    rng = np.random.default_rng(4)
    answers = rng.choice(5, DEVICES, p=TRUTH)
    one, other = (counted(survey, answers, rng).share("good") for survey in (FIRST, SUCCESSOR))
    ids = [survey.survey_id.hex()[:12] for survey in (FIRST, SUCCESSOR)]
    place = "epoch 0 of rating-of-marriage"
    assert (one - other).label == f"good, {place} ({ids[0]}) less {place} ({ids[1]})"


@pytest.mark.long
def test_combined_weights_do_not_go_with_the_counts() -> None:
    # By estimated errors the smaller of two estimates, which seems the more exact, weighed more.
    rng = np.random.default_rng(5)
    asked = manifest(categories=tuple(f"answer {j}" for j in range(105)), epsilon="1", name="large")
    surveys = asked, replace(asked, name="larger")
    truth = np.append(0.01, np.full(104, 0.99 / 104))
    values = []
    for _ in range(RUNS):
        shares = [
            counted(survey, rng.choice(105, 300, p=truth), rng).share("answer 0")
            for survey in surveys
        ]
        both = combined(shares)
        assert both.value == pytest.approx((shares[0].value + shares[1].value) / 2, rel=1e-9)
        values.append(both.value)
    error = np.std(values) / RUNS**0.5
    # Further off in at most 1e-6 of such tests.
    assert abs(np.mean(values) - 0.01) < 4.9 * error


def test_a_group_that_nobody_seems_to_be_in_is_combined_too() -> None:
    one, other = (
        estimate_histogram(manifest(name=name, epsilon="4"), 0, counts).share("good")
        for name, counts in (("one", [0, 0, 0, 300, 0]), ("other", [300, 0, 0, 0, 0]))
    )
    both = combined([one, other])
    assert both.value == pytest.approx((one.value + other.value) / 2)
