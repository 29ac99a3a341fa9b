"""Estimates from simulated counts compared with the truth, in one run and in many."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Column, Document, Fact, Table, level_text
from deniable.estimates import decoder_of, frequency_intervals, linear_query, mean
from deniable.estimates.binomial import normal_quantile
from deniable.estimates.curve import QUARTILES, TIE, ShareQueries, blur_of
from deniable.estimates.frequencies import View, first_view, viewed
from deniable.estimates.numeric import group_labels, group_weights
from deniable.mechanisms import Mechanism
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest, simulated_name
from deniable.simulation.bulk import SimulatedReports

Floats = NDArray[np.float64]


class RunFigures(NamedTuple):
    """The figures of a histogram, each a number a figure.

    They are shares; or a mean, the quartiles and the shares of groups.
    """

    estimates: Floats
    low: Floats
    high: Floats


def figures(manifest: Manifest, counts: NDArray[np.int64], level: float) -> RunFigures:
    """Return the figures that a histogram of these counts has.

    Of groups of values whose ends are blurred, with the interval of that share.
    """
    mechanism = manifest.mechanism
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts.tolist())
    if manifest.values is not None:
        blur = blur_of(mechanism, tally.n)
        groups = group_weights(len(manifest.categories), blur)
        shares = (linear_query(mechanism, tally, weights, level) for weights in groups.tolist())
        average = mean(mechanism, tally, manifest.values, level)
        rows = [(average.value, average.low, average.high)]
        assert isinstance(mechanism, Hashable)
        bounds, z = _share_queries(mechanism, blur).bounds(tally), normal_quantile(level)
        for probability in QUARTILES:
            value, low, high = (manifest.values[i] for i in bounds.places(probability, z))
            rows.append((float(value), float(low), float(high)))
        rows += [(share.value, share.low, share.high) for share in shares]
        return RunFigures(*np.array(rows).T)
    intervals = frequency_intervals(mechanism, tally, level)
    return RunFigures(decoder.frequencies(tally), intervals.low, intervals.high)


def shown_figures(
    manifest: Manifest, counts: NDArray[np.int64], level: float
) -> tuple[View, RunFigures] | None:
    """Return the shares as people see them first, as of a histogram; None of numbers.

    Their intervals hold for all rows at once.
    """
    if manifest.values is not None:
        return None
    decoder = decoder_of(manifest.mechanism)
    tally, view = decoder.tally(counts.tolist()), View.UNBIASED
    crossed = bool(manifest.dimensions) and len(decoder.parts) == 1
    rows = decoder.categories + sum(sizes_of(manifest.dimensions)) * crossed
    if not crossed:
        view = first_view(decoder, tally)
    at_once = min(1 - (1 - level) / rows, math.nextafter(1.0, 0.0))
    intervals = frequency_intervals(manifest.mechanism, tally, at_once)
    return view, RunFigures(viewed(view, decoder, tally), intervals.low, intervals.high)


@lru_cache(maxsize=1)  # all runs ask the same of their counts
def _share_queries(mechanism: Mechanism, blur: int) -> ShareQueries:
    return ShareQueries.of(decoder_of(mechanism), blur)


def true_figures(manifest: Manifest, truth: Floats, devices: int) -> dict[str, float]:
    """Return the names of these figures of so many devices, and what they would be without noise.

    All groups of a numeric survey follow from how many devices there are, and their blur does.
    """
    if manifest.values is None:
        return dict(zip(manifest.categories, truth.tolist(), strict=True))
    values = [float(value) for value in manifest.values]
    means = {"mean": float(np.dot(truth, values))}
    rising = np.cumsum(truth) + TIE
    means |= {name: values[int(np.argmax(rising >= p))] for p, name in QUARTILES.items()}
    blur = blur_of(manifest.mechanism, devices)
    shares = group_weights(len(truth), blur) @ truth
    return means | dict(zip(group_labels(manifest.categories, blur), shares.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The figures of many runs compared with the truth, each a number a figure.

    Attributes:
        runs: how many there were.
        covered: in how many of them the interval held the truth.
        bias: the mean of the estimates, less the truth.
        error: the root of the mean squared distance of the estimate from the truth.
        half_width: the mean of half the interval's width.
    """

    runs: int
    covered: NDArray[np.int64]
    bias: Floats
    error: Floats
    half_width: Floats

    @classmethod
    def of(cls, truth: Iterable[float], made: Iterable[RunFigures]) -> "Coverage":
        """Return the coverage of at least one run."""
        true, runs = np.array(list(truth)), 0
        covered = np.zeros(len(true), dtype=np.int64)
        bias, squares, widths = np.zeros((3, len(true)))
        for run in made:
            runs += 1
            covered += (run.low <= true) & (true <= run.high)
            bias += run.estimates - true
            squares += (run.estimates - true) ** 2
            widths += run.high - run.low
        return cls(runs, covered, bias / runs, np.sqrt(squares / runs), widths / (2 * runs))


