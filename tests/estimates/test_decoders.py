"""Every decoder's figures are those of its matrix and of a left inverse by definition."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.documents.terminal import document_text
from deniable.estimates import Model, NotInvertible, covariance, decoder_of, estimate_histogram
from deniable.estimates.decoders import Decoder
from deniable.estimates.decoders.dense import DenseDecoder, left_inverse, solution_matrix
from deniable.estimates.decoders.levels import LevelsDecoder
from deniable.estimates.influences import influence
from deniable.mechanisms import Mechanism, RandomisedResponse, TwoRound
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset
from deniable.presenting.fields import histogram_csv
from tests.estimates.matrices import (
    FORMULAS,
    MECHANISMS,
    NON_SQUARE,
    SURVEYED,
    Floats,
    debias,
    estimated_covariance,
    exact_left_inverse,
    fewest_fakes,
    frequency_intervals,
    impossible_counts,
    incidence,
    linear_query,
    query_influence,
    standard_errors,
)
from tests.mechanisms.laws import matrix_of
from tests.mechanisms.test_levels import RR, TREES, levels
from tests.support.effort import effort, some
from tests.support.entries import probability
from tests.support.geometric import clamped, clamped_geometric
from tests.support.kinds import calibrated
from tests.support.surveys import manifest


def two_round(categories: int, epsilon: str, kept: str) -> TwoRound:
    return TwoRound(Subset(categories, 1), epsilon, kept)


COMPLETE: list[tuple[int, dict[int, Answering]]] = [
    *[(4, {1: RR}), (8, {4: RR, 2: ("subset", 2), 1: ("subset", 3)})],
    *[(9, {3: RR, 1: ("affine", 3, 2, 1)}), (12, {6: RR, 2: ("subset", 2), 1: ("subset", 2)})],
    (25, {5: ("affine", 5, 1, 2), 1: ("affine", 5, 2, 1)}),
]
"""Trees whose nodes of a level hold as many answers, and are all points of its design."""
OTHERS = [*TREES, (10, {4: RR, 2: ("affine", 7, 1, 2), 1: RR})]
SMALL = [
    *(Affine(9, 3, 2, 1), Affine(7, 3, 2, 2), Affine(20, 5, 2, 2), Affine(6, 7, 1, 3)),
    *(Affine(8, 2, 3, 1), Affine(5, 2, 3, 1), Affine(3, 11, 1, 2), Affine(20, 3, 3, 1)),
    *(Affine(2, 31, 1, 1), Affine(3, 31, 1, 30), Affine(7, 7, 1, 3), Affine(10, 13, 1, 4)),
    *(Subset(5, 2), Subset(6, 3), DifferenceSet(13, 13), DifferenceSet(11, 16)),
]
LARGE = [
    *(Affine(1024, 37, 2, 14), Affine(2458, 2467, 1, 6), Affine(10_000, 101, 2, 27)),
    Affine(1024, 11, 3, 3),
]
PLAIN: list[Mechanism] = [
    *(FORMULAS, RandomisedResponse(7, "1"), two_round(4, "1", "2")),
    two_round(3, "0.05", "3"),  # little of a report
    *(DesignMechanism(design, "1") for design in SMALL),
]
DECODERS: dict[str, tuple[Mechanism, Decoder]] = {
    **{name: (each, decoder_of(each)) for name, each in (MECHANISMS | SURVEYED).items()},
    **{name: (each, DenseDecoder(each)) for name, each in NON_SQUARE.items()},
    **{repr(each)[:60]: (each, decoder_of(each)) for each in PLAIN},
    **{f"levels of {at}": (m := levels(*tree), decoder_of(m)) for at, tree in enumerate(OTHERS)},
    **{f"levels {tree[0]}": (m := levels(*tree), decoder_of(m)) for tree in COMPLETE},
}
every_decoder = pytest.mark.parametrize(
    ("mechanism", "decoder"), DECODERS.values(), ids=list(DECODERS)
)


def kernels(mechanism: DesignMechanism, response: int) -> list[Fraction]:
    """Return the weight of a response in each estimate, by definition."""
    k, kappa = mechanism.categories, mechanism.hit - mechanism.miss
    held = [mechanism.design.supports(response, j) for j in range(k)]
    missing = (1 - (sum(held) - k * mechanism.miss) / kappa) / k
    either = [missing + (supported - mechanism.miss) / kappa for supported in (False, True)]
    return [either[supported] for supported in held]


def floats(rows: list[list[Fraction]]) -> Floats:
    return np.array(rows, dtype=np.float64)


@cache
def matrices(mechanism: Mechanism, decoder: Decoder) -> tuple[Floats, Floats]:
    """Return P and G, which is solved in Fractions or by definition; of levels, the decoder's."""
    k, responses = mechanism.categories, range(mechanism.responses)
    p = floats([[probability(mechanism, x, y) for y in responses] for x in range(k)])
    if isinstance(mechanism, DesignMechanism):
        return p, floats([kernels(mechanism, y) for y in responses]).T
    if isinstance(decoder, LevelsDecoder):
        return p, decoder.kernels(np.eye(k))
    inverse = exact_left_inverse(mechanism)
    assert inverse is not None
    return p, floats(inverse)


