"""A day of 10^9 devices: when their reports arrive, and what their histogram says.

When people open an app is assumed; all else is the devices' own law, drawn for some of them. The
counts are drawn for all, by the exact law of what they send.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.surveys import signed_survey
from deniable.client.sending.delays import LONGEST_DELAY
from deniable.client.survey import DAY
from deniable.estimates import Histogram
from deniable.simulation import SimulatedReports

_DEVICES: Final = 10**9
_DRAWN: Final = 2_000_000
"""Devices whose day is drawn; the others are taken to spend theirs alike."""
_PARTS: Final = 10
_SPREAD: Final = 3_600
"""The default of a client's ``delivery_seconds``."""

# How many of a thousand million people are in which zone, by hours from UTC; and how often apps are
# opened in each hour of their day. Both are assumptions, in round numbers.
_ZONES: Final = {-8: 5, -5: 8, -3: 6, 0: 8, 1: 13, 3: 10, 5: 22, 8: 28}
_HOURS: Final = (2, 1, 1, 1, 1, 2, 4, 6, 7, 7, 7, 7, 8, 7, 7, 7, 7, 8, 9, 10, 10, 9, 7, 4)
_OPENINGS: Final = 6
"""Times that an app is opened a day, on average."""
_OPEN_SECONDS: Final = 180
"""How long it stays open, on average."""


def sending_times(
    generator: np.random.Generator, devices: int, zones: Mapping[int, float]
) -> NDArray[np.float64]:
    """Return when reports of two days leave the devices, in seconds; inf for those still to leave.

    An app reports when it is first opened in an epoch, a UTC day. The report leaves at a uniform
    time of the next hour if the app is open then, else when it is next opened, after up to half a
    minute (D7).
    """
    openings = generator.poisson(3 * _OPENINGS, devices)
    most = int(openings.max())
    shift = generator.choice([*zones], size=devices, p=_shares([*zones.values()]))
    hour = generator.choice(24, size=(devices, most), p=_shares(_HOURS))
    day = generator.integers(0, 3, size=(devices, most))
    within = generator.random((devices, most))
    begin = ((day * 24 + hour + within - shift[:, None]) * 3_600) % (3 * DAY)
    begin[np.arange(most) >= openings[:, None]] = np.inf
    begin.sort(axis=1)
    length = generator.exponential(_OPEN_SECONDS, size=begin.shape)
    sent = []
    for epoch in (0, 1):
        first = np.where(begin >= epoch * DAY, begin, np.inf).min(axis=1)
        first[first >= (epoch + 1) * DAY] = np.inf  # not opened in this epoch: no report
        due = first + generator.random(devices) * _SPREAD
        hold = generator.random((devices, 1)) * LONGEST_DELAY
        is_open = (begin <= due[:, None]) & (due[:, None] < begin + length)
        later = np.where(begin > due[:, None], begin + hold, np.inf).min(axis=1)
        sent.append(np.where(is_open.any(axis=1), due, later))
    times: NDArray[np.float64] = np.concatenate(sent)
    return times


def _shares(weights: Sequence[float]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.array(weights) / sum(weights)
    return shares


def run() -> None:
    """Draw and print."""
    generator = np.random.default_rng(20_261_126)
    for title, zones in (("all zones", _ZONES), ("one zone", {1: 1})):
        parts = [sending_times(generator, _DRAWN // _PARTS, zones) for _ in range(_PARTS)]
        times = np.concatenate(parts)
        today = times[(times >= DAY) & (times < 2 * DAY)]  # the second day: yesterday's come too
        minutes = np.bincount(((today - DAY) // 60).astype(int), minlength=1_440)
        scale = _DEVICES / _DRAWN / 60
        rates = minutes * scale
        hours = rates.reshape(24, 60).mean(axis=1)
        print(
            f"\na day of {_DEVICES:.0e} devices, {title}: {today.size * scale * 60:.3e} reports;"
            f" a second {rates.mean():,.0f} on average, {hours.max():,.0f} in the busiest hour"
            f" (the {hours.argmax()}th), {rates.max():,.0f} in the busiest minute"
        )
    mechanism = signed_survey(16, 8, "1")[0].mechanism
    truth = np.arange(1, 17) / 136
    counts = SimulatedReports(mechanism, truth, 2016).counts(_DEVICES)
    started = time.perf_counter()
    histogram = Histogram.of_counts(mechanism, counts.tolist())
    seconds = time.perf_counter() - started
    held = (histogram.low <= truth) & (truth <= histogram.high)
    print(f"its histogram of 16 answers: {1e3 * seconds:.1f} ms; {held.sum()} of 16 intervals hold")
