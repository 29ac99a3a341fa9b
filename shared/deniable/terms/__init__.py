"""The terms of a survey in figures: its cost, and what it reveals.

Sentences about them, and plain text, are loaded on request.
"""

from fractions import Fraction
from typing import Final

from deniable.budget import NANO
from deniable.mechanisms import odds_ceiling
from deniable.messages import Manifest

_MOST_EPSILON: Final = 14 * NANO
"""e^14 exceeds a million, which suffices to show that nothing is protected."""


def odds_of(nano: int) -> Fraction:
    """Return e^epsilon, rounded up, for an epsilon in units of 1e-9; large ones are capped."""
    return odds_ceiling(Fraction(min(max(nano, 0), _MOST_EPSILON), NANO))


def pure_odds(manifest: Manifest) -> Fraction:
    """Return e^epsilon of one response, computed from the integers that are sampled."""
    odds = manifest.mechanism.privacy.odds
    assert odds is not None, "a survey's mechanism must be pure"
    return odds
