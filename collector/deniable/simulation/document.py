"""The document of a simulation."""

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Column, Document, Fact, Table, level_text
from deniable.estimates.quantiles import QUARTILES, blur_of
from deniable.estimates.views import View
from deniable.messages import Manifest, simulated_name
from deniable.simulation.bulk import SimulatedReports
from deniable.simulation.coverage import (
    Coverage,
    RunFigures,
    figures,
    shown_figures,
    true_figures,
)

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
    "half_width": "half width",
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
