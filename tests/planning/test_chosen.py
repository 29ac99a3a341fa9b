"""A plan for the share of chosen answers, among all or a group, holds in every population."""

from dataclasses import replace

import numpy as np
import pytest

from deniable.estimates import Accuracy, decoder_of, estimate_histogram
from deniable.estimates.planning import chosen_variance
from deniable.mechanisms.answering import answer_labels, combination_labels
from deniable.messages import Manifest
from deniable.planning import ChosenShare, plan
from deniable.planning.calibration import calibrated
from deniable.planning.specification import answered_best, specified
from tests.support.surveys import manifest

MOODS = ("very poor", "poor", "fair", "good", "very good")
PLANS = (("plan", "free", "paid"), ("use", "export", "share", "neither"))


def moods(kind: str) -> Manifest:
    return manifest(categories=MOODS, specification=specified(kind, len(MOODS), "1"), epsilon="1")


def joint() -> Manifest:
    settings = answered_best("joint", PLANS, "2", "0")
    made = calibrated("joint", 0, "2", settings)
    return manifest(categories=combination_labels(PLANS), specification=made, epsilon="2")


@pytest.mark.parametrize("kind", ["randomised-response", "subset"])
def test_a_chosen_answer_by_itself_takes_what_each_share_takes(kind: str) -> None:
    survey, accuracy = moods(kind), Accuracy.half_width(0.02)
    one = plan(survey, accuracy, 0.4, chosen=ChosenShare("fair"))
    each = plan(survey, accuracy, 0.4)
    assert one.reports(one.ways[0]) == pytest.approx(each.reports(each.ways[0]), rel=1e-3)


def test_no_population_varies_more_and_one_varies_as_much() -> None:
    # The variance of a share r = a/s of sums by the delta method, for random populations.
    rng = np.random.default_rng(5)
    survey = joint()
    decoder = decoder_of(survey.mechanism)
    chosen = np.array([0.0, 0, 0, 1, 1, 0])
    group = np.array([0.0, 0, 0, 1, 1, 1])
    for share, largest in ((0.2, 1.0), (0.5, 0.3)):
        promised = chosen_variance(survey.mechanism, chosen, group, share, largest)
        greatest = 0.0
        for _ in range(3_000):
            r = largest * rng.beta(0.5, 0.5)
            sizes = r * share, (1 - r) * share, 1 - share
            parts = chosen, group - chosen, 1 - group
            alone = rng.dirichlet(np.full(6, 0.05))  # a part is mostly a single answer
            population = np.zeros(6)
            for size, part in zip(sizes, parts, strict=True):
                weights = (alone + 1e-12) * part
                population += size * weights / weights.sum()
            kernel = decoder.kernels(chosen) - r * decoder.kernels(group)
            greatest = max(greatest, float(decoder.means(kernel**2) @ population) / share**2)
        assert greatest <= promised * 1.001
        assert greatest > 0.98 * promised


def test_the_planned_reports_reach_the_precision_among_a_group() -> None:
    survey = joint()
    wanted = ChosenShare({"use": "export"}, {"plan": "paid"}, 0.2)
    made = plan(survey, Accuracy.half_width(0.04), chosen=wanted)
    reports = made.reports(made.ways[0])
    assert reports is not None
    widest = 0.0
    for share in np.linspace(0.05, 0.95, 10):
        truth = np.array([0.8, 0, 0, 0.2 * share, 0.2 * (1 - share), 0])
        expected = reports * decoder_of(survey.mechanism).response_shares(truth)
        histogram = estimate_histogram(survey, 0, [round(count) for count in expected.tolist()])
        one = histogram.share({"use": "export"}, given={"plan": "paid"})
        widest = max(widest, one.standard_error * made.accuracy.scale)
    assert widest == pytest.approx(0.04, rel=0.03)


def test_the_sentence_names_the_share_and_the_size_of_the_group() -> None:
    wanted = ChosenShare({"use": "export"}, {"plan": "paid"})
    made = plan(joint(), Accuracy.half_width(0.03), chosen=wanted)
    assert made.sentence.startswith(
        'For the share of "use: export" among those with "plan: paid" (if these are 50 % of all) '
        "within ± 3 percentage points, with 95 % intervals, it takes "
    )
    smaller = plan(joint(), made.accuracy, chosen=replace(wanted, group_share=0.25))
    one, other = (made.reports(made.ways[0]), smaller.reports(smaller.ways[0]))
    assert one is not None
    assert other is not None
    assert 3 < other / one < 4.2


def test_answers_to_questions_that_are_asked_apart_are_no_sum() -> None:
    settings = answered_best("one-question", PLANS, "2", "0")
    survey = manifest(
        categories=answer_labels(PLANS),
        specification=calibrated("one-question", 0, "2", settings),
        epsilon="2",
    )
    one = plan(survey, Accuracy.half_width(0.02), chosen=ChosenShare("use: export"))
    assert one.reports(one.ways[0]) is not None
    with pytest.raises(ValueError, match="choose answers to one question"):
        plan(survey, one.accuracy, chosen=ChosenShare(["use: export", "plan: paid"]))


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        (ChosenShare("bad"), "no answer 'bad'"),
        (ChosenShare(MOODS), "some of the group's answers, but not all"),
        (ChosenShare("good", "fair"), "some of the group's answers"),
    ],
)
def test_answers_that_cannot_be_chosen_are_refused(chosen: ChosenShare, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        plan(moods("subset"), Accuracy.half_width(0.02), chosen=chosen)