def counts_of(responses: int) -> Iterator[list[int]]:
    generator = np.random.default_rng(3)
    yield [1 + 7 * y for y in range(responses)]
    yield [40 * (y == responses - 1) for y in range(responses)]
    for law in generator.dirichlet(np.full(responses, 0.5), 4):
        yield generator.multinomial(200, law).tolist()


@every_decoder
def test_what_a_decoder_knows_follows_from_its_matrix(
    mechanism: Mechanism, decoder: Decoder
) -> None:
    (p, g), k, responses = matrices(mechanism, decoder), mechanism.categories, mechanism.responses
    near = {"rtol": 1e-8, "atol": 1e-9 * max(1, np.abs(g).max() ** 2)}
    np.testing.assert_allclose(g @ p.T, np.eye(k), **near)
    generator = np.random.default_rng(5)
    weights = np.vstack([np.eye(k), np.tril(np.ones((k, k))), generator.normal(size=(3, k))])
    np.testing.assert_allclose(decoder.kernels(weights), weights @ g, **near)
    np.testing.assert_allclose(decoder.kernels(weights[1]), g[1], **near)
    values, f = generator.normal(size=(4, responses)), generator.dirichlet(np.ones(k))
    np.testing.assert_allclose(decoder.sums(values), values @ g.T, **near)
    np.testing.assert_allclose(decoder.means(values), values @ p.T, atol=1e-9)
    np.testing.assert_allclose(decoder.response_shares(f), f @ p, rtol=1e-12, atol=1e-15)
    second, moments = g**2 @ p.T, decoder.moments
    off = second + np.where(np.eye(k), -np.inf, 0)
    np.testing.assert_allclose(decoder.means(g**2), second, **near)
    np.testing.assert_allclose(moments.own, second.diagonal(), **near)
    other = np.maximum(off.max(axis=1), 0)
    least = np.maximum((second - np.eye(k)).min(axis=1), 0)
    if isinstance(mechanism, DesignMechanism) and not isinstance(mechanism.design, Subset):
        # They are bounds, where there are points to spare.
        assert (moments.other >= other - 1e-9).all()
        assert (moments.least_variance <= least + 1e-9).all()
    else:
        np.testing.assert_allclose(moments.other, other, **near)
        np.testing.assert_allclose(moments.least_variance, least, **near)
    np.testing.assert_allclose(decoder.extremes.least, g.min(axis=1), rtol=1e-9)
    np.testing.assert_allclose(decoder.extremes.most, g.max(axis=1), rtol=1e-9)
    assert influence(mechanism) == pytest.approx(max(g.max(), 1 - g.min()), rel=1e-9)
    asked = weights[-1] @ g
    furthest = max(asked.max() - weights[-1].min(), weights[-1].max() - asked.min())
    assert query_influence(mechanism, weights[-1]) == pytest.approx(furthest, rel=1e-9)


