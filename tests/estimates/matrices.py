"""Matrices for the tests of estimates, and the exact laws of what they produce."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from deniable.audit import SolutionMatrix
from deniable.estimates import Estimate, Model, decoder_of
from deniable.estimates.decoders import Counts
from deniable.estimates.estimate import query_of
from deniable.estimates.forms import Sample
from deniable.estimates.frequencies import Intervals, intervals_of, report_covariance
from deniable.estimates.influences import furthest_shifts
from deniable.estimates.means import mean_of
from deniable.estimates.poisoning import FALSE_ALARM, Tests
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.support.entries import probability
from tests.support.geometric import clamped, clamped_geometric

Floats = NDArray[np.float64]

LN_3 = "1.098612288668109691"
"""ln 3 to 18 places, so that E = 3 to about 1e-18."""

FORMULAS = RandomisedResponse(4, LN_3)
"""k = 4, E = 3: q = 1/6, d = 1/2, kappa = 1/3."""


def incidence(supports: Sequence[set[int]], responses: int, odds: int) -> SolutionMatrix:
    """Return a 0/1 incidence matrix with weight ``odds`` for 1 and weight 1 for 0, row by row."""
    rows = []
    for support in supports:
        weights = [odds if y in support else 1 for y in range(responses)]
        rows.append(tuple(Fraction(weight, sum(weights)) for weight in weights))
    return SolutionMatrix.exact(rows)


WIDE = incidence([{0, 1}, {1, 2}, {0, 3}], 4, 3)
"""Three categories, four responses: more columns than rows."""

MECHANISMS: dict[str, Mechanism] = {
    "coin": RandomisedResponse(2, "0.5"),
    "coarse grid": RandomisedResponse(3, "1", bits=6),
    "with delta": RandomisedResponse(3, "1", "0.125"),
    "wide": WIDE,
    "skewed square": SolutionMatrix([[12, 6, 2], [4, 10, 6], [5, 5, 10]], 20),
    "numeric": clamped(3, Fraction(1, 2)),
}

FREQUENCIES: dict[int, list[Fraction]] = {
    2: [Fraction(1, 4), Fraction(3, 4)],
    3: [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
}
"""True frequencies by number of categories; with 4 devices they are whole numbers of them."""


def response_law(mechanism: Mechanism, frequencies: Sequence[Fraction]) -> list[Fraction]:
    """Return lambda = P^T f, exactly."""
    return [
        sum((f * probability(mechanism, x, y) for x, f in enumerate(frequencies)), Fraction(0))
        for y in range(mechanism.responses)
    ]


def falling(categories: int, ratio: Fraction) -> SolutionMatrix:
    """Return the exponential mechanism of answers on a line, r^|x - y|, as a survey may have it."""
    weights = [[ratio ** abs(x - y) for y in range(categories)] for x in range(categories)]
    exact = SolutionMatrix.exact([[weight / sum(row) for weight in row] for row in weights])
    return exact.certified("4", "0")


SURVEYED: dict[str, Mechanism] = {
    "matrix": falling(7, Fraction(5, 7)),
    "numeric": clamped_geometric(7, "2"),
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
            (probability(mechanism, x, y) for x, y in zip(answers, responses, strict=True)),
            start=Fraction(1),
        )
        yield tuple(responses.count(y) for y in range(mechanism.responses)), chance


def exact_left_inverse(mechanism: Mechanism) -> list[list[Fraction]] | None:
    """Return G with G P^T = I of least variance at uniform frequencies, in Fractions.

    G = C^-1 P D^-1 with D the columns' masses and C = P D^-1 P^T; None if C is singular.
    """
    k, responses = mechanism.categories, range(mechanism.responses)
    matrix = [[probability(mechanism, x, y) for y in responses] for x in range(k)]
    mass = [sum((row[y] for row in matrix), Fraction(0)) for y in responses]
    scaled = [
        [p / m if m else Fraction(0) for p, m in zip(row, mass, strict=True)] for row in matrix
    ]
    # Gauss and Jordan on [C | P D^-1] leave [I | G].
    rows = [
        [sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0)) for other in matrix]
        + one
        for one in scaled
    ]
    for i in range(k):
        pivot = next((row for row in rows[i:] if row[i]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        own = [entry / pivot[i] for entry in pivot]
        rows = [[a - row[i] * b for a, b in zip(row, own, strict=True)] for row in rows]
        rows.insert(i, own)
    return [row[k:] for row in rows]


def subset_selection(categories: int, size: int, odds: int) -> SolutionMatrix:
    """Return the design whose responses are all subsets of a size; each supports its members."""
    subsets = list(combinations(range(categories), size))
    members = [{y for y, subset in enumerate(subsets) if x in subset} for x in range(categories)]
    return incidence(members, len(subsets), odds)


NON_SQUARE: dict[str, SolutionMatrix] = {
    "wide": WIDE,
    "two by seven": incidence([{0, 1, 2}, {2, 3, 4}], 7, 5),
    "subsets": subset_selection(5, 2, 3),
    "a response that never occurs": SolutionMatrix([[3, 0, 2, 1], [1, 0, 4, 1], [1, 0, 1, 4]], 6),
    "a response that comes twice": SolutionMatrix([[2, 2, 1, 1], [1, 1, 3, 1], [1, 1, 1, 3]], 6),
    "one response excludes a category": SolutionMatrix(
        [[4, 1, 0, 3], [1, 4, 2, 1], [2, 1, 4, 1]], 8
    ),
    "weights of 64 bits": SolutionMatrix(
        [[2**63, 2**62, 2**62, 0], [7, 2**63 - 7, 2**62, 2**62]], 2**64
    ),
}
"""More responses than categories, or of other meaning."""


def counts_of(
    mechanism: Mechanism, answers: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the count of each response of devices with these answers."""
    counts = np.zeros(mechanism.responses, dtype=np.int64)
    for answer, devices in zip(*np.unique(answers, return_counts=True), strict=True):
        weights = np.array(mechanism.row(int(answer)), dtype=np.float64)
        counts += rng.multinomial(devices, weights / weights.sum())
    return counts


