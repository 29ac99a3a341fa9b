"""The terms of a survey in figures: its cost, and what it reveals.

Sentences about them, and plain text, are loaded on request.
"""

from fractions import Fraction
from typing import Final

from deniable.budget import NANO
from deniable.mechanisms import MatrixPrivacy, SurveyMechanism, odds_ceiling
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


def guess_of(mechanism: SurveyMechanism) -> Fraction:
    """Return the best chance, with a response, of a guess that is right half the time without.

    A question splits the answers into A and the rest; before a response, A has probability p >= 1/2
    (A is the more likely part), and the best guess is right with p. Let Q_1, Q_0 be the
    distributions of the response given A and given the rest, mixtures of the matrix's rows. With
    the response the best guess is right with

        sum_y max(p Q_1(y), (1-p) Q_0(y))  =  p + sum_y max(0, (1-p) Q_0(y) - p Q_1(y))
                                          <=  p + (1-p) sum_y max(0, Q_0(y) - Q_1(y))
                                           =  p + (1-p) TV(Q_0, Q_1)  <=  p + TV/2,

    where TV is the largest total variation distance between two rows. The distance between mixtures
    of rows never exceeds it (it is convex): it is the tight delta of epsilon 0. So a guess that is
    right half the time becomes right with at most 1/2 + TV/2, and two rows at that distance,
    equally likely, attain it.

    If every two rows are (epsilon, delta) apart, E = e^epsilon, let P(S) = a and Q(S) = b for the S
    where they differ most. Then a <= E b + delta and 1 - b <= E (1 - a) + delta; adding them,

        (E + 1)(a - b) <= E - 1 + 2 delta,   so that   TV <= (E - 1 + 2 delta) / (E + 1).

    Source: docs/mathematics.md, section 7.
    """
    privacy = mechanism.privacy
    if not isinstance(privacy, MatrixPrivacy) or mechanism.categories <= _MOST_COMPARED:
        return (1 + privacy.delta_at_odds(Fraction(1))) / 2
    return Fraction(1) if privacy.odds is None else guess_within(privacy.odds)


def guess_within(odds: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return the bound of :func:`guess_of` for any mechanism with these odds and this delta."""
    return min(Fraction(1), (odds + delta) / (odds + 1))
