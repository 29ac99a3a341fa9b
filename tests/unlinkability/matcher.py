"""A matcher that knows the code, joins two views, and says which trails are one device's.

For every pair of a trail on the left and one on the right it looks at *traits*: bytes that both
have, sizes, times, order, fetches near by. Each trait puts a pair into a cell; how many times as
often true pairs fall into a cell as pairs do is learned on half of the epochs, with the truth in
hand, which no real matcher has. On the other half it has to do without.

Two figures say how well it does. If nothing joins the two views then, given both, each way to pair
them is as likely as any other, and:

1. The *rank* of a device's true partner among all candidates, by a trait or by all together, is 1/2
   on average. Its variance under random pairing is exact (Hoeffding 1951, A combinatorial central
   limit theorem, theorem 2), so that its deviation z is standard normal.
2. The *hits* of the best assignment of all to all are the fixed points of a random permutation:
   Poisson of mean 1 an epoch, but for 1/n!.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm, poisson, rankdata

from tests.unlinkability.trails import Pairing
from tests.unlinkability.traits import CELLS, TRAITS, Cells

Scores = NDArray[np.float64]

TOGETHER: Final = "all together"
FALSE_ALARM: Final = 1e-6
"""How likely a world that leaks nothing is to be accused, by all figures of a join."""
_EACH: Final = FALSE_ALARM / (len(TRAITS) + 2)  # those of all together, and the hits
_MISSED: Final = 0.01
_CHOICES: Final = 20
_PRIOR: Final = 2.0  # true pairs, as often as any pair is: of what was hardly ever seen, no opinion


@dataclass(frozen=True)
class Verdict:
    """How well two views could be joined in the epochs that were tested."""

    z: Mapping[str, float]  # of the true partners' ranks, by trait and for all together
    rank: Mapping[str, float]  # their mean, 1/2 if nothing joins the views
    hits: int  # right pairs of the best assignment
    pairs: int
    epochs: int

    @property
    def leaks(self) -> set[str]:
        """Return the figures that chance does not explain."""
        leaks = {name for name, z in self.z.items() if norm.sf(z) < _EACH}
        return leaks | ({"hits"} if poisson.sf(self.hits - 1, self.epochs) < _EACH else set())


def smallest_shift(pairs: int) -> float:
    """Return the shift of the mean rank that so many pairs show, but for one time in a hundred."""
    return float(norm.isf(_EACH) + norm.isf(_MISSED)) / sqrt(12 * pairs)


def smallest_share(pairs: int, epochs: int) -> float:
    """Return the share of devices that, found for certain, show in the hits, as often as that."""
    least = poisson.isf(_EACH, epochs) + 1
    found = next(n for n in range(pairs) if poisson.cdf(least - 1, n) < _MISSED)
    return int(found) / pairs


class Matcher:
    """Scores pairs, by what it has learned where the truth was known."""

    def __init__(self, known: Sequence[Pairing]) -> None:
        self._odds = {name: _learn(trait, known) for name, trait in TRAITS.items()}

    def scores(self, pairing: Pairing) -> dict[str, Scores]:
        """Return how much each pair looks like a true one, by trait and by all together."""
        scores = {name: odds[TRAITS[name](pairing)] for name, odds in self._odds.items()}
        return scores | {TOGETHER: np.sum(list(scores.values()), axis=0)}

    def judge(self, pairings: Sequence[Pairing]) -> Verdict:
        """Compare with the truth."""
        scores = [self.scores(pairing) for pairing in pairings]
        ranked = {name: _ranked([epoch[name] for epoch in scores], pairings) for name in scores[0]}
        return Verdict(
            {name: z for name, (z, _) in ranked.items()},
            {name: rank for name, (_, rank) in ranked.items()},
            sum(_hits(epoch[TOGETHER], p) for epoch, p in zip(scores, pairings, strict=True)),
            sum(len(pairing.truth) for pairing in pairings),
            len(pairings),
        )

    def share_found(self, pairings: Sequence[Pairing], size: int, chance: Random) -> float:
        """Return the share of devices that it finds among so many, by the best assignment.

        The sets are drawn ``_CHOICES`` times.
        """
        hits = pairs = 0
        for pairing in pairings:
            scores = self.scores(pairing)[TOGETHER]
            places = list(range(len(pairing.rows)))
            for first in (*range(0, len(places) - size + 1, size),) * _CHOICES:
                if first == 0:
                    chance.shuffle(places)
                few = places[first : first + size]
                rows = [pairing.rows[place] for place in few]
                order = chance.sample(range(size), size)  # of several that tie, any may be first
                columns = [pairing.truth[few[place]] for place in order]
                _, partners = linear_sum_assignment(scores[np.ix_(rows, columns)], maximize=True)
                hits += sum(order[partner] == row for row, partner in enumerate(partners.tolist()))
                pairs += size
        return hits / pairs if pairs else nan


def join(pairings: Sequence[Pairing]) -> Verdict:
    """Learn on the first half of the epochs, and judge by the others; of none there is nothing."""
    if not pairings:
        return Verdict({}, {}, 0, 0, 0)
    half = len(pairings) // 2
    return Matcher(pairings[:half]).judge(pairings[half:])


def _learn(trait: Callable[[Pairing], Cells], known: Sequence[Pairing]) -> Scores:
    """Return by cell the log of how many times as often true pairs are in it as pairs are."""
    true, expected = np.zeros(CELLS), np.zeros(CELLS)
    for pairing in known:
        cells = trait(pairing)[pairing.rows]
        true += np.bincount(cells[np.arange(len(cells)), pairing.truth], minlength=CELLS)
        expected += np.bincount(cells.ravel(), minlength=CELLS) / cells.shape[1]
    odds: Scores = np.log((true + _PRIOR) / (expected + _PRIOR))
    return odds


def _ranked(scores: Sequence[Scores], pairings: Sequence[Pairing]) -> tuple[float, float]:
    """Return how far the true partners' ranks are from chance, and their mean."""
    total, variance, pairs = 0.0, 0.0, 0
    for score, pairing in zip(scores, pairings, strict=True):
        candidates = score.shape[1]
        ranks = (rankdata(score[pairing.rows], axis=1) - 0.5) / candidates - 0.5
        # Those on the right without a partner are paired with rows that say nothing.
        padded = np.zeros((candidates, candidates))
        padded[: len(ranks)] = ranks
        centred = padded - padded.mean(axis=0)  # rows are centred
        total += float(ranks[np.arange(len(ranks)), pairing.truth].sum())
        variance += float((centred**2).sum()) / (candidates - 1)
        pairs += len(ranks)
    return (total / variance**0.5 if variance > 0 else 0.0), 0.5 + total / pairs


def _hits(score: Scores, pairing: Pairing) -> int:
    rows, partners = linear_sum_assignment(score, maximize=True)
    assigned = dict(zip(rows.tolist(), partners.tolist(), strict=True))
    pairs = zip(pairing.rows, pairing.truth, strict=True)
    return sum(assigned.get(row) == partner for row, partner in pairs)
