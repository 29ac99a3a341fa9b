"""Matrices for the tests of estimates, and the exact laws of what they produce."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Draw, Mechanism, Privacy, RandomisedResponse, os_random_word

Floats = NDArray[np.float64]

LN_3 = "1.098612288668109691"
"""ln 3 to 18 places, so that E = 3 to about 1e-18."""

FORMULAS = RandomisedResponse(4, LN_3)
"""k = 4, E = 3: q = 1/6, d = 1/2, kappa = 1/3, as in the check values of docs/mathematics.md."""


@dataclass(frozen=True)
class ExplicitMatrix:
    """Any solution matrix, row by row: a mechanism without structure."""

    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        assert all(sum(row) == 1 and min(row) >= 0 for row in self.rows)

    @property
    def categories(self) -> int:
        return len(self.rows)

    @property
    def responses(self) -> int:
        return len(self.rows[0])

    @property
    def privacy(self) -> Privacy:
        raise NotImplementedError("estimates need no guarantee")

    def probability(self, category: int, response: int) -> Fraction:
        return self.rows[category][response]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        raise NotImplementedError("estimates draw nothing")


def explicit(mechanism: Mechanism) -> ExplicitMatrix:
    """Return the same matrix without its structure."""
    return ExplicitMatrix(
        tuple(
            tuple(mechanism.probability(x, y) for y in range(mechanism.responses))
            for x in range(mechanism.categories)
        )
    )


def incidence(supports: Sequence[set[int]], responses: int, odds: int) -> ExplicitMatrix:
    """Return a 0/1 incidence matrix with weight ``odds`` for 1 and weight 1 for 0, row by row."""
    rows = []
    for support in supports:
        weights = [odds if y in support else 1 for y in range(responses)]
        rows.append(tuple(Fraction(weight, sum(weights)) for weight in weights))
    return ExplicitMatrix(tuple(rows))


WIDE = incidence([{0, 1}, {1, 2}, {0, 3}], 4, 3)
"""Three categories, four responses: more columns than rows."""

MECHANISMS: dict[str, Mechanism] = {
    "coin": RandomisedResponse(2, "0.5"),
    "coarse grid": RandomisedResponse(3, "1", bits=6),
    "with delta": RandomisedResponse(3, "1", "0.125"),
    "wide": WIDE,
    "skewed square": ExplicitMatrix(
        (
            (Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)),
            (Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)),
            (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
        )
    ),
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
