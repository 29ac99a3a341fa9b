"""The gain of a guess at a yes/no question about the answer, once a response is seen.

A question splits the answers into A and the rest; before a response, A has probability p >= 1/2
(call the likelier part A), so that the best guess is right with p. Let Q_1, Q_0 be the laws of the
response given A and given the rest, mixtures of the matrix's rows. With the response the best guess
is right with

    sum_y max(p Q_1(y), (1-p) Q_0(y))  =  p + sum_y max(0, (1-p) Q_0(y) - p Q_1(y))
                                      <=  p + (1-p) sum_y max(0, Q_0(y) - Q_1(y))
                                       =  p + (1-p) TV(Q_0, Q_1)  <=  p + TV/2,

TV being the largest total variation distance between two rows, which that between mixtures of
them never exceeds (it is convex): the tight delta of epsilon 0. So a guess that is right half of
the time becomes right with 1/2 + TV/2 at most, and two rows at that distance, equally likely,
attain it.

If every two rows are (epsilon, delta) apart, E = e^epsilon, let P(S) = a and Q(S) = b for the S
where they differ most. Then a <= E b + delta and 1 - b <= E (1 - a) + delta; adding them,

    (E + 1)(a - b) <= E - 1 + 2 delta,   so that   TV <= (E - 1 + 2 delta) / (E + 1).

Source: docs/mathematics.md, section 7.
"""

from fractions import Fraction
from typing import Final

from deniable.mechanisms import MatrixPrivacy, SurveyMechanism

_MOST_COMPARED: Final = 64
"""Rows that are compared pair by pair; of more, the odds bound it."""


def guess_of(mechanism: SurveyMechanism) -> Fraction:
    """Return how often a guess that is right half of the time is right with a response, at most."""
    privacy = mechanism.privacy
    if not isinstance(privacy, MatrixPrivacy) or mechanism.categories <= _MOST_COMPARED:
        return (1 + privacy.delta_at_odds(Fraction(1))) / 2
    return Fraction(1) if privacy.odds is None else guess_within(privacy.odds)


def guess_within(odds: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return the bound of :func:`guess_of` for any mechanism with these odds and this delta."""
    return min(Fraction(1), (odds + delta) / (odds + 1))
