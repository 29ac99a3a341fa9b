"""The meaning of epsilon for one person: how often one report lets a guess be right."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, log10
from typing import Final

from deniable.budget import NANO, format_nano, pure_cost
from deniable.documents import Fact
from deniable.mechanisms import exact_epsilon
from deniable.mechanisms.exact import is_vast, odds_ceiling
from deniable.messages import Manifest

MOST_EPSILON: Final = 10
"""Beyond this, odds of 22,000 to 1, a report is hardly deniable."""

_STRONG: Final = 4
"""From this on, the publisher is cautioned."""

_EXAMPLES: Final = ("0.5", "1", "2", "4", "8")


def guess_text(odds: Fraction) -> str:
    """Return the share of right guesses, in percent and rounded up, that a report allows at most.

    Of two answers that are equally likely beforehand, the one under which the report is the more
    likely is right with probability (1 + TV)/2, where TV is the distance in total variation of the
    two laws. Odds of at most E bound it by (E - 1)/(E + 1), and so the guess by E/(E + 1), which
    randomised response of two answers reaches.
    """
    if is_vast(odds):
        return "practically 100 %"
    wrong = 1 / (1 + odds)
    places = max(1, floor(-log10(wrong)) - 1)
    return f"{ceil((1 - wrong) * 100 * 10**places) / 10**places:.{places}f} %"


def guess_fact(manifest: Manifest) -> Fact:
    """Return the share of right guesses about one person that one report of a survey allows."""
    odds = manifest.mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    return Fact(
        "a guess",
        f"between two equally likely answers of a person is right in at most {guess_text(odds)} of "
        "cases after one report; without a report in 50 %".replace(" %", "\N{NO-BREAK SPACE}%"),
    )


def strongest(manifest: Manifest) -> Fraction:
    """Return the greater of the epsilon that a survey states and that of its pure guarantee."""
    return max(exact_epsilon(manifest.epsilon), Fraction(pure_cost(manifest.mechanism), NANO))


def too_strong_text(manifest: Manifest) -> str:
    """Return the epsilon of a survey where it is above the most; an empty text where it is not."""
    if exact_epsilon(manifest.epsilon) > MOST_EPSILON:
        return manifest.epsilon
    if (charged := pure_cost(manifest.mechanism)) > MOST_EPSILON * NANO:
        return f"{manifest.epsilon} is {format_nano(charged)} with delta {manifest.delta}, which"
    return ""


def strength_warnings(manifest: Manifest) -> Iterator[str]:
    """Yield the caution of an epsilon at which guesses about one person are nearly certain."""
    if strongest(manifest) < _STRONG:
        return
    examples = ", ".join(
        f"{guess_text(odds_ceiling(exact_epsilon(epsilon)))} at epsilon {epsilon}"
        for epsilon in _EXAMPLES
    ).replace(" %", "\N{NO-BREAK SPACE}%")
    yield (
        f"from epsilon {_STRONG} on, one report can make a guess between two answers of a person "
        f"nearly certain. Between two equally likely ones it is right in at most {examples}. Take "
        "2 or less, unless answers are harmless, or nobody can narrow them down to a few"
    )
