"""Estimates of several questions: one drawn by each device, or all at once."""

from typing import Any

import numpy as np
import pytest

from deniable.estimates import Model, covariance, reports_for_half_width
from deniable.estimates.decoders import decoder_of
from deniable.estimates.influences import influence
from deniable.mechanisms import KINDS, Mechanism
from deniable.mechanisms.answering import Dimensions, combinations_of
from deniable.mechanisms.one_question import OneQuestion
from deniable.planning.calibration import CALIBRATIONS
from deniable.planning.specification import answered_best
from tests.estimates.matrices import (
    debias,
    detectable_share,
    estimated_covariance,
    frequency_intervals,
    impossible_counts,
    linear_query,
    query_influence,
    standard_errors,
    worst_shifts,
)


def several(*sizes: int) -> Dimensions:
    return tuple((f"q{i}", *(f"a{j}" for j in range(k))) for i, k in enumerate(sizes))


def made(kind: str, sizes: tuple[int, ...], epsilon: str = "1") -> Any:
    dimensions = several(*sizes)
    asked = answered_best(kind, dimensions, epsilon)
    parameters = CALIBRATIONS[kind](asked, 0, epsilon)
    categories = sum(sizes) if kind == "one-question" else combinations_of(dimensions)
    return KINDS[kind].mechanism(parameters, categories, epsilon, "0")


def expected(mechanism: Mechanism, frequencies: Any, n: int) -> list[int]:
    shares = decoder_of(mechanism).response_shares(np.asarray(frequencies, dtype=float))
    return [round(n * share) for share in shares]


SMALL = (2, 3, 4)
SHARES = np.array([0.3, 0.7, 0.2, 0.5, 0.3, 0.1, 0.2, 0.3, 0.4])


def mixed() -> OneQuestion:
    answered = (("randomised-response",), ("affine", 3, 1, 1), ("subset", 2))
    parameters = {"dimensions": several(*SMALL), "mechanisms": answered}
    mechanism = KINDS["one-question"].mechanism(parameters, sum(SMALL), "1", "0")
    assert isinstance(mechanism, OneQuestion)
    return mechanism


def test_each_question_is_estimated_from_the_reports_about_it() -> None:
    mechanism = mixed()
    counts = expected(mechanism, SHARES, 10**15)
    assert debias(mechanism, counts) == pytest.approx(SHARES, abs=1e-10)
    # However unevenly the questions were drawn, and whatever the others say.
    decoder = decoder_of(mechanism)
    start = 0
    for part, own in zip(decoder.parts, mechanism.parts, strict=True):
        alone = counts[part.responses]
        there = slice(start, start := start + own.categories)
        assert (debias(mechanism, counts)[there] == debias(own, alone)).all()
        sampled = standard_errors(mechanism, counts, Model.SAMPLED)[there]
        assert (sampled == standard_errors(own, alone, Model.SAMPLED)).all()
        intervals = frequency_intervals(mechanism, counts, 0.9)
        assert (intervals.low[there] == frequency_intervals(own, alone, 0.9).low).all()
        assert (intervals.high[there] == frequency_intervals(own, alone, 0.9).high).all()
        # Of fixed devices a third answers: that much less is chance than in a population's sample.
        f = SHARES[there]
        less = standard_errors(mechanism, counts, Model.FIXED)[there]
        assert 1e15 * (sampled**2 - less**2) == pytest.approx(f * (1 - f), rel=1e-3)


def test_sums_within_and_over_questions() -> None:
    mechanism = mixed()
    counts = expected(mechanism, SHARES, 10**6)
    found, weights = debias(mechanism, counts), np.array([1, 2, 0, 3, 1, 0, -1, 5, 2.5])
    errors = standard_errors(mechanism, counts, Model.SAMPLED)
    for j in range(9):
        alone = linear_query(mechanism, counts, np.eye(9)[j].tolist())
        assert alone.value == pytest.approx(found[j], abs=1e-12)
        assert alone.standard_error == pytest.approx(errors[j], rel=1e-9)
    whole = linear_query(mechanism, counts, weights.tolist())
    assert whole.value == pytest.approx(weights @ found)
    matrix = estimated_covariance(mechanism, counts)
    assert whole.standard_error**2 == pytest.approx(weights @ matrix @ weights)
    exact = covariance(mechanism, SHARES, 10**6, Model.SAMPLED)
    assert exact.diagonal() == pytest.approx(matrix.diagonal(), rel=1e-3)
    assert (matrix[:2, 2:] == 0).all()
    with pytest.raises(ValueError, match="with fixed devices"):
        covariance(mechanism, SHARES, 10, Model.FIXED)


def test_a_question_without_reports_is_open() -> None:
    mechanism = mixed()
    counts = {0: 1, 3: 5}  # one report about the first question, none about the last
    assert debias(mechanism, counts)[5:] == pytest.approx([0.25] * 4)
    errors = standard_errors(mechanism, counts, Model.SAMPLED)
    assert np.isnan(errors).tolist() == [True] * 2 + [False] * 3 + [True] * 4
    intervals = frequency_intervals(mechanism, counts, 0.95)
    assert (intervals.low[5:] == 0).all()
    assert (intervals.high[5:] == 1).all()
    assert not intervals.outside[5:].any()
    with pytest.raises(ValueError, match="no reports yet"):
        linear_query(mechanism, counts, [0] * 8 + [1])


def test_fakes_that_all_answer_one_question() -> None:
    mechanism, n = mixed(), 3 * 10**9
    counts = expected(mechanism, SHARES, n)
    before, fakes = debias(mechanism, counts), n // 10**5
    moved = []
    for response in range(mechanism.responses):
        faked = [*counts]
        faked[response] += fakes
        moved.append((debias(mechanism, faked) - before) / (fakes / n))
    down, up = worst_shifts(mechanism, SHARES, 1.0)
    assert np.max(moved, axis=0) == pytest.approx(up, rel=1e-3)
    assert np.min(moved, axis=0) == pytest.approx(down, rel=1e-3)
    # More of them move it less than in proportion, never more; no share is moved further than this.
    assert np.max(np.abs(moved)) < influence(mechanism)
    own = max(influence(part) for part in mechanism.parts)
    assert influence(mechanism) == pytest.approx(3 * own)
    weights = np.array([0, 1, 0, 2, 1, 0, 0, 0, 1.0])
    reached = np.array(moved) @ weights
    assert np.abs(reached).max() < query_influence(mechanism, weights)


def test_counts_that_honest_devices_do_not_cause() -> None:
    mechanism = mixed()
    counts = expected(mechanism, SHARES, 30_000)
    assert not any(flags.any() for flags in impossible_counts(mechanism, counts))
    assert 0 < (detectable_share(mechanism, 30_000) or 1) < 1
    counts[0] += 12_000  # of 42,000 then, 38 % are about this answer; honest devices reach 24 %
    assert impossible_counts(mechanism, counts)[0][0]


def test_planning_is_for_each_question() -> None:
    mechanism = mixed()
    most = max(reports_for_half_width(part, 0.05) for part in mechanism.parts)
    assert reports_for_half_width(mechanism, 0.05) == pytest.approx(3 * most, abs=3)
