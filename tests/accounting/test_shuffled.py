"""What a histogram tells of one of its reports, against all histograms and the sheet's values."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

import pytest

from deniable.accounting import shuffled, shuffled_delta, shuffled_epsilon, shuffled_level
from deniable.audit import SolutionMatrix
from deniable.mechanisms import (
    Affine,
    DesignMechanism,
    InvalidPrivacyParameter,
    Levels,
    Mechanism,
    OneQuestion,
    RandomisedResponse,
    Subset,
    exp_enclosure,
)
from tests.support.effort import some
from tests.support.entries import probability
from tests.support.geometric import clamped

RR = RandomisedResponse


@cache
def _histograms(mechanism: Mechanism, answers: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Return the exact law of the histogram of these answers' responses."""
    law = {(0,) * mechanism.responses: Fraction(1)}
    for answer in answers:
        grown: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for histogram, mass in law.items():
            for y in range(mechanism.responses):
                more = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                grown[more] += mass * probability(mechanism, answer, y)
        law = grown
    return law


def _worst(mechanism: Mechanism, n: int, odds: Fraction) -> Fraction:
    """Return the exact delta of one report among n, whatever the others answered."""

    def deltas() -> Iterator[Fraction]:
        for others in combinations_with_replacement(range(mechanism.categories), n - 1):
            laws = [_histograms(mechanism, (x, *others)) for x in range(mechanism.categories)]
            for one, other in permutations(laws, 2):
                apart = (max(Fraction(0), p - odds * other[h]) for h, p in one.items())
                yield sum(apart, Fraction(0))

    return max(deltas())


SMALL = [
    *((RR(k, eps), n) for k, n in ((2, 5), (3, 4), (4, 3), (5, 2)) for eps in ("0.5", "2")),
    (DesignMechanism(Subset(4, 2), "1"), 3),
    (DesignMechanism(Subset(5, 2), "2"), 2),
    (OneQuestion([RR(2, "1"), RR(3, "1")]), 2),
    (Levels(4, (2, 1), [RR(2, "1"), RR(4, "1")]), 2),
    (clamped(3, Fraction(1, 2)), 4),
    (clamped(5, Fraction(2, 3)), 2),
    (SolutionMatrix([[5, 3, 2], [1, 6, 3], [2, 2, 6]], 10), 4),
]


@pytest.mark.parametrize(("mechanism", "n"), some(SMALL), ids=str)
@pytest.mark.parametrize("pairs", [True, False])
def test_no_dataset_exceeds_the_bound(
    mechanism: Mechanism, n: int, pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pairs:  # what holds of any pair, of matrices too large for comparing all
        monkeypatch.setattr(shuffled, "_MOST_PAIRED", 1)
    shuffled._parameters.cache_clear()
    level = Fraction(mechanism.privacy.epsilon)
    for share in (Fraction(1, 5), Fraction(3, 5)):
        epsilon = Fraction(round(level * share * 10**6), 10**6)
        odds = Fraction(exp_enclosure(epsilon, 64)[0], 1 << 64)
        exact, alone = _worst(mechanism, n, odds), mechanism.privacy.delta_at_odds(odds)
        assert exact <= shuffled_delta(mechanism, n, epsilon)
        if pairs:  # of one report it is the report's own, but for the lattice
            assert alone <= shuffled_delta(mechanism, 1, epsilon) <= alone * Fraction("1.005")
    shuffled._parameters.cache_clear()


def _chance_above(mechanism: Mechanism, n: int, odds: Fraction) -> Fraction:
    """Return the exact chance that a histogram favours an answer by more, against some other."""

    def chances() -> Iterator[Fraction]:
        for others in combinations_with_replacement(range(mechanism.categories), n - 1):
            laws = [_histograms(mechanism, (x, *others)) for x in range(mechanism.categories)]
            for one in laws:
                above = (p for h, p in one.items() if p > odds * min(law[h] for law in laws))
                yield sum(above, Fraction(0))

    return max(chances())


@pytest.mark.parametrize(("mechanism", "n"), some(SMALL), ids=str)
def test_no_dataset_exceeds_the_level_with_more_than_its_chance(
    mechanism: Mechanism, n: int
) -> None:
    for chance in ("0.5", "0.3", "0.05"):
        level = Fraction(shuffled_level(mechanism, n, chance))
        assert level <= Fraction(mechanism.privacy.epsilon)
        odds = Fraction(exp_enclosure(level, 64)[1], 1 << 64)
        assert _chance_above(mechanism, n, odds) <= Fraction(chance)


@pytest.mark.parametrize(
    ("mechanism", "n", "delta", "epsilon"),
    [
        (RR(2, "1"), 1000, 6, ".14867"),
        (RR(4, "1"), 10**4, 6, ".03426"),
        (RR(16, "2"), 10**4, 8, ".08713"),
        (RR(4, "1"), 1000, 6, ".11782"),
        (RR(10, "2"), 2000, 6, ".18861"),
        (RR(5, "1"), 6366, 6, ".04006"),
        (RR(5, "4"), 10**5, 8, ".14655"),
        (DesignMechanism(Subset(16, 4), "1"), 10**4, 8, ".04007"),
        (DesignMechanism(Affine(107, 107, 1, 29), "1"), 6000, 6, ".03941"),
        (DesignMechanism(Affine(1331, 11, 3, 3), "1"), 10**5, 8, ".01175"),
    ],
    ids=str,
)
def test_epsilons_are_those_of_the_sheet(
    mechanism: Mechanism, n: int, delta: int, epsilon: str
) -> None:
    bound, slack = shuffled_epsilon(mechanism, n, Fraction(1, 10**delta)), Decimal("5e-6")
    assert Decimal(epsilon) - slack <= bound <= Decimal(epsilon) * Decimal("1.0005") + slack


def test_large_odds_never_exceed_the_promise_and_what_cannot_be_bounded_is_refused() -> None:
    loud = RR(5, "10")
    assert shuffled_epsilon(loud, 100, Fraction(1, 10**6)) <= loud.privacy.epsilon
    assert shuffled_epsilon(loud, 10**7, Fraction(1, 10**9)) < Decimal("0.4")
    with pytest.raises(ValueError, match="at least one report"):
        shuffled_epsilon(RR(2, "1"), 0, "0.1")
    with pytest.raises(InvalidPrivacyParameter, match="pure"):
        shuffled_delta(SolutionMatrix([[2, 0], [1, 1]], 2), 5, "1")
    with pytest.raises(TypeError):
        shuffled_epsilon(RR(2, "1"), 5, 1e-6)  # type: ignore[arg-type]
