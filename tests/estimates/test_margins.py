"""Margins of a joint survey, and shares of one question's answers within another's."""

import json
from typing import Any

import numpy as np
import pytest

from deniable.estimates import (
    Model,
    estimate_histogram,
    estimated_covariance,
    margins,
)
from deniable.estimates.decoders import decoder_of
from deniable.messages import Manifest
from deniable.planning.calibration import calibrated
from deniable.planning.specification import answered_best
from tests.support.surveys import manifest

DIMENSIONS = (("plan", "free", "paid"), ("theme", "A", "B", "C"), ("beta", "no", "yes"))
SHAPE = (2, 3, 2)
TABLE = np.array([4, 6, 1, 2, 3, 4, 10, 5, 2, 8, 1, 4]).reshape(SHAPE) / 50


def survey(kind: str, epsilon: str = "2", **answered: Any) -> Manifest:
    settings = answered_best(kind, DIMENSIONS, epsilon) | answered
    specification = calibrated(kind, 0, epsilon, settings=settings)
    return manifest(
        categories=specification.labels(DIMENSIONS), epsilon=epsilon, specification=specification
    )


JOINT = [
    survey("joint"),
    survey("joint", mechanism=("randomised-response",)),
    survey("joint", mechanism=("affine", 13, 1, 3)),
]
ONE = survey("one-question")


def expected(asked: Manifest, n: int) -> list[int]:
    decoder = decoder_of(asked.mechanism)
    frequencies = TABLE.reshape(-1)
    if len(decoder.parts) > 1:
        axes = [tuple(set(range(3)) - {i}) for i in range(3)]
        frequencies = np.concatenate([TABLE.sum(axis=axis) for axis in axes])
    return [round(n * share) for share in decoder.response_shares(frequencies)]


@pytest.mark.parametrize("asked", [*JOINT, ONE], ids=lambda a: str(a.specification))
def test_margins_are_the_sums_of_the_table(asked: Manifest) -> None:
    counts = expected(asked, 10**12)
    told = margins(asked, counts)
    for i, each in enumerate(told):
        axes = tuple(set(range(3)) - {i})
        values = [share.value for share in each.shares]
        assert values == pytest.approx(TABLE.sum(axis=axes).tolist(), abs=1e-9)
        assert all(share.low < share.value < share.high for share in each.shares)
    assert [each.question for each in told] == ["plan", "theme", "beta"]
    n = sum(each.n for each in told) if asked is ONE else told[0].n
    assert n == sum(counts)


@pytest.mark.parametrize("asked", JOINT, ids=lambda a: str(a.specification))
@pytest.mark.parametrize("model", Model)
def test_margins_of_a_joint_survey_have_exact_errors(asked: Manifest, model: Model) -> None:
    counts = expected(asked, 10**5)
    matrix = estimated_covariance(asked.mechanism, counts, model)
    for i, question in enumerate(margins(asked, counts, model=model)):
        for j, share in enumerate(question.shares):
            held = np.zeros(SHAPE)
            held[(slice(None),) * i + (j,)] = 1
            w = held.reshape(-1)
            assert share.standard_error == pytest.approx(float(np.sqrt(w @ matrix @ w)), rel=2e-3)
        assert len(DIMENSIONS[i]) == j + 2


@pytest.mark.parametrize("asked", JOINT, ids=lambda a: str(a.specification))
def test_a_conditional_share_is_a_ratio_with_fiellers_interval(asked: Manifest) -> None:
    counts = expected(asked, 10**6)
    found = estimate_histogram(asked, 0, counts).share({"theme": "B"}, given={"plan": "paid"})
    ratio = TABLE[1, 1].sum() / TABLE[1].sum()
    assert found.value == pytest.approx(ratio, rel=1e-3)
    below, above = np.zeros(SHAPE), np.zeros(SHAPE)
    below[1] = above[1, 1] = 1
    matrix = estimated_covariance(asked.mechanism, counts, Model.SAMPLED)
    b = float(below.reshape(-1) @ TABLE.reshape(-1))

    def error(r: float) -> float:
        w = (above - r * below).reshape(-1)
        return float(np.sqrt(w @ matrix @ w))

    assert found.standard_error == pytest.approx(error(found.value) / b, rel=1e-3)
    # At either end a - r b is 1.96 of its own standard errors away from 0.
    for end in (found.low, found.high):
        assert abs(ratio * b - end * b) == pytest.approx(1.959964 * error(end), rel=0.01)


def test_what_nothing_is_known_of_has_an_open_interval() -> None:
    asked = JOINT[0]
    for few in (dict.fromkeys(range(3), 1), {1: 1}):
        found = estimate_histogram(asked, 0, few).share({"theme": "B"}, given={"plan": "paid"})
        assert (found.low, found.high) == (0.0, 1.0)


def test_questions_and_answers_that_there_are_not() -> None:
    joint = estimate_histogram(JOINT[0], 0, expected(JOINT[0], 1000))
    one = estimate_histogram(ONE, 0, expected(ONE, 1000))
    for histogram, answer, given, match in (
        (joint, {"theme": "D"}, {"plan": "paid"}, "no answer 'D'"),
        (joint, {"colour": "A"}, {"plan": "paid"}, "no question"),
        (joint, {"theme": "A"}, {"theme": "B"}, "no answer is both"),
        (one, {"theme": "A"}, {"plan": "paid"}, "nothing tells of two"),
    ):
        with pytest.raises(ValueError, match=match):
            histogram.share(answer, given=given)
    assert margins(manifest(), [1, 2, 3, 4, 5]) == ()


def test_a_question_that_no_report_is_about_is_shown_as_open() -> None:
    histogram = estimate_histogram(ONE, 0, {0: 1})
    plain = json.loads(json.dumps(histogram.to_dict()))
    theme = plain["margins"][1]
    assert theme["n"] == 0
    assert [(row["low"], row["high"]) for row in theme["answers"]] == [(0, 1)] * 3
    assert [row["standard_error"] for row in theme["answers"]] == [None] * 3
    assert str(histogram)