def sample(mechanism: Mechanism, counts: Counts) -> Sample:
    return Sample(mechanism, decoder_of(mechanism).tally(counts))


def debias(mechanism: Mechanism, counts: Counts) -> Floats:
    decoder = decoder_of(mechanism)
    return decoder.frequencies(decoder.tally(counts))


def standard_errors(mechanism: Mechanism, counts: Counts, model: Model) -> Floats:
    decoder = decoder_of(mechanism)
    return decoder.standard_errors(decoder.tally(counts), model)


def estimated_covariance(mechanism: Mechanism, counts: Counts) -> Floats:
    """Return the unbiased estimate of the estimates' covariance, of one epoch."""
    decoder = decoder_of(mechanism)
    tally, found = decoder.tally(counts), np.zeros((decoder.categories, decoder.categories))
    for part in decoder.parts:
        own, at = part.tally(tally), part.categories
        f, shifts = (
            part.decoder.frequencies(own),
            part.decoder.shifts(own, np.eye(part.decoder.categories)),
        )
        spread = report_covariance(part.decoder, f, own.shares, Model.SAMPLED)
        found[at, at] = spread / own.degrees(Model.SAMPLED) + shifts @ shifts.T
    return found


def frequency_intervals(mechanism: Mechanism, counts: Counts, level: float) -> Intervals:
    decoder = decoder_of(mechanism)
    return intervals_of(decoder, decoder.tally(counts), level)


def linear_query(
    mechanism: Mechanism, counts: Counts, weights: Sequence[float], level: float = 0.95
) -> Estimate:
    return query_of(sample(mechanism, counts), weights, level)


def mean(mechanism: Mechanism, counts: Counts, values: Sequence[Fraction]) -> Estimate:
    return mean_of(sample(mechanism, counts), values)


def query_influence(mechanism: Mechanism, weights: Floats) -> float:
    return max(furthest_shifts(mechanism, weights))


def worst_shifts(mechanism: Mechanism, frequencies: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the most by which fakes of a share bias each estimate down and up."""
    decoder = decoder_of(mechanism)
    reach, share = decoder.extremes, share * len(decoder.parts)
    return share * (reach.least - frequencies), share * (reach.most - frequencies)


def impossible_counts(
    mechanism: Mechanism, counts: Counts, false_alarm: float = FALSE_ALARM
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the flags of responses and of categories; of a design's, of categories alone."""
    decoder = decoder_of(mechanism)
    tests, tally = Tests(decoder, false_alarm), decoder.tally(counts)
    if decoder.likeliest_response is not None:
        return tests.too_often(tally), tests.flags(tally)[0]
    return tests.flags(tally)


def fewest_fakes(mechanism: Mechanism, counts: Counts, false_alarm: float = FALSE_ALARM) -> int:
    decoder = decoder_of(mechanism)
    return Tests(decoder, false_alarm).fewest_fakes(decoder.tally(counts))


def detectable_share(mechanism: Mechanism, n: int) -> float | None:
    return Tests(decoder_of(mechanism), FALSE_ALARM).detectable_share(n)
