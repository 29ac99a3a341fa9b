"""The terms of a survey in figures: its cost, and what it reveals.

Sentences about them, and plain text, are loaded on request.
"""

from fractions import Fraction
from typing import Final

from deniable.budget import NANO
from deniable.mechanisms import MatrixPrivacy, Mechanism, odds_ceiling
from deniable.messages import Manifest

_MOST_EPSILON: Final = 14 * NANO
"""e^14 exceeds a million, which suffices to show that nothing is protected."""
_MOST_COMPARED: Final = 64
"""The most rows that are compared pair by pair; for more, the odds give the bound."""


def odds_of(nano: int) -> Fraction:
    """Return e^epsilon, rounded up, for an epsilon in units of 1e-9; large ones are capped."""
    return odds_ceiling(Fraction(min(max(nano, 0), _MOST_EPSILON), NANO))


def pure_odds(manifest: Manifest) -> Fraction:
    """Return e^epsilon of one response, computed from the integers that are sampled."""
    odds = manifest.mechanism.privacy.odds
    assert odds is not None, "a survey's mechanism must be pure"
    return odds


def guess_of(mechanism: Mechanism) -> Fraction:
    """Return the best chance, with a response, of a guess that is right half the time without.

    It is 1/2 + TV/2, where TV is the largest total variation distance between two rows: the tight
    delta of epsilon 0. Two rows at that distance, equally likely, attain it. If every two rows are
    (epsilon, delta) apart, E = e^epsilon, then TV <= (E - 1 + 2 delta) / (E + 1).

    Source: docs/mathematics.md, section 7.
    """
    privacy = mechanism.privacy
    if not isinstance(privacy, MatrixPrivacy) or mechanism.categories <= _MOST_COMPARED:
        return (1 + privacy.delta_at_odds(Fraction(1))) / 2
    return Fraction(1) if privacy.odds is None else guess_within(privacy.odds)


def guess_within(odds: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return the bound of :func:`guess_of` for any mechanism with these odds and this delta."""
    return min(Fraction(1), (odds + delta) / (odds + 1))