@every_decoder
def test_figures_follow_from_the_matrix(mechanism: Mechanism, decoder: Decoder) -> None:
    (p, g), f = matrices(mechanism, decoder), np.arange(1, mechanism.categories + 1)
    for counts in counts_of(mechanism.responses):
        tally, n = decoder.tally(counts), sum(counts)
        sparse = decoder.tally({y: count for y, count in enumerate(counts) if count})
        assert (sparse.n, sparse.counts.tolist()) == (n, counts)
        seen = np.array(counts) / n
        estimate = g @ seen
        np.testing.assert_allclose(decoder.frequencies(tally), estimate, rtol=1e-9, atol=1e-9)
        for model in Model:
            less = estimate**2 if model is Model.SAMPLED else estimate
            degrees = n - (model is Model.SAMPLED)
            near = {"rtol": 1e-7, "atol": 1e-10 * max(1, np.abs(g).max() ** 2)}
            variances = np.maximum(g**2 @ seen - less, 0) / degrees
            np.testing.assert_allclose(
                decoder.standard_errors(tally, model) ** 2, variances, **near
            )
    for model in Model:

        def expected(shares: Floats, f: Floats, model: Model = model) -> Floats:
            held = np.outer(f, f) if model is Model.SAMPLED else np.diag(f)
            return np.asarray((g * shares) @ g.T - held)

        found = covariance(mechanism, f / f.sum(), n, model)
        np.testing.assert_allclose(found, expected(f / f.sum() @ p, f / f.sum()) / n, **near)
    found = estimated_covariance(mechanism, counts)
    right = expected(seen, estimate, Model.SAMPLED) / (n - 1)
    np.testing.assert_allclose(found, right, **near)


@pytest.mark.parametrize(("categories", "tree"), COMPLETE + OTHERS)
def test_a_count_is_of_the_reports_that_support_a_node_around_the_answer(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism = levels(categories, tree)
    decoder, rows = decoder_of(mechanism), solution_matrix(mechanism)
    # A response supports a node if those in the node send it more often than others.
    counts = np.random.default_rng(6).integers(0, 9, mechanism.responses)
    supports = np.zeros((categories, mechanism.responses), dtype=bool)
    first = 0
    for part in mechanism.parts:
        own = rows[:, first : first + part.responses]
        supports[:, first : first + part.responses] = own > own.min() * 1.01
        first += part.responses
    tally = decoder.tally(counts.tolist())
    assert decoder.tested_counts(tally).tolist() == (supports @ counts).tolist()
    chances = np.where(supports[:, None, :], rows[None, :, :], 0.0).sum(axis=2)
    assert (decoder.extremes.rarest <= chances.min(axis=1) + 1e-12).all()
    assert decoder.extremes.likeliest == pytest.approx(chances.max(axis=1))


@pytest.mark.parametrize(("categories", "tree"), COMPLETE)
def test_levels_are_generalised_least_squares(categories: int, tree: dict[int, Answering]) -> None:
    mechanism = levels(categories, tree)
    best = left_inverse(solution_matrix(mechanism))
    assert decoder_of(mechanism).kernels(np.eye(categories)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("design", some(LARGE), ids=repr)
def test_figures_of_a_large_design_are_those_of_the_few_responses_seen(design: Affine) -> None:
    mechanism, generator = DesignMechanism(design, "1"), np.random.default_rng(11)
    seen = sorted({mechanism.responses - 1, *generator.integers(mechanism.responses, size=9)})
    counts = {int(y): int(generator.integers(1, 50)) for y in seen}
    g = floats([kernels(mechanism, y) for y in counts])
    n, times = sum(counts.values()), np.array([*counts.values()])
    estimate, squares = times @ g / n, times @ g**2 / n
    np.testing.assert_allclose(debias(mechanism, counts), estimate, atol=1e-12)
    assert estimate.sum() == pytest.approx(1)
    for model, less, degrees in ((Model.SAMPLED, estimate**2, n - 1), (Model.FIXED, estimate, n)):
        found = standard_errors(mechanism, counts, model) ** 2
        right = np.maximum(squares - less, 0) / degrees
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-12)
    # A query's error is from the sample variance of its kernel over the reports.
    weights = generator.uniform(size=mechanism.categories)
    query, values = linear_query(mechanism, counts, weights.tolist()), np.repeat(g @ weights, times)
    assert query.value == pytest.approx(values.mean(), rel=1e-9)
    assert query.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(n), rel=1e-9)