_MOST_ROWS: Final = 30
_SMOOTHED: Final = "Shares are smoothed, in truth, estimates and intervals alike."
_PROJECTED: Final = (
    "Projected shares, as `deniable hist` first shows so many answers: biased, with intervals that "
    "hold for all at once. JSON has the unbiased estimates."
)
_MEANS: Final = {
    "truth": "truth",
    "held": "held",
    "bias": "bias",
    "root_mean_square_error": "error",
    "half_width": "margin of error",
}


def simulation_document(
    manifest: Manifest,
    reports: SimulatedReports,
    devices: int,
    counts: Iterator[NDArray[np.int64]],
    level: float,
    done: Callable[[int], None],
) -> Document:
    """Return the document of at least one run's counts; call ``done`` after each run."""
    first_counts = next(counts)
    made = (figures(manifest, run_counts, level) for run_counts in counts)
    first = figures(manifest, first_counts, level)

    def counted_runs() -> Iterator[RunFigures]:
        for run in chain([first], made):
            yield run
            done(1)

    truth = true_figures(manifest, reports.truth, devices)
    over = Coverage.of(truth.values(), counted_runs())
    runs, name = over.runs, simulated_name(manifest.name)
    rows: list[dict[str, Any]] = [
        {
            "name": figure,
            "truth": true,
            "estimate": float(first.estimates[at]),
            "low": float(first.low[at]),
            "high": float(first.high[at]),
            "covered": int(over.covered[at]),
            "bias": float(over.bias[at]),
            "root_mean_square_error": float(over.error[at]),
            "half_width": float(over.half_width[at]),
        }
        for at, (figure, true) in enumerate(truth.items())
    ]
    notes = [] if runs == 1 else [_summary(rows, runs, level)]
    largest, titles = rows, {"truth": "truth", "estimate": "estimate"} if runs == 1 else _MEANS
    view_figures = None if runs > 1 else shown_figures(manifest, first_counts, level)
    if view_figures is not None:
        view, shares = view_figures
        largest = [
            {**row, "estimate": value, "low": low, "high": high, "half_width": (high - low) / 2}
            for row, value, low, high in zip(rows, *map(list, shares), strict=True)
        ]
        if view is View.PROJECTED:
            titles = {"truth": "truth", "estimate": "projected"}
            notes.append(_PROJECTED)
    numeric = manifest.values is not None
    if numeric and blur_of(manifest.mechanism, devices):
        notes.insert(0, _SMOOTHED)
    if len(rows) > _MOST_ROWS:
        largest = sorted(largest, key=lambda row: -row["truth"])[:_MOST_ROWS]
        notes.insert(0, f"The {_MOST_ROWS} most frequent of {len(rows):,}.")
    in_values = {"mean", *QUARTILES.values()} if numeric else set()
    seen = [_seen(row, runs, share=row["name"] not in in_values) for row in largest]
    columns = [
        Column("name", "figure" if numeric else "answer"),
        *(Column(key, title, "number", "width") for key, title in titles.items()),
    ]
    if runs == 1:
        at_once = "simultaneous " * (view_figures is not None)
        interval = f"{level_text(level)} {at_once}interval"
        columns.append(Column("low", interval, "number", "width", "interval"))
        columns.append(Column("missed", ""))
        columns.append(Column("estimate", "", "number", shape="bar"))
    simulated = f"{devices:,} simulated ones at epsilon {manifest.epsilon}, seed {reports.seed}"
    return Document(
        [
            Fact("SIMULATED", "no device answered", "simulated", True),
            Fact("survey", f"{name}: {manifest.question}", "survey", name),
            Fact("devices", simulated, "devices", devices),
        ],
        [Table(columns, seen)],
        notes,
        values={"seed": reports.seed, "runs": runs, "level": level, "figures": rows},
    )


def _seen(row: dict[str, Any], runs: int, *, share: bool) -> dict[str, Any]:
    """Return a row as people see it: a mean in its units."""
    low, high = row["low"], row["high"]
    return {
        **row,
        "kind": "share" if share else "number",
        "held": f"{row['covered'] / runs:.1%}",
        "missed": "" if low <= row["truth"] <= high else "truth missed",
        # Of many runs, what chance leaves of their means.
        "width": 2 * row["half_width"] / math.sqrt(runs),
    }


def _summary(rows: list[dict[str, Any]], runs: int, level: float) -> str:
    held = {row["name"]: row["covered"] / runs for row in rows}
    least = min(held, key=held.__getitem__)
    chance = math.sqrt(level * (1 - level) / runs)
    return (
        f"In {runs:,} runs, intervals of {level_text(level)}, each by itself, held the truth "
        f"{sum(held.values()) / len(held):.1%} of the time, least often that of {least}, "
        f"{held[least]:.1%}; of a single one, chance alone moves this by ± {2 * chance:.1%}. "
        "Estimates were off by the error shown, as a root mean square."
    )
