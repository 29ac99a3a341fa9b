"""Bars for a terminal: a frequency and its interval in a few characters."""

from typing import Final

BARS: Final = "Bars: solid to the low end, half-tone to the estimate, light to the high end"
"""The legend of bars."""


def bar(value: float, low: float, high: float, width: int = 30, scale: float = 1.0) -> str:
    """Draw a value as a bar and its interval as the bar's shades.

    Solid up to the interval's low end, half-tone up to the value, light up to the high end. The
    width is that of ``scale``; what is beyond [0, scale] is drawn at its ends.
    """
    ends = (min(low, value), value, max(high, value))
    solid, half, light = (round(width * min(max(x / scale, 0.0), 1.0)) for x in ends)
    return "█" * solid + "▓" * (half - solid) + "░" * (light - half)