@pytest.mark.parametrize("design", [Affine(3, 2, 2, 1), Subset(4, 2)], ids=repr)
def test_honest_devices_are_flagged_at_most_so_often_and_fakes_are_there_exactly(
    design: Affine | Subset,
) -> None:
    # Three devices with one answer, and up to three fakes that all say one thing.
    mechanism, chance, found = DesignMechanism(design, "2"), 0.5, set()
    responses = mechanism.responses
    for answer in (0, mechanism.categories - 1):
        entry = [probability(mechanism, answer, y) for y in range(responses)]
        law = []
        for seen in combinations_with_replacement(range(responses), 3):
            counts = Counter(seen)
            ways = 6 // prod(factorial(count) for count in counts.values())
            law.append((counts, ways * prod((entry[y] for y in seen), start=Fraction(1))))
        alarm = (any(map(np.any, impossible_counts(mechanism, one, chance))) for one, _ in law)
        assert sum(p for (_, p), flag in zip(law, alarm, strict=True) if flag) <= chance
        for fakes, response in ((0, 0), (1, 0), (3, 0), (3, responses - 1)):
            wrong = Fraction()
            for counts, p in law:
                least = fewest_fakes(mechanism, counts + Counter({response: fakes}), chance)
                found.add(least)
                wrong += p * (least > fakes)
            assert wrong <= chance
    assert max(found) > 0


@st.composite
def any_matrix(draw: st.DrawFn) -> SolutionMatrix:
    k = draw(st.integers(2, 4))
    responses = draw(st.integers(k, k + 4))
    weights = st.lists(st.integers(0, 50), min_size=responses, max_size=responses).filter(any)
    return SolutionMatrix.exact(
        [[Fraction(w, sum(row)) for w in row] for row in (draw(weights) for _ in range(k))]
    )


@settings(max_examples=effort(150))
@given(any_matrix())
def test_a_random_matrix_has_the_left_inverse_solved_in_fractions(matrix: SolutionMatrix) -> None:
    inverse = exact_left_inverse(matrix)
    assume(inverse is not None)
    assert inverse is not None
    # Rounding errors of 1e-16 stay below 1e-9.
    assume(max(abs(g) for kernel in inverse for g in kernel) < 10**4)
    found = DenseDecoder(matrix).kernels(np.eye(matrix.categories))
    np.testing.assert_allclose(found, floats(inverse), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("epsilon", ["0.001", "0.000001", "0.000000000000001"])
@pytest.mark.parametrize("counts", [(501, 499), (10**9, 10**9 + 1), (1, 0), (3, 7)])
def test_nothing_cancels_at_a_very_small_epsilon(epsilon: str, counts: tuple[int, int]) -> None:
    mechanism = RandomisedResponse(2, epsilon)
    q, kappa = mechanism.lie, mechanism.truth - mechanism.lie
    exact = [float((Fraction(c, sum(counts)) - q) / kappa) for c in counts]
    assert debias(mechanism, counts).tolist() == exact
    assert exact[0] != exact[1]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_the_inverse_of_two_hundred_categories_undoes_the_matrix(epsilon: str) -> None:
    matrix = solution_matrix(clamped_geometric(200, epsilon))
    np.testing.assert_allclose(left_inverse(matrix) @ matrix.T, np.eye(200), atol=1e-9)


FEWER = SolutionMatrix.exact(((1, 0), (0, 1), (Fraction(1, 2),) * 2))
NEAR = np.array([[0.5, 0.3, 0.2], [0.5, 0.3 + 3e-14, 0.2 - 3e-14], [0.1, 0.2, 0.7]])


def test_what_cannot_be_inverted_is_refused_with_what_to_do() -> None:
    for matrix in (incidence([{0}, {0}], 2, 3), FEWER):  # equal rows; fewer responses than answers
        with pytest.raises(NotInvertible):
            debias(matrix, (3, 4))
    what = r"condition number .*; raise epsilon or use fewer"
    with pytest.raises(NotInvertible, match=what):
        debias(clamped(200, Fraction(2**62 - 2**30, 2**62)), [1] * 200)
    with pytest.raises(NotInvertible, match="there are fewer different responses"):
        left_inverse(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.125, 0.875, 0.0]]))
    for split in (1, 3):
        with pytest.raises(NotInvertible, match=what):
            left_inverse(np.repeat(NEAR / split, split, axis=1))
        assert left_inverse(np.repeat(NEAR[1:] / split, split, axis=1)).shape == (2, 3 * split)


