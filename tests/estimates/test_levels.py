"""Levels of a tree: kernels, variances and least squares, by the whole matrix."""

from collections.abc import Iterator

import numpy as np
import pytest

from deniable.estimates import Histogram, cumulative_variance
from deniable.estimates.decoders import Model, decoder_of
from deniable.estimates.decoders.dense import left_inverse, solution_matrix
from deniable.estimates.decoders.levels import LevelsDecoder
from deniable.mechanisms import Levels
from deniable.mechanisms.answering import Answering
from deniable.planning.specification import _answered, best_tree
from deniable.simulation import randomise_many
from deniable.simulation.bulk import SimulatedWords
from tests.mechanisms.test_levels import RR, TREES, levels
from tests.support.effort import some

COMPLETE: list[tuple[int, dict[int, Answering]]] = [
    (4, {1: RR}),
    (8, {4: RR, 2: ("subset", 2), 1: ("subset", 3)}),
    (9, {3: RR, 1: ("affine", 3, 2, 1)}),
    (12, {6: RR, 2: ("subset", 2), 1: ("subset", 4)}),
    (25, {5: ("affine", 5, 1, 2), 1: ("affine", 5, 2, 1)}),
]
"""Nodes of a level hold as many answers, and are all points of its design."""
OTHERS: list[tuple[int, dict[int, Answering]]] = [
    *TREES,
    (10, {4: RR, 2: ("affine", 7, 1, 2), 1: RR}),
]


def cumulative(k: int) -> np.ndarray:
    return np.tril(np.ones((k, k)))


@pytest.mark.parametrize(("categories", "tree"), COMPLETE + OTHERS)
def test_kernels_are_unbiased_and_everything_else_follows_from_the_matrix(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism = levels(categories, tree)
    decoder, matrix, k = decoder_of(mechanism), solution_matrix(mechanism), categories
    assert isinstance(decoder, LevelsDecoder)
    generator = np.random.default_rng(5)
    weights = np.concatenate([np.eye(k), cumulative(k), generator.normal(size=(3, k))])
    g = decoder.kernels(weights)
    assert g @ matrix.T == pytest.approx(weights, abs=1e-9)
    assert decoder.kernels(weights[1]) == pytest.approx(g[1], abs=1e-12)
    inverse = g[:k]
    values = generator.normal(size=(4, mechanism.responses))
    assert decoder.sums(values) == pytest.approx(values @ inverse.T, abs=1e-7)
    assert decoder.means(values) == pytest.approx(values @ matrix.T, abs=1e-9)
    f = generator.dirichlet(np.ones(k))
    assert decoder.response_shares(f) == pytest.approx(f @ matrix, abs=1e-12)
    counts = generator.integers(0, 9, mechanism.responses)
    tally = decoder.tally(counts.tolist())
    estimates = decoder.frequencies(tally)
    assert estimates == pytest.approx(inverse @ tally.shares, abs=1e-9)
    assert estimates.sum() == pytest.approx(1)
    second, squares = inverse**2 @ matrix.T, inverse**2 @ tally.shares
    off = second + np.where(np.eye(k), -np.inf, 0)
    assert decoder.moments.own == pytest.approx(second.diagonal())
    assert decoder.moments.other == pytest.approx(np.maximum(off.max(axis=1), 0))
    least = (second - np.eye(k)).min(axis=1)
    assert decoder.moments.least_variance == pytest.approx(np.maximum(least, 0), abs=1e-9)
    assert decoder.extremes.least == pytest.approx(inverse.min(axis=1))
    assert decoder.extremes.most == pytest.approx(inverse.max(axis=1))
    for size in (0, 1, k // 2, k - 1):
        largest = np.sort(inverse, axis=0)[k - size :].sum(axis=0).max()
        assert decoder.most_of_sets(size) == pytest.approx(largest)
    assert decoder.most_of_sets(None) == pytest.approx(np.maximum(inverse, 0).sum(axis=0).max())
    for model, less in ((Model.SAMPLED, estimates**2), (Model.FIXED, estimates)):
        expected = np.sqrt(np.maximum(squares - less, 0) / tally.degrees(model))
        assert decoder.standard_errors(tally, model) == pytest.approx(expected, abs=1e-9)


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
def test_they_are_generalised_least_squares(categories: int, tree: dict[int, Answering]) -> None:
    mechanism = levels(categories, tree)
    best = left_inverse(solution_matrix(mechanism))
    assert decoder_of(mechanism).kernels(np.eye(categories)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("categories", [5, 49, 64])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_the_best_tree_has_the_variance_that_it_says(categories: int, epsilon: str) -> None:
    tree = best_tree(categories, float(epsilon))
    made = levels(categories, dict(zip(tree.widths, tree.mechanisms, strict=True)), epsilon)
    decoder, even = decoder_of(made), made.responses
    shares, weights = decoder.even_shares, np.vstack([np.zeros(categories), cumulative(categories)])
    g = decoder.kernels(weights[:-1])  # from no answer to all but the last
    variance = float((g**2 @ shares - (g @ shares) ** 2).mean())
    assert sum(part.responses for part in tree.parts) == even
    # A last node may hold fewer answers than others.
    assert variance == pytest.approx(tree.variance, rel=0.03)


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
    assert variance(best_tree(24, float(epsilon)).widths) <= 1.04 * best


def test_bulk_reports_estimate_the_truth() -> None:
    made = levels(9, {3: RR, 1: ("affine", 3, 2, 1)}, "2")
    f = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    generator = np.random.default_rng(8)
    answers = generator.choice(9, 200_000, p=f)
    responses = randomise_many(made, answers, SimulatedWords(generator))
    counts = np.bincount(responses, minlength=made.responses)
    histogram = Histogram.of_counts(made, counts.tolist(), level=1 - 1e-9)
    assert ((histogram.low <= f) & (f <= histogram.high)).all()  # the seed is fixed
    assert isinstance(made, Levels)
    assert histogram.poisoning.fewest_fakes == 0


@pytest.mark.parametrize(("categories", "tree"), some(COMPLETE + OTHERS))
def test_no_population_varies_more_than_is_planned_for(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism = levels(categories, tree)
    decoder, matrix = decoder_of(mechanism), solution_matrix(mechanism)
    g, generator = decoder.kernels(cumulative(categories)[:-1]), np.random.default_rng(3)
    most = 0.0
    for _ in range(200):
        f = generator.dirichlet(np.full(categories, 0.1))
        law = f @ matrix
        most = max(most, float((g**2 @ law - (g @ law) ** 2).max()))
    assert most <= cumulative_variance(mechanism) * (1 + 1e-9)
    # Two answers are the worst population, which that is the variance of.
    pairs = [
        np.eye(categories)[[one, other]].T @ [t, 1 - t]
        for one in range(categories)
        for other in range(categories)
        for t in np.linspace(0, 1, 101)
    ]
    laws = np.array(pairs) @ matrix
    worst = (laws @ (g**2).T - (laws @ g.T) ** 2).max()
    assert worst == pytest.approx(cumulative_variance(mechanism), rel=1e-3)
