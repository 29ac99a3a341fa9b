"""Numbers as people write them: types of options."""

import math
import re
from contextlib import suppress
from typing import Final, NamedTuple

import click

from deniable.directory.sharing import MOST_DAYS

_DECIMAL: Final = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", re.ASCII)
_WHOLE: Final = re.compile(r"([0-9][0-9,_]*)(?:(\^|e)([0-9]{1,2}))?", re.ASCII)
_DAYS: Final = re.compile(r"([0-9]{1,3})\s*([dw])", re.ASCII)
_MOST: Final = 10**15


class Quantity(NamedTuple):
    """A number, and whether it was given in percent, of which it is a hundredth."""

    number: float
    percent: bool = False


def quantity(text: str) -> Quantity:
    """Read a number above 0: 2%, or 0.02."""
    digits = text.strip().removesuffix("%").strip()
    percent = text.strip().endswith("%")
    number = float(digits + "e-2" * percent) if _DECIMAL.fullmatch(digits) else 0.0
    if not 0 < number < math.inf:
        raise click.BadParameter("must be a number above 0, such as 2% or 0.02")
    return Quantity(number, percent)


def limit(text: str) -> Quantity:
    """Read a number of any sign: 2%, 0.02, or -5."""
    number = text.strip()
    sign = -1.0 if number.startswith("-") else 1.0
    with suppress(click.BadParameter):
        size = quantity(number.removeprefix("-"))
        return Quantity(sign * size.number, size.percent)
    if re.fullmatch(r"0+(\.0*)?\s*%?", number, re.ASCII):
        return Quantity(0.0, number.endswith("%"))
    raise click.BadParameter("must be a number, such as 2% or 0.02")


def level(text: str) -> float:
    """Read a confidence level, in (0, 1): 95%, or 0.95."""
    with suppress(click.BadParameter):
        if (number := quantity(text).number) < 1:
            return number
    raise click.BadParameter("must be in (0, 1), such as 95% or 0.95")


def proportion(text: str) -> float:
    """Read a share of a whole, above 0 and at most all of it: 90%, or 0.9."""
    with suppress(click.BadParameter):
        if (number := quantity(text).number) <= 1:
            return number
    raise click.BadParameter("must be above 0% and at most 100%, such as 90%")


def days(text: str) -> int:
    """Read a length of time in whole days: 30d, or 2w."""
    match = _DAYS.fullmatch(text.strip())
    number = int(match[1]) * (7 if match[2] == "w" else 1) if match else 0
    if not 1 <= number <= MOST_DAYS:
        raise click.BadParameter(f"must be 1 to {MOST_DAYS} days, such as 30d or 2w")
    return number


def count(text: str) -> int:
    """Read a whole number above 0: 1000000, 1,000,000, 10^6 or 1e6."""
    match = _WHOLE.fullmatch(text.strip())
    if match is not None:
        digits, by, power = match.groups("0")
        first = int(digits.replace(",", "").replace("_", ""))
        number: int = first ** int(power) if by == "^" else first * 10 ** int(power)
        if 1 <= number <= _MOST:
            return number
    raise click.BadParameter("must be a whole number from 1 to 10^15, such as 10^6")