def test_a_histogram_labels_raw_counts_by_what_devices_send() -> None:
    labels, raw = ("no", "rather not", "rather", "yes"), (400, 300, 200, 100)
    matrix = (("0.4", "0.3", "0.2", "0.1"), ("0.1", "0.2", "0.3", "0.4"))
    specification = calibrated("matrix", 2, "2", {"matrix": matrix, "responses": labels})
    survey = manifest(categories=("no", "yes"), epsilon="2", specification=specification)
    histogram = estimate_histogram(survey, 0, raw)
    written = histogram.to_dict()
    assert written["responses"] == [
        {"response": label, "raw": count, "impossible": False}
        for label, count in zip(labels, raw, strict=True)
    ]
    rows = written["categories"]
    assert isinstance(rows, list)
    assert [(row["category"], row["raw"]) for row in rows] == [("no", None), ("yes", None)]
    assert rows[0]["estimate"] == pytest.approx(1)
    assert re.search(r"^answer .*\nno .*\nyes ", str(histogram), re.MULTILINE)
    parsed = list(csv.DictReader(io.StringIO(histogram_csv(histogram))))
    assert [(row["category"], row["response"], row["raw"]) for row in parsed] == [
        *(("no", "", ""), ("yes", "", "")),
        *(("", label, str(count)) for label, count in zip(labels, raw, strict=True)),
    ]
    shown = r"^response +raw *\nno +400 *\nrather not +300 *\n"
    assert re.search(shown, document_text(histogram.document(raw=True)), re.MULTILINE)
    # Too few of the honest say the one thing, and too many the other.
    poisoned = estimate_histogram(survey, 0, (5000, 3000, 2000, 10))
    assert poisoned.impossible == ("yes", "no", "yes")
    assert "!! Do not use these figures: honest devices would not produce" in str(poisoned)


def test_decoders_are_shared_by_equal_mechanisms_and_so_are_checked_counts() -> None:
    made = decoder_of(RandomisedResponse(5, "1"))
    assert decoder_of(RandomisedResponse(5, "1")) is made
    assert decoder_of(RandomisedResponse(5, "2")) is not made
    tally = decoder_of(FORMULAS).tally((1, 2, 3, 4))
    assert decoder_of(FORMULAS).tally(tally) is tally
    assert frequency_intervals(FORMULAS, tally, 0.95).methods
    with pytest.raises(ValueError, match="another mechanism"):
        made.tally(tally)


_WRONG = [
    *[((), "counts are"), ((1, 2, 3), "counts are"), ((1, 2, 3, 4, 5), "counts are")],
    *[
        ((0, 0, 0, 0), "no reports"),
        ((5, -1, 0, 0), "not be negative"),
        ((-1, 0, 0, 0), "not be negative"),
    ],
    *[({4: 1}, "from 0 to 3"), ({0: 0}, "no reports"), ({}, "no reports"), ({1: -1}, "no")],
]


@pytest.mark.parametrize(("counts", "problem"), _WRONG)
def test_counts_that_allow_no_estimate_are_refused(counts: Any, problem: str) -> None:
    for mechanism in (FORMULAS, matrix_of(FORMULAS)):
        with pytest.raises(ValueError, match=problem):
            debias(mechanism, counts)
