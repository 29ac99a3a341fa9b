"""The judge of privacy losses: curves summed over every single response, in Fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod

Row = Sequence[Fraction]


def curve(one: Row, other: Row, odds: Fraction) -> Fraction:
    """Return sum_y (P(y) - E Q(y))_+."""
    return sum(
        (max(p - odds * q, Fraction(0)) for p, q in zip(one, other, strict=True)), Fraction(0)
    )


def together(rows: Sequence[Row]) -> list[Fraction]:
    """Return the law of independent responses together: all sequences, one by one."""
    return [prod(masses, start=Fraction(1)) for masses in product(*rows)]


def worst(rows: Sequence[Row], odds: Fraction) -> Fraction:
    """Return the largest delta of all ordered pairs of rows."""
    return max(curve(one, other, odds) for one in rows for other in rows)


def fractions(weights: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Return rows of integers of equal sums as probabilities."""
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def randomised_response(categories: int, odds: Fraction) -> list[list[Fraction]]:
    """Return the matrix with d/q = ``odds``."""
    lie = 1 / (odds + categories - 1)
    return [[odds * lie if x == y else lie for y in range(categories)] for x in range(categories)]


def kept_law(kept: Sequence[Row], fresh: Sequence[Row], history: Sequence[int]) -> list[Fraction]:
    """Return the law of all reports about a history of answers, one kept response per answer.

    Args:
        kept: the matrix whose response is kept.
        fresh: the matrix by which each report randomises what is kept.
        history: the answer of each report.
    """
    k, answers = len(kept), sorted(set(history))
    (kept_unit, kept_whole), (fresh_unit, fresh_whole) = map(_whole, (kept, fresh))
    unit = kept_unit ** len(answers) * fresh_unit ** len(history)
    law = []
    for reports in product(range(k), repeat=len(history)):
        total = 0
        for responses in product(range(k), repeat=len(answers)):
            memory = dict(zip(answers, responses, strict=True))
            total += prod(kept_whole[answer][memory[answer]] for answer in answers) * prod(
                fresh_whole[memory[answer]][report]
                for answer, report in zip(history, reports, strict=True)
            )
        law.append(Fraction(total, unit))
    return law


def _whole(rows: Sequence[Row]) -> tuple[int, list[list[int]]]:
    """Return how many units are 1, and rows in whole units, which multiply ten times faster."""
    unit = lcm(*(p.denominator for row in rows for p in row))
    return unit, [[int(p * unit) for p in row] for row in rows]
