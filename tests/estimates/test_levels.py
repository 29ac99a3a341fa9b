"""Levels of a tree: the best one, and its variance, by the whole matrix."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from deniable.estimates import cumulative_variance
from deniable.estimates.decoders import decoder_of
from deniable.estimates.decoders.dense import solution_matrix
from deniable.mechanisms.answering import Answering
from deniable.planning.specification import _answered, best_tree
from tests.estimates.test_decoders import COMPLETE, OTHERS
from tests.mechanisms.test_levels import levels
from tests.support.effort import some


def cumulative(k: int) -> np.ndarray:
    return np.tril(np.ones((k, k)))


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


@pytest.mark.parametrize(("categories", "tree"), some(COMPLETE + OTHERS[::2]))
def test_no_population_varies_more_than_is_planned_for(
    categories: int, tree: dict[int, Answering]
) -> None:
    mechanism, generator = levels(categories, tree), np.random.default_rng(3)
    matrix = solution_matrix(mechanism)
    g = decoder_of(mechanism).kernels(cumulative(categories)[:-1])
    # Two answers are the worst population, which that is the variance of.
    pairs = [
        np.eye(categories)[[one, other]].T @ [t, 1 - t]
        for one, other in combinations(range(categories), 2)
        for t in np.linspace(0, 1, 101)
    ]
    some_of_all = generator.dirichlet(np.full(categories, 0.1), 200)
    others, worst = (
        float((laws @ (g**2).T - (laws @ g.T) ** 2).max())
        for laws in (some_of_all @ matrix, np.array(pairs) @ matrix)
    )
    assert others <= cumulative_variance(mechanism) * (1 + 1e-9)
    assert worst == pytest.approx(cumulative_variance(mechanism), rel=1e-3)
