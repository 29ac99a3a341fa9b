"""Reports that each question of docs/choosing.md takes here, and by its strongest published rival.

All are computed from the mechanisms' own variances, but for the square wave, which is simulated.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import erfc, exp, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import write
from deniable.estimates import reports_for_mean
from deniable.estimates.accuracy import (
    Accuracy,
    default_largest_share,
    share_variance,
    worst_variance,
)
from deniable.estimates.decoders import decoder_of
from deniable.mechanisms.answering import answering_kind
from deniable.messages import Specification
from deniable.planning import best, best_fresh
from deniable.planning.specification import specified

Floats = NDArray[np.float64]

LEVELS: Final = ("1", "2", "4")
_POINTS: Final = Accuracy.half_width(0.05)
_KEPT: Final = {"1": "4", "2": "5", "4": "6"}
"""The epsilon of a kept response, by that of one report."""
_ANSWERS: Final = 49
_MANY: Final = 105
_REPORTS: Final = 30
_RUNS: Final = 200
_TOLERANCE: Final = 1e-3
FALLING: Final = 0.9 ** np.arange(_ANSWERS) / np.sum(0.9 ** np.arange(_ANSWERS))
"""The ordered answers: each is 0.9 times as frequent as the one before."""
CUTS: Final = np.tri(_ANSWERS)[:-1]
"""The sums that are the shares of answers up to each but the last."""


class Rival(NamedTuple):
    """A published mechanism, and the reports that it takes."""

    reports: int
    name: str


Row = tuple[str, str, int, Rival]


def run() -> None:
    """Compute, print, and write the tables of docs/choosing.md."""
    head = ["| asked, epsilon | here | reports | strongest rival | reports |", "|---" * 5 + "|"]
    tables = {}
    for name, rows in TABLES.items():
        lines = [f"| {a} | {own} | {n:,} | {of} | {m:,} |" for a, own, n, (m, of) in rows()]
        print("\n".join([*head, *lines]))
        tables[f"choosing-{name}"] = [*head, *lines]
    write(tables)


def shares() -> Iterator[Row]:
    """Yield what the share of any one answer takes, of shares up to the default largest."""
    for k, epsilon in product((5, _MANY), LEVELS):
        chosen = best(k, epsilon)
        reports = _POINTS.reports(share_variance(chosen.mechanism()))
        yield f"{k} answers, {epsilon}", chosen.candidate.kind, reports, share_rival(k, epsilon)


def share_rival(k: int, epsilon: str) -> Rival:
    """Return the best of randomised response, subsets, unary encodings and hashing."""
    odds = exp(float(epsilon))
    root = sqrt(odds)
    ways = {
        "randomised response": (odds / (odds + k - 1), 1 / (odds + k - 1)),
        "symmetric unary encoding": (root / (root + 1), 1 / (root + 1)),
        "optimised unary encoding": (0.5, 1 / (odds + 1)),
        "Hadamard response": (odds / (odds + 1), 0.5),
    }
    by_hash = min((_pair(k, odds / (odds + g - 1), 1 / g), g) for g in range(2, 200))
    found = [Rival(_pair(k, *pair), name) for name, pair in ways.items()]
    by_set = min(_pair(k, *_subset(k, d, odds)) for d in range(2, k))
    found.append(Rival(by_set, "subset selection"))
    return min([*found, Rival(by_hash[0], f"optimised sketch, {by_hash[1]} values")])


def _subset(k: int, d: int, odds: float) -> tuple[float, float]:
    """Return the chances of sets of d answers."""
    hit = d * odds / (d * odds + k - d)
    return hit, (hit * (d - 1) + (1 - hit) * d) / (k - 1)


def _pair(k: int, hit: float, miss: float) -> int:
    """Return the reports that a mechanism takes that supports answers with these chances."""
    own = (hit * (1 - miss) ** 2 + (1 - hit) * miss**2) / (hit - miss) ** 2
    other = miss * (1 - miss) / (hit - miss) ** 2
    return _POINTS.reports(worst_variance(own, other, default_largest_share(k)))


def means() -> Iterator[Row]:
    """Yield what the mean of numbers takes, within 2 % of their range."""
    values = [Fraction(value) for value in range(_ANSWERS)]
    for epsilon in LEVELS:
        mechanism = specified("mean", _ANSWERS, epsilon).mechanism(_ANSWERS, epsilon, "0")
        reports = reports_for_mean(mechanism, values, 0.02 * (_ANSWERS - 1))
        yield f"{_ANSWERS} numbers, {epsilon}", "mean", reports, mean_rival(epsilon)


def mean_rival(epsilon: str) -> Rival:
    """Return the best of one bit, three outputs, the piecewise mechanism, and mixtures of two."""
    odds, x = exp(float(epsilon)), np.linspace(0, 1, 101)
    bit = three_outputs(odds, 0.0, x)
    # With more, c would be too many times as likely of the answer 1 as of 0.
    three = [three_outputs(odds, a, x) for a in np.linspace(0, odds / (odds + 2), 91)]
    pieces = [_piecewise(odds, odds**power, x) for power in np.linspace(0.2, 0.6, 41)]
    even = (_ANSWERS**2 - 1) / 12 * (2 / (_ANSWERS - 1)) ** 2

    def least(noises: list[Floats]) -> int:
        worst = min(float(noise.max()) for noise in noises)
        return Accuracy.half_width(0.04).reports(worst + even)  # the range is 2 wide

    parts = np.linspace(0, 1, 51)
    mixed = [b * one + (1 - b) * two for one in three[::3] for two in pieces[::4] for b in parts]
    return min(
        Rival(least([bit]), "one bit"),
        Rival(least(three), "three outputs"),
        Rival(least(pieces), "piecewise"),
        Rival(least(mixed), "three outputs or piecewise, at random"),
    )


def three_outputs(odds: float, a: float, x: Floats) -> Floats:
    """Return the noise of -c, 0 and c, where an answer 0 is sent as 0 with the chance a."""
    # Answers 1 are sent as 0 with the chance a/odds. At a = 0 this is one bit.
    c = (odds + 1) / (odds - 1) / (1 - a / odds)
    return np.asarray(c**2 * (1 - a + a * (1 - 1 / odds) * x) - x**2)


def _piecewise(odds: float, t: float, x: Floats) -> Floats:
    """Return the noise of a density that is odds times as high on a piece about the answer."""
    end = (odds + t) * (t + 1) / (t * (odds - 1))
    low, high = ((odds + t) * (x * t + side) / (t * (odds - 1)) for side in (-1, 1))
    density = t * (odds - 1) / (2 * (odds + t) ** 2)  # away from it
    squares = 2 * end**3 + (odds - 1) * (high**3 - low**3)
    return np.asarray(density * squares / 3 - x**2)


def quantiles() -> Iterator[Row]:
    """Yield what shares of answers up to a value take, the mean of all values.

    Such that 95 % of them are near enough; their errors are normal.
    """
    for epsilon in LEVELS:
        mechanism = specified("levels", _ANSWERS, epsilon).mechanism(_ANSWERS, epsilon, "0")
        decoder = decoder_of(mechanism)
        second = decoder.means(decoder.kernels(CUTS) ** 2) @ FALLING
        reports = _enough(second - (CUTS @ FALLING) ** 2)
        for rival in (Rival(hierarchy(epsilon), "tree"), square_wave(epsilon)):
            yield f"{_ANSWERS} ordered answers, {epsilon}", "levels", reports, rival


def _enough(variances: Floats) -> int:
    def missed(reports: int) -> float:
        return float(np.mean([erfc(0.05 * sqrt(reports / v / 2)) for v in variances]))

    return bisect_left(range(10**6), True, key=lambda n: missed(n) <= 0.05)


def hierarchy(epsilon: str) -> int:
    """Return the reports of a tree of the best fan-out.

    A device reports on one level at random, by randomised response up to a number of nodes and
    otherwise by optimised unary encoding. Levels are made consistent by least squares.
    """
    odds, ways = exp(float(epsilon)), product((2, 3, 4, 5, 7, 8, 49), (0, 4, 7, 13, 25, 49))
    return min(_enough(_tree(odds, *way)) for way in ways)


def _tree(odds: float, fan: int, most: int) -> Floats:
    widths = [fan**power for power in range(6) if fan**power < _ANSWERS]
    incidences = [
        np.equal.outer(np.arange(-(-_ANSWERS // width)), np.arange(_ANSWERS) // width).astype(float)
        for width in widths
    ]
    nodes, levels = np.vstack(incidences), len(widths)
    miss, gap = 1 / (odds + 1), 0.5 - 1 / (odds + 1)
    law = np.zeros((len(nodes), len(nodes)))
    start = 0
    for level in incidences:
        f, here = level @ FALLING, slice(start, start + len(level))
        noise = miss * (1 - miss) / gap**2 + f * (1 - 0.5 - miss) / gap
        law[here, here] = np.diag(noise + f) - np.outer(f, f)
        if len(level) <= most:
            lie = 1 / (odds + len(level) - 1)
            sent, part = lie + f * (odds - 1) * lie, (odds - 1) * lie
            law[here, here] = (np.diag(sent) - np.outer(sent, sent)) / part**2
        law[here, here] *= levels
        start += len(level)
    # The shares sum to 1: the whole is known, which a node without noise stands for.
    gram = nodes.T @ nodes + 1e9
    weights = CUTS @ np.linalg.solve(gram, nodes.T)
    return np.asarray(((weights @ law) * weights).sum(axis=1))


def square_wave(epsilon: str) -> Rival:
    """Return the reports of the square wave with which 95 % of shares are near enough."""
    matrix = wave(float(epsilon))
    generator, reports = np.random.default_rng(3), 100
    while True:
        drawn = generator.multinomial(reports, matrix @ FALLING, size=_RUNS)
        errors = np.abs((smoothed(matrix, drawn) - FALLING) @ CUTS.T)
        if np.mean(errors <= 0.05) >= 0.95:
            return Rival(reports, "square wave, biased")
        reports = round(1.05 * reports)


def wave(epsilon: float) -> Floats:
    """Return the chances of as many responses as there are answers, a column an answer."""
    odds = exp(epsilon)
    near = (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon))
    low = 1 / (2 * near * odds + 1)
    ends = np.linspace(-near, 1 + near, _ANSWERS + 1)[:, None]
    answer = (np.arange(_ANSWERS) + 0.5) / _ANSWERS
    within = np.diff(np.clip(ends, answer - near, answer + near), axis=0)
    return np.asarray(low * np.diff(ends, axis=0) + low * (odds - 1) * within)


def smoothed(matrix: Floats, drawn: NDArray[np.int64]) -> Floats:
    """Return the shares by expectation, maximisation and smoothing, a row a run."""
    shares = np.full((len(drawn), _ANSWERS), 1 / _ANSWERS)
    going, before = np.arange(len(drawn)), np.full(len(drawn), -np.inf)
    while len(going):
        now, counts = shares[going], drawn[going]
        expected = now @ matrix.T
        likely = (counts * np.log(expected)).sum(axis=1)
        now = now * ((counts / expected) @ matrix)
        padded = np.pad(now, ((0, 0), (1, 1)), "edge")
        now = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
        shares[going] = now / now.sum(axis=1, keepdims=True)
        still = np.abs(likely - before) >= _TOLERANCE
        going, before = going[still], likely[still]
    return shares


def again() -> Iterator[Row]:
    """Yield what one report about a kept response to 105 answers takes."""
    for epsilon, kept in _KEPT.items():
        fresh = best_fresh(_MANY, epsilon, kept, _REPORTS)
        mechanism = Specification("two-round", {"kept": kept, "fresh": fresh}).mechanism(
            _MANY, epsilon, "0"
        )
        reports = _POINTS.reports(share_variance(mechanism))
        name = f"two rounds, {answering_kind(fresh).name}"
        yield f"{_MANY} answers, kept {kept}, {epsilon}", name, reports, again_rival(epsilon)


def again_rival(epsilon: str) -> Rival:
    """Return the better of LOLOHA, with a second round of exactly epsilon, and dBitFlipPM."""
    odds = exp(float(epsilon))
    root = sqrt(odds)
    hashed = min((_pair(_MANY, odds / (odds + g - 1), 1 / g), g) for g in range(2, 200))
    bits = Rival(_pair(_MANY, root / (root + 1), 1 / (root + 1)), "dBitFlipPM")
    return min(bits, Rival(hashed[0], f"LOLOHA, {hashed[1]} values"))


TABLES: Final[dict[str, Callable[[], Iterator[Row]]]] = {
    "shares": shares,
    "means": means,
    "quantiles": quantiles,
    "again": again,
}
