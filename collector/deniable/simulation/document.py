"""What a simulation says, as a document."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Column, Document, Fact, Kind, Table, number_text
from deniable.documents.bars import NOWHERE
from deniable.estimates.cumulative import blur_of
from deniable.messages import Manifest, simulated_name
from deniable.simulation.coverage import Coverage, Figures, figures, true_figures
from deniable.simulation.reports import SimulatedReports

_MOST_ROWS: Final = 30
_LEGEND: Final = (
    "Bars: solid to the low end, half-tone to the estimate, light to the high end; *: truth missed."
)
_SMOOTHED: Final = "Shares are smoothed, in truth, estimates and intervals alike."


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What became of imagined devices.

    Attributes:
        truth: the figures by their names, as they are.
        first: those of the first run.
        coverage: how all runs compare.
    """

    manifest: Manifest
    reports: SimulatedReports
    devices: int
    level: float
    truth: dict[str, float]
    first: Figures
    coverage: Coverage


def simulated(
    manifest: Manifest,
    reports: SimulatedReports,
    devices: int,
    counts: Iterator[NDArray[np.int64]],
    level: float,
    done: Callable[[int], None],
) -> Simulation:
    """Estimate from the counts of at least one run; tell of each that it is done."""
    first = figures(manifest, next(counts), level)

    def made() -> Iterator[Figures]:
        yield first
        done(1)
        for each in counts:
            yield figures(manifest, each, level)
            done(1)

    truth = true_figures(manifest, reports.truth, devices)
    coverage = Coverage.of(truth.values(), made())
    return Simulation(manifest, reports, devices, level, truth, first, coverage)


def simulation_document(made: Simulation) -> Document:
    """Return what a simulation says."""
    manifest, runs = made.manifest, made.coverage.runs
    name, seed = simulated_name(manifest.name), made.reports.seed
    rows = [*_rows(made)]
    largest = rows
    if len(rows) > _MOST_ROWS:
        largest = sorted(rows, key=lambda row: -row["truth"])[:_MOST_ROWS]
    devices = f"{made.devices:,} imagined ones at epsilon {manifest.epsilon}, seed {seed}"
    facts = [
        Fact("SIMULATED", "no device answered", "simulated", True),
        Fact("survey", f"{name}: {manifest.question}", "survey", name),
        Fact("devices", devices, "devices", made.devices),
        Fact(key="seed", value=seed),
        Fact(key="runs", value=runs),
        Fact(key="level", value=made.level),
    ]
    notes = [_LEGEND if runs == 1 else _summary(made)]
    if manifest.values is not None and blur_of(manifest.mechanism, made.devices):
        notes.insert(0, _SMOOTHED)
    if len(largest) < len(rows):
        notes.insert(0, f"The {len(largest)} most frequent of {len(rows):,}.")
    seen = Table(_columns(made), [_seen(row, made) for row in largest])
    return Document(facts, [Table((), rows, "figures"), seen], notes)


def _columns(made: Simulation) -> list[Column]:
    numbers = {"truth": "truth", "estimate": "estimate"}
    if made.coverage.runs > 1:
        numbers = {
            "truth": "truth",
            "held": "held",
            "bias": "bias",
            "root_mean_square_error": "error",
            "half_width": "half width",
        }
    columns = [
        Column("name", "answer" if made.manifest.values is None else "figure"),
        *(Column(key, title, Kind.SHARE, "width") for key, title in numbers.items()),
    ]
    if made.coverage.runs == 1:
        columns.append(Column("interval", f"{100 * made.level:.12g} % interval", Kind.NUMBER))
        columns.append(Column("bar", " ", Kind.BAR))
    return columns


def _rows(made: Simulation) -> Iterator[dict[str, Any]]:
    first, over = made.first, made.coverage
    for at, (name, truth) in enumerate(made.truth.items()):
        yield {
            "name": name,
            "truth": truth,
            "estimate": float(first.estimates[at]),
            "low": float(first.low[at]),
            "high": float(first.high[at]),
            "covered": int(over.covered[at]),
            "bias": float(over.bias[at]),
            "root_mean_square_error": float(over.error[at]),
            "half_width": float(over.half_width[at]),
        }


def _seen(row: dict[str, Any], made: Simulation) -> dict[str, Any]:
    """Return a row as people see it: a mean in its units."""
    share = made.manifest.values is None or row["name"] != "mean"
    runs, estimate, low, high = made.coverage.runs, row["estimate"], row["low"], row["high"]
    # Of many runs, what chance leaves of their means.
    width = 2 * row["half_width"] / math.sqrt(runs)
    ends = (number_text(end, width, share=share) for end in (low, high))
    outside = low == high != estimate  # cut to the nearest end of what is possible
    missed = "" if low <= row["truth"] <= high else " *"
    seen = {
        **row,
        "held": f"{row['covered'] / runs:.1%}",
        "interval": (NOWHERE if outside else " – ".join(ends)) + missed,
        "bar": (estimate, low, high) if share else "",
        "width": width,
    }
    if share:
        return seen
    numbers = ("truth", "estimate", "bias", "root_mean_square_error", "half_width")
    return seen | {key: number_text(row[key], width) for key in numbers}


def _summary(made: Simulation) -> str:
    over, level = made.coverage, made.level
    held = over.covered / over.runs
    least = list(made.truth)[int(held.argmin())]
    chance = math.sqrt(level * (1 - level) / over.runs)
    return (
        f"In {over.runs:,} runs, intervals of {100 * level:.12g} % held the truth "
        f"{held.mean():.1%} of the time, least often that of {least}, {held.min():.1%}; of a "
        f"single one, chance alone moves this by ± {2 * chance:.1%}. Estimates were off by the "
        "error shown, as a root mean square."
    )
