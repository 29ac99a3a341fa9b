"""Exact choices by weights that are not rational, out of infinitely many outcomes too.

A uniform point U of [0, 1) falls into the share of one outcome. U is drawn, and the shares are
computed, only as finely as it takes to tell which: 64 bits more at a time. Nothing is rounded, so
that a choice that is epsilon-private on paper is epsilon-private in fact.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil

from deniable.mechanisms import (
    Draw,
    InvalidPrivacyParameter,
    Number,
    ceil_div,
    exact_epsilon,
    exact_number,
    exp_enclosure,
    odds_floor,
    os_random_word,
)

Bounds = tuple[Fraction | int, Fraction | int]


def exact_choice(enclose: Callable[[int], Sequence[Bounds]], draw: Draw = os_random_word) -> int:
    """Return i with probability w_i/(w_0 + w_1 + …), exactly.

    For a number of bits, raised until the choice is made, ``enclose`` gives a lower and an upper
    bound of each weight, as close as one likes with enough bits; and at the end those of all
    further weights together, (0, 0) if there are none.
    """
    word = bits = 0
    while True:
        word, bits = word << 64 | draw(), bits + 64
        below, above = (list(accumulate(ends)) for ends in zip(*enclose(bits), strict=True))
        # U is in [word, word + 1)/2^bits. Of the sums S_i = w_0 + … + w_i and their limit C, i is
        # chosen if S_(i-1) <= U C < S_i, which is certain once it holds for all U and sums within
        # their bounds.
        i = bisect_right(above, Fraction(word * below[-1]) / (1 << bits))
        if (word + 1) * above[-1] <= below[i] * (1 << bits):
            return i


class UnboundedSelection:
    """Choose one of the outcomes 0, 1, 2, …, exactly: P(r) ~ e^(-r/scale) e^(epsilon u_r/(2 D)).

    The exponential mechanism with a base measure of geometric tail, so that the range needs no end.
    The time that a choice takes may tell of the data, like that of discrete Laplace noise: choose
    on a schedule, not on demand. McSherry and Talwar 2007, Definition 2.

    Args:
        epsilon: guarantee of one choice in (0, 40].
        sensitivity: D, by which any utility moves at most between neighbouring data sets; positive.
        scale: of the base measure, positive: where utilities say nothing, outcomes are of the order
            of it.
        least, most: what any utility beyond them counts as.
    """

    __slots__ = ("_exponent", "_least", "_most", "_scale")

    def __init__(
        self, epsilon: Number, *, sensitivity: Number, scale: Number, least: Number, most: Number
    ) -> None:
        level, moves = exact_epsilon(epsilon), exact_number("sensitivity", sensitivity)
        self._scale = exact_number("scale", scale)
        self._least, self._most = exact_number("least", least), exact_number("most", most)
        if min(level, moves, self._scale, self._most - self._least) <= 0:
            raise InvalidPrivacyParameter(
                "epsilon, sensitivity and scale must be positive, and least below most"
            )
        # Utilities cut to [least, most] move by no more than before. The factor two is that of
        # deniable.central_model.selection.
        self._exponent = level / (2 * moves)

    def choose(self, utility: Callable[[int], Number], draw: Draw = os_random_word) -> int:
        """Return an outcome, which may be published; errors do not repeat a utility."""
        return exact_choice(lambda bits: self._enclosures(utility, bits), draw)

    def tail(self, outcome: int) -> Fraction:
        """Return an upper bound of P(r >= outcome), whatever the data are.

        Nor does the law differ by more than that, in any event, from the one with the outcomes from
        there on left out (by an ExponentialMechanism with this base measure).
        """
        # Numerator at most e^(c most) sum_(r >= n) e^(-r/s), denominator at least e^(c least) times
        # the sum over all: together e^(c (most - least)) e^(-n/s).
        exponent = outcome / self._scale - self._exponent * (self._most - self._least)
        return 1 / odds_floor(max(Fraction(0), exponent))

    def _enclosures(self, utility: Callable[[int], Number], bits: int) -> list[Bounds]:
        # With u_r counted from most, a weight is e^-x <= 1, and all together are e^-(c span) at
        # least: 2^-places resolves them to some 2^-bits of that (1 / ln 2 < 3/2).
        span = self._exponent * (self._most - self._least)
        places = bits + ceil(3 * span / 2)
        # From n on they sum to at most e^(-n/s)/(1 - e^(-1/s)) <= (1 + s) e^(-n/s), as
        # 1 - e^-x >= x/(1 + x); which is 2^-places with ln 2 < 7/10 and 1 + s < 2^(bit length).
        enough = ceil(self._scale * 7 * (places + ceil(1 + self._scale).bit_length()) / 10)

        @lru_cache  # for this choice alone: utilities are private
        def falling(exponent: Fraction) -> tuple[int, int]:
            low, high = exp_enclosure(exponent, places)
            return (1 << 2 * places) // high, ceil_div(1 << 2 * places, low)

        bounds: list[Bounds] = []
        least, most = falling(1 / self._scale)
        low = high = 1 << places
        for r in range(enough):
            cut = min(max(exact_number("a utility", utility(r)), self._least), self._most)
            below, above = falling(self._exponent * (self._most - cut))
            bounds.append((low * below, high * above))
            low, high = low * least >> places, ceil_div(high * most, 1 << places)
        return [*bounds, (0, 1 << places)]


def exact_quantity(name: str, value: Number) -> Fraction:
    """Return a number computed from private data, exactly; it may be negative.

    No error repeats it.
    """
    if isinstance(value, str):
        # Parameters of the protocol have no sign. Decimal reads one, and keeps an exponent as it
        # is, so that the next line can refuse a monstrous one before it is expanded.
        try:
            value = Decimal(value)
        except InvalidOperation:
            raise InvalidPrivacyParameter(f'{name} must be a decimal such as "-12.5"') from None
    return exact_number(name, value)
