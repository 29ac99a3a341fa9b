"""Decoders of designs: each figure against its definition, in Fractions, small and large."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

from deniable.estimates import (
    Model,
    covariance,
    debias,
    decoder_of,
    estimated_covariance,
    fewest_fakes,
    impossible_counts,
    influence,
    linear_query,
    set_influence,
    standard_errors,
)
from deniable.mechanisms import RandomisedResponse
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset
from tests.estimates.matrices import SURVEYED, Floats
from tests.support.effort import some

SMALL = {
    repr(design): DesignMechanism(design, "1")
    for design in (
        *(Affine(9, 3, 2, 1), Affine(7, 3, 2, 2), Affine(20, 5, 2, 2), Affine(6, 7, 1, 3)),
        *(Affine(8, 2, 3, 1), Affine(5, 2, 3, 1), Affine(3, 11, 1, 2), Affine(20, 3, 3, 1)),
        *(Affine(2, 31, 1, 1), Affine(3, 31, 1, 30), Affine(7, 7, 1, 3), Affine(10, 13, 1, 4)),
        *(Subset(5, 2), Subset(6, 3), DifferenceSet(13, 13), DifferenceSet(11, 16)),
    )
}
LARGE = {
    repr(design): DesignMechanism(design, "1")
    for design in (
        *(Affine(1024, 37, 2, 14), Affine(1024, 11, 3, 3), Affine(10_000, 101, 2, 27)),
        Affine(2458, 2467, 1, 6),
    )
}
every_small = pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
some_large = pytest.mark.parametrize("mechanism", some([*LARGE.values()]), ids=some([*LARGE]))


def kernels(mechanism: DesignMechanism, response: int) -> list[Fraction]:
    """Return the weight of a response in each estimate, by definition."""
    k, kappa = mechanism.categories, mechanism.hit - mechanism.miss
    held = [mechanism.design.supports(response, j) for j in range(k)]
    missing = (1 - (sum(held) - k * mechanism.miss) / kappa) / k
    either = [missing + (supported - mechanism.miss) / kappa for supported in (False, True)]
    return [either[supported] for supported in held]


@cache
def matrix(mechanism: DesignMechanism) -> tuple[Floats, Floats]:
    """Return P and G of a small one; that P g = w is checked in Fractions."""
    k, responses = mechanism.categories, range(mechanism.responses)
    g = [kernels(mechanism, y) for y in responses]
    row = [mechanism.probability(1, y) for y in responses]
    assert [sum(p * g[y][j] for y, p in enumerate(row)) for j in range(k)] == [
        j == 1 for j in range(k)
    ]
    p = [[float(mechanism.probability(x, y)) for y in responses] for x in range(k)]
    return np.array(p), np.array(g, dtype=np.float64).T


@every_small
def test_kernels_and_their_transpose_and_extremes_are_exact(mechanism: DesignMechanism) -> None:
    decoder, k = decoder_of(mechanism), mechanism.categories
    p, g = matrix(mechanism)
    np.testing.assert_allclose(g @ p.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(decoder.kernels(np.eye(k)), g, atol=1e-12)
    np.testing.assert_allclose(decoder.sums(np.eye(mechanism.responses)), g.T, atol=1e-12)
    np.testing.assert_allclose(decoder.means(g**2), g**2 @ p.T, atol=1e-9)
    np.testing.assert_allclose(decoder.extremes.least, g.min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(decoder.extremes.most, g.max(axis=1), rtol=1e-12)
    assert influence(mechanism) == pytest.approx(max(g.max(), 1 - g.min()), rel=1e-12)


@every_small
@pytest.mark.parametrize("model", Model)
def test_covariances_and_errors_are_exact(mechanism: DesignMechanism, model: Model) -> None:
    p, g = matrix(mechanism)
    generator = np.random.default_rng(4)
    f = generator.dirichlet(np.ones(mechanism.categories))
    lam = f @ p

    def expected(shares: Floats, f: Floats) -> Floats:
        of_categories = np.outer(f, f) if model is Model.SAMPLED else np.diag(f)
        return np.asarray((g * shares) @ g.T - of_categories)

    found = covariance(mechanism, f, 1000, model)
    np.testing.assert_allclose(found, expected(lam, f) / 1000, atol=1e-12)
    counts = generator.multinomial(1000, lam).tolist()
    shares, degrees = np.array(counts) / 1000, 1000 - (model is Model.SAMPLED)
    right = expected(shares, g @ shares) / degrees
    np.testing.assert_allclose(
        estimated_covariance(mechanism, counts, model), right, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        standard_errors(mechanism, counts, model) ** 2, right.diagonal(), atol=1e-12
    )


@pytest.mark.parametrize(
    "mechanism",
    [*SMALL.values(), RandomisedResponse(7, "1"), *SURVEYED.values()],
    ids=[*SMALL, "randomised response", *SURVEYED],
)
def test_the_influence_on_a_set_is_that_on_the_worst_of_its_size(mechanism: Any) -> None:
    k = mechanism.categories
    g = decoder_of(mechanism).kernels(np.eye(k))
    # Of all sets of a size, a response moves those most in which its kernels are the largest.
    ordered = np.sort(g, axis=0)
    worst = [
        max(ordered[k - size :].sum(axis=0).max(), 1 - ordered[:size].sum(axis=0).min())
        for size in range(k + 1)
    ]
    found = [set_influence(mechanism, size) for size in range(k + 1)]
    assert found == pytest.approx(worst, rel=1e-9)
    assert set_influence(mechanism) == pytest.approx(max(worst), rel=1e-9)
    assert found[1] == pytest.approx(influence(mechanism), rel=1e-9)
    with pytest.raises(ValueError, match=f"0 to {k}"):
        set_influence(mechanism, k + 1)


@cache
def few(mechanism: DesignMechanism) -> tuple[Mapping[int, int], Floats]:
    """Return some counts, the last response's among them, and the weights of what was seen."""
    generator = np.random.default_rng(11)
    seen = sorted({mechanism.responses - 1, *generator.integers(mechanism.responses, size=30)})
    counts = {int(y): int(generator.integers(1, 50)) for y in seen}
    return counts, np.array([kernels(mechanism, y) for y in counts], dtype=np.float64)


