"""Matrices for the tests of estimates, and the exact laws of what they produce."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import (
    Circular,
    ClampedGeometric,
    Mechanism,
    Metric,
    Ordinal,
    RandomisedResponse,
    SolutionMatrix,
)

Floats = NDArray[np.float64]

LN_3 = "1.098612288668109691"
"""ln 3 to 18 places, so that E = 3 to about 1e-18."""

FORMULAS = RandomisedResponse(4, LN_3)
"""k = 4, E = 3: q = 1/6, d = 1/2, kappa = 1/3, as in the check values of docs/mathematics.md."""


def incidence(supports: Sequence[set[int]], responses: int, odds: int) -> SolutionMatrix:
    """Return a 0/1 incidence matrix with weight ``odds`` for 1 and weight 1 for 0, row by row."""
    rows = []
    for support in supports:
        weights = [odds if y in support else 1 for y in range(responses)]
        rows.append(tuple(Fraction(weight, sum(weights)) for weight in weights))
    return SolutionMatrix.exact(rows)


WIDE = incidence([{0, 1}, {1, 2}, {0, 3}], 4, 3)
"""Three categories, four responses: more columns than rows."""

TRIANGLE = ((0, 1, 3), (1, 0, 2), (3, 2, 0))

MECHANISMS: dict[str, Mechanism] = {
    "coin": RandomisedResponse(2, "0.5"),
    "coarse grid": RandomisedResponse(3, "1", bits=6),
    "with delta": RandomisedResponse(3, "1", "0.125"),
    "wide": WIDE,
    "skewed square": SolutionMatrix.exact(
        (
            (Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)),
            (Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)),
            (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
        )
    ),
    "ordinal": Ordinal(3, Fraction(1, 2)),
    "circular": Circular(3, Fraction(2, 5)),
    "metric": Metric(TRIANGLE, Fraction(2, 3)),
    "numeric": ClampedGeometric(3, Fraction(1, 2)),
}

FREQUENCIES: dict[int, list[Fraction]] = {
    2: [Fraction(1, 4), Fraction(3, 4)],
    3: [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
}
"""True frequencies by number of categories; with 4 devices they are whole numbers of them."""


def response_law(mechanism: Mechanism, frequencies: Sequence[Fraction]) -> list[Fraction]:
    """Return lambda = P^T f, exactly."""
    return [
        sum((f * mechanism.probability(x, y) for x, f in enumerate(frequencies)), Fraction(0))
        for y in range(mechanism.responses)
    ]


LADDER = tuple(tuple(abs(x * x - y * y) for y in range(7)) for x in range(7))

SURVEYED: dict[str, Mechanism] = {
    "ordinal": Ordinal.calibrated(7, "2"),
    "circular": Circular.calibrated(7, "2"),
    "metric": Metric.calibrated(LADDER, "2"),
    "numeric": ClampedGeometric.calibrated(7, "2"),
}
"""One mechanism of each kind that is no randomised response, on seven categories."""


Law = Iterator[tuple[tuple[int, ...], Fraction]]


def sampled_law(mechanism: Mechanism, frequencies: Sequence[Fraction], n: int) -> Law:
    """Yield all counts of n devices drawn from the frequencies, with their exact probability."""
    lam = response_law(mechanism, frequencies)
    for counts in product(range(n + 1), repeat=len(lam)):
        if sum(counts) == n:
            ways = factorial(n) // prod(factorial(count) for count in counts)
            yield (
                counts,
                ways * prod((p**c for p, c in zip(lam, counts, strict=True)), start=Fraction(1)),
            )


def fixed_law(mechanism: Mechanism, answers: Sequence[int]) -> Law:
    """Yield all counts of devices with these answers; the same counts may come repeatedly."""
    for responses in product(range(mechanism.responses), repeat=len(answers)):
        chance = prod(
            (mechanism.probability(x, y) for x, y in zip(answers, responses, strict=True)),
            start=Fraction(1),
        )
        yield tuple(responses.count(y) for y in range(mechanism.responses)), chance


def exact_left_inverse(mechanism: Mechanism) -> list[list[Fraction]] | None:
    """Return G with G P^T = I of a square mechanism, solved in Fractions; None if singular."""
    k = mechanism.categories
    # Gauss and Jordan on [P^T | I] leave [I | (P^T)^-1].
    rows = [
        [mechanism.probability(x, y) for x in range(k)] + [Fraction(y == j) for j in range(k)]
        for y in range(k)
    ]
    for i in range(k):
        pivot = next((row for row in rows[i:] if row[i]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        scaled = [entry / pivot[i] for entry in pivot]
        rows = [
            [entry - row[i] * own for entry, own in zip(row, scaled, strict=True)] for row in rows
        ]
        rows.insert(i, scaled)
    return [row[k:] for row in rows]
