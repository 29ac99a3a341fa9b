"""Numbers as categories: a numeric survey's categories are its values, written one way."""

import re
from fractions import Fraction
from typing import Final

from deniable.mechanisms import MAX_DENSE, Number, exact_number
from deniable.messages.refusals import InvalidManifest

_PLACES: Final = 6
_MOST_STEPS: Final = 10**12

VALUE_PATTERN: Final = re.compile(r"(?!-0\Z)-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,5}[1-9])?", re.ASCII)
"""A value's one form: no exponent, no outer zeros, 15 digits before and 6 after the point."""


def exact_value(name: str, value: Number) -> Fraction:
    """Return a value exactly; ``name`` is what an error calls it.

    Raises:
        InvalidManifest: for a text that is not the one form of a number.
        InvalidPrivacyParameter: for a Decimal or Fraction that is not finite, or too long.
    """
    if isinstance(value, str):
        if not VALUE_PATTERN.fullmatch(value):
            raise InvalidManifest(name, 'must be a number such as "-2", "0" or "0.5"')
        return Fraction(value)
    return exact_number(name, value)


def read_values(categories: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Return the values that a numeric survey's categories stand for."""
    if not all(VALUE_PATTERN.fullmatch(category) for category in categories):
        raise InvalidManifest(
            "categories", 'of a numeric survey are numbers such as "-2", "0" or "0.5"'
        )
    values = tuple(map(Fraction, categories))
    step = values[1] - values[0]
    if step <= 0 or any(values[0] + i * step != value for i, value in enumerate(values)):
        raise InvalidManifest("categories", "of a numeric survey rise in equal steps")
    if max(abs(values[0]), abs(values[-1])) > _MOST_STEPS * step:
        raise InvalidManifest("categories", "are so large that floats do not tell them apart")
    return values


def value_range(low: Fraction, high: Fraction, step: Fraction) -> tuple[str, ...]:
    """Return the categories low, low + step, … high."""
    if step <= 0:
        raise InvalidManifest("step", "must be positive")
    steps = (high - low) / step
    if steps.denominator != 1 or steps < 1:
        raise InvalidManifest("high", "must be low and one or more whole steps")
    if steps >= MAX_DENSE:
        raise InvalidManifest("step", f"leaves more than {MAX_DENSE} values; take a larger one")
    return tuple(format_value(low + i * step) for i in range(steps.numerator + 1))


def format_value(value: Fraction) -> str:
    """Return a value in its one form."""
    scaled = value * 10**_PLACES
    if scaled.denominator != 1 or abs(value) >= 10**15:
        raise InvalidManifest(
            "categories", f"have at most 15 digits before and {_PLACES} after the point"
        )
    whole, part = divmod(abs(scaled.numerator), 10**_PLACES)
    decimals = f"{part:0{_PLACES}d}".rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"
