"""The inverse of composition: what a report may cost if all reports may cost so much."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.budget import total_epsilon
from deniable.mechanisms import MAX_EPSILON, InvalidPrivacyParameter, Number

__all__ = ["epsilon_each"]

_PLACES: Final = 6
_STEPS: Final = 10**_PLACES


def epsilon_each(total: Number, together: Callable[[Fraction], Decimal]) -> Decimal:
    """Return the largest epsilon of one report, in millionths, that keeps all together in bounds.

    Rounded down: the composition of what is returned has been computed, and is at most the total;
    so has that of a millionth more, and is above it, unless a report's epsilon would exceed 40.

    Args:
        total: epsilon of all reports together.
        together: that epsilon for a report's epsilon; a composition of :mod:`deniable.budget` at a
            number of reports and a delta.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for a total outside its domain, or one that not even reports of a
            millionth keep.

    Source: docs/mathematics.md, section 12.
    """
    most = total_epsilon(total)
    # Up by doubling, since compositions of large epsilons take long; then by halving the rest.
    low, high, end = 0, 1, MAX_EPSILON * _STEPS + 1
    while high < end and together(Fraction(high, _STEPS)) <= most:
        low, high = high, 2 * high
    high = min(high, end)
    while high - low > 1:
        middle = (low + high) // 2
        if together(Fraction(middle, _STEPS)) <= most:
            low = middle
        else:
            high = middle
    if low == 0:
        raise InvalidPrivacyParameter(
            "no report keeps this total; allow a larger epsilon or delta, or fewer reports"
        )
    # Put together from digits: arithmetic would round by the decimal context, even up.
    return Decimal((0, tuple(map(int, str(low))), -_PLACES))
