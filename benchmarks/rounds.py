"""Interleaved rounds: what is compared is measured in turn, so that noise meets all alike.

The rates of a shared machine swing by a third from one minute to the next; a ratio of two figures
of the same round does not. So every ratio is taken within its round, and then the median of these.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ROUNDS: Final = 7


@dataclass(frozen=True, slots=True)
class Rounds:
    """One figure, a value a round.

    Attributes:
        values: in the order of the rounds.
    """

    values: tuple[float, ...]

    def __truediv__(self, other: "Rounds") -> "Rounds":
        """Return the ratio within each round."""
        pairs = zip(self.values, other.values, strict=True)
        return Rounds(tuple(one / another for one, another in pairs))

    def __add__(self, other: "Rounds") -> "Rounds":
        """Return the sum within each round."""
        return Rounds(tuple(map(sum, zip(self.values, other.values, strict=True))))

    def __rtruediv__(self, numerator: float) -> "Rounds":
        """Return a number over the figure: seconds become a rate."""
        return Rounds(tuple(numerator / value for value in self.values))

    def scaled(self, factor: float) -> "Rounds":
        """Return the figure in another unit."""
        return Rounds(tuple(factor * value for value in self.values))

    @property
    def spread(self) -> tuple[float, float, float]:
        """Return (least, median, greatest)."""
        return min(self.values), statistics.median(self.values), max(self.values)


def interleave(
    contenders: Mapping[str, Callable[[], float]], rounds: int = ROUNDS
) -> dict[str, Rounds]:
    """Measure the contenders in turn, so many times, in the opposite order every other round.

    Args:
        contenders: by name; each measures itself once and returns its figure.
        rounds: how many count. One more goes before them, to warm everything up.
    """
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(-1, rounds):
        order: Sequence[str] = list(contenders)
        for name in order if number % 2 else reversed(order):
            figure = contenders[name]()
            if number >= 0:
                figures[name].append(figure)
    return {name: Rounds(tuple(values)) for name, values in figures.items()}


def processor_seconds_each(work: Callable[[], object], times: int) -> Callable[[], float]:
    """Return a measurement of the processor time of one call, in seconds.

    Others on a shared machine interrupt what takes long, and hardly ever what takes a millisecond,
    so that elapsed times of the two make no ratio.
    """

    def measure() -> float:
        started = time.process_time()
        for _ in range(times):
            work()
        return (time.process_time() - started) / times

    return measure
