"""Exact privacy parameters: epsilon and delta as Fractions, never as floats.

A float is refused because it is not the number that was written: ``Fraction(0.1) > 1/10``, so a
guarantee stated as 0.1 would be given as something larger.
"""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

Number = str | Decimal | Fraction | int
"""What a privacy parameter may be given as."""

MAX_EPSILON = 40
"""Odds of e^40 : 1 are no privacy at all; above it, 64 bits no longer resolve a lie."""

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,3})(\.[0-9]{0,17}[1-9])?", re.ASCII)
"""Decimal strings of the protocol: canonical, at most 4 digits before and 18 after the point."""

_MAX_PLACES = 18
_MAX_BITS = 1024


class InvalidPrivacyParameter(ValueError):
    """An epsilon or delta outside its domain, or written in a form that is not taken."""


class GridTooCoarse(ValueError):
    """The probabilities cannot be told apart on the grid of integers that samples them."""


def exact_epsilon(value: Number) -> Fraction:
    """Return epsilon exactly, if it is in [0, 40]."""
    epsilon = exact_number("epsilon", value)
    if not 0 <= epsilon <= MAX_EPSILON:
        raise InvalidPrivacyParameter(f"epsilon must be in [0, {MAX_EPSILON}]")
    return epsilon


def exact_delta(value: Number) -> Fraction:
    """Return delta exactly, if it is in [0, 1)."""
    delta = exact_number("delta", value)
    if not 0 <= delta < 1:
        raise InvalidPrivacyParameter("delta must be in [0, 1)")
    return delta


def exact_number(name: str, value: Number) -> Fraction:
    """Return a parameter exactly, whatever its domain; ``name`` is what an error calls it.

    Raises:
        TypeError: for a float, a bool or any other type.
        InvalidPrivacyParameter: for a number that is not written plainly, or too long.
    """
    # bool is an int to Python, and a numpy float64 is a float: both are mistakes here.
    if isinstance(value, bool) or not isinstance(value, str | Decimal | Fraction | int):
        reason = " (a float is not the number that was written: 0.1 is slightly more than 1/10)"
        raise TypeError(
            f"{name} must be a decimal string, Decimal, Fraction or int, "
            f"not {type(value).__name__}{reason if isinstance(value, float) else ''}; "
            'write it as a string, such as "0.1"'
        )
    if isinstance(value, str):
        # Before parsing: Fraction("1e999999999") would fill the memory.
        if not _DECIMAL.fullmatch(value):
            raise InvalidPrivacyParameter(
                f'{name} must be a plain decimal such as "1" or "0.25": no sign, exponent, '
                "leading zero or trailing zero, at most 4 digits before and 18 after the point"
            )
        return Fraction(value)
    if isinstance(value, Decimal):
        # Also before converting: Decimal("1e999999999") is small, its Fraction is not.
        if not value.is_finite():
            raise InvalidPrivacyParameter(f"{name} must be a finite number")
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        if not -_MAX_PLACES <= exponent <= 4 or len(value.as_tuple().digits) > 4 + _MAX_PLACES:
            raise InvalidPrivacyParameter(
                f"{name} must have at most {4 + _MAX_PLACES} digits, {_MAX_PLACES} of them after "
                "the point"
            )
        return Fraction(value)
    fraction = Fraction(value)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > _MAX_BITS:
        raise InvalidPrivacyParameter(f"{name} must fit a fraction of {_MAX_BITS}-bit integers")
    return fraction


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
