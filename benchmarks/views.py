"""Views: how far each is from the truth, and which intervals hold beside it.

Figures of docs/coverage.md. Counts are drawn by their exact law, of the mechanism that ``"auto"``
takes at epsilon 1.
"""

from collections.abc import Mapping
from itertools import product
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import LEVEL, Floats, at_once, truths
from benchmarks.table import write
from deniable.estimates import decoder_of
from deniable.estimates.decoders import Decoder, Tally
from deniable.estimates.frequencies import Intervals, View, first_view, intervals_of, viewed
from deniable.planning import best

SIZES: Final = (16, 105, 1024)
REPORTS: Final = (1_000, 10_000, 100_000, 1_000_000)
RUNS: Final = {16: 1_000, 105: 1_000, 1024: 400}
TRUTHS: Final = {"uniform": "all alike", "zipf": "Zipf's", "most": "one has 95 %"}
_TOP: Final = 10


class Viewed(NamedTuple):
    """Figures of each run.

    Attributes:
        squares: the summed squared errors of each view.
        ranked: the share of the ten largest answers that is among the ten largest estimates.
        own: the share of these ten whose own interval holds the truth; inside: what is projected.
        held: whether all simultaneous intervals hold the truth; around: what is projected.
    """

    squares: Mapping[View, Floats]
    ranked: Floats
    own: Floats
    inside: Floats
    held: Floats
    around: Floats


def population(name: str, k: int) -> Floats:
    """Return a truth of k answers, by its name in ``TRUTHS``."""
    if name == "most":
        return np.concatenate(([0.95], np.full(k - 1, 0.05 / (k - 1))))
    return truths((k,))[name]


def measured(decoder: Decoder, truth: Floats, n: int, *, runs: int, seed: int) -> Viewed:
    """Return the figures of so many runs with n reports each."""
    law = decoder.response_shares(truth)
    generator = np.random.default_rng(seed)
    squares = {view: np.empty(runs) for view in View}
    rows, tenth = [], np.sort(truth)[-_TOP]
    for run in range(runs):
        tally = Tally(n, generator.multinomial(n, law / law.sum()))
        for view in View:
            squares[view][run] = np.sum((viewed(view, decoder, tally) - truth) ** 2)
        # The projection keeps the order; what it makes 0 is ranked by the estimate.
        top = np.argsort(-decoder.frequencies(tally), kind="stable")[:_TOP]
        shown = viewed(View.PROJECTED, decoder, tally)
        each, together = (intervals_of(decoder, tally, at) for at in (LEVEL, at_once(decoder)))
        rows.append(
            (
                np.mean(truth[top] >= tenth),
                *(within(each, values)[top].mean() for values in (truth, shown)),
                *(within(together, values).all() for values in (truth, shown)),
            )
        )
    return Viewed(squares, *np.array(rows, dtype=np.float64).T)


def within(intervals: Intervals, values: Floats) -> NDArray[np.bool_]:
    """Return which intervals hold these."""
    low, high = intervals.low - 1e-12, intervals.high + 1e-12
    return np.asarray((low <= values) & (values <= high))


def run() -> None:
    """Measure, print, and write the table for docs/coverage.md."""
    lines = [
        "| k | reports | truth | first | error: unbiased | projected | true ten found | own: hold "
        "| have the projected | at once: hold | have the projected |",
        "|---" * 11 + "|",
    ]
    for k in SIZES:
        decoder = decoder_of(best(k, "1").mechanism())
        for name, n in product(TRUTHS, REPORTS):
            seed = crc32(f"views {k} {name} {n}".encode())
            found = measured(
                decoder,
                population(name, k),
                n,
                runs=RUNS[k],
                seed=seed,
            )
            first = first_view(decoder, decoder.tally({0: n}))
            errors = [_points(found.squares[view], k) for view in View]
            ranked = f"{10 * found.ranked.mean():.1f}" if name == "zipf" else "-"
            shares = [f"{100 * part.mean():.1f}" for part in found[2:]]
            cells = [f"{k:,}", f"{n:,}", TRUTHS[name], str(first), *errors, ranked, *shares]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    write({"coverage-views": lines})


def _points(squares: Floats, k: int) -> str:
    """Return the root mean square error of a share, in percentage points."""
    return f"{100 * np.sqrt(squares.mean() / k):.3g}"