@some_large
def test_figures_of_a_large_design_are_those_of_the_few_responses_seen(
    mechanism: DesignMechanism,
) -> None:
    counts, g = few(mechanism)
    n, times = sum(counts.values()), np.array([*counts.values()])
    estimate = times @ g / n
    np.testing.assert_allclose(debias(mechanism, counts), estimate, atol=1e-12)
    assert debias(mechanism, counts).sum() == pytest.approx(1)
    squares = times @ g**2 / n
    for model, less, degrees in (
        (Model.SAMPLED, estimate**2, n - 1),
        (Model.FIXED, estimate, n),
    ):
        np.testing.assert_allclose(
            standard_errors(mechanism, counts, model) ** 2,
            np.maximum(squares - less, 0) / degrees,
            rtol=1e-9,
            atol=1e-12,
        )
    # A query's error is from the sample variance of its kernel over the reports.
    weights = np.random.default_rng(2).uniform(size=mechanism.categories)
    found = linear_query(mechanism, counts, weights.tolist())
    values = np.repeat(g @ weights, times)
    assert found.value == pytest.approx(values.mean(), rel=1e-9)
    assert found.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(n), rel=1e-9)


@pytest.mark.parametrize("name", ["Affine(5, 2, 3, 1)", "Subset(5, 2)"])
def test_honest_devices_are_flagged_at_most_so_often_and_fakes_are_there_exactly(name: str) -> None:
    # Three devices with one answer, and up to three fakes that all say one thing.
    mechanism, chance, found = SMALL[name], 0.5, set()
    k, responses = mechanism.categories, mechanism.responses
    for answer in (0, k - 1):
        entry = [mechanism.probability(answer, y) for y in range(responses)]
        law = []
        for seen in combinations_with_replacement(range(responses), 3):
            counts = Counter(seen)
            ways = 6 // prod(factorial(count) for count in counts.values())
            law.append((counts, ways * prod((entry[y] for y in seen), start=Fraction(1))))
        alarm = sum(
            p
            for counts, p in law
            if any(flags.any() for flags in impossible_counts(mechanism, counts, chance))
        )
        assert alarm <= chance
        for fakes, response in ((0, 0), (1, 0), (3, 0), (3, responses - 1)):
            wrong = Fraction()
            for counts, p in law:
                least = fewest_fakes(mechanism, counts + Counter({response: fakes}), chance)
                found.add(least)
                wrong += p * (least > fakes)
            assert wrong <= chance
    assert max(found) > 0
