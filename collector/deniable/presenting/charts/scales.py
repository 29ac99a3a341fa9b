"""From numbers to pixels, and to the words beside them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from deniable.documents import decimals


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that are drawn: written as ``factor`` times each and a suffix, within bounds."""

    least: float
    most: float
    factor: float = 100
    suffix: str = "%"
    signed: bool = False

    def text(self, value: float, decimals: int) -> str:
        """Return the number as it is written beside the chart."""
        if not math.isfinite(value):
            return "none"
        # Adding 0 turns -0.0 into 0.0.
        scaled = round(value * self.factor, decimals) + 0.0
        form = f",.{decimals}f" if abs(scaled) < 1e6 else ".3g"
        return f"{scaled:{'+' if self.signed and scaled else ''}{form}}{self.suffix}"

    def decimals(self, widths: Iterable[float]) -> int:
        """Return how many digits after the point tell ends of intervals of such widths apart."""
        known = sorted(width for width in widths if width > 0) or [1.0]
        return decimals(known[len(known) // 2] * self.factor, least=1)


SHARES: Final = Scale(0, 1)
"""Shares of all reports, in percent."""

POINTS: Final = Scale(-1, 1, suffix="", signed=True)
"""Differences of shares, in percentage points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A stretch of pixels for a stretch of numbers, with round ones marked."""

    scale: Scale
    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a number is drawn; beyond the axis, at its end."""
        return self.start + (self.within(value) - self.low) / (self.high - self.low) * (
            self.end - self.start
        )

    def within(self, value: float) -> float:
        """Return the number, or the nearest end of the axis."""
        return min(max(value, self.low), self.high)

    def tick_text(self, tick: float) -> str:
        """Return the label of a tick."""
        step = (self.ticks[1] - self.ticks[0]) * self.scale.factor
        return self.scale.text(tick, max(0, -math.floor(math.log10(step) + 1e-9)))


def axis_over(
    values: Iterable[float], scale: Scale, start: float, end: float, apart: float = 55
) -> Axis:
    """Return an axis over 0, if it is possible, and all values.

    It goes beyond what is possible if values do, by half of that range at most: farther ones
    are drawn at its end.
    """
    beyond = (scale.most - scale.least) / 2
    known = [
        min(max(value, scale.least - beyond), scale.most + beyond)
        for value in values
        if math.isfinite(value)
    ]
    if scale.least <= 0 <= scale.most:
        known.append(0.0)
    low, high = min(known, default=scale.least), max(known, default=scale.most)
    if not high > low:
        low, high = scale.least, scale.most
    step = _round_step((high - low) / max(2, abs(end - start) // apart))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Axis(scale, ticks[0], ticks[-1], ticks, start, end)


def _round_step(least: float) -> float:
    """Return the first of 1, 2, 5 times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))
