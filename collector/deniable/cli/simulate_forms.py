"""A simulation for people, and as JSON."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.cli.bars import NOWHERE, bar
from deniable.cli.fields import Column, Field
from deniable.estimates.cumulative import blur_of
from deniable.estimates.estimate import number_text
from deniable.messages import Manifest, simulated_name
from deniable.simulation import Coverage, Figures, SimulatedReports, figures, true_figures

_MOST_ROWS: Final = 30
_BAR: Final = 16
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


def simulation_fields(made: Simulation) -> list[Field]:
    """Return what a simulation says."""
    manifest, runs = made.manifest, made.coverage.runs
    name, seed = simulated_name(manifest.name), made.reports.seed
    rows = list(_rows(made))
    told = rows
    if len(rows) > _MOST_ROWS:
        told = sorted(rows, key=lambda row: -row["truth"])[:_MOST_ROWS]
    asked = f"{name}: {manifest.question}"
    devices = f"{made.devices:,} imagined ones at epsilon {manifest.epsilon}, seed {seed}"
    fields = [
        Field("simulated", True, lines=[("SIMULATED", "no device answered")]),
        Field("survey", name, lines=[("survey", asked)]),
        Field("devices", made.devices, lines=[("devices", devices)]),
        Field("seed", seed),
        Field("runs", runs),
        Field("level", made.level),
        Field("figures", rows),
        Field(None, [_shown(row, made) for row in told], columns=_columns(made)),
    ]
    if len(told) < len(rows):
        fields.append(Field(None, text=f"The {len(told)} most frequent of {len(rows):,}."))
    if manifest.values is not None and blur_of(manifest.mechanism, made.devices):
        fields.append(Field(None, text=_SMOOTHED))
    if runs > 1:
        fields.append(Field(None, text=_summary(made)))
    else:
        fields.append(Field(None, text=_LEGEND))
    return fields


def _columns(made: Simulation) -> list[Column]:
    first = Column("name", "answer" if made.manifest.values is None else "figure")
    numbers = ["truth", "estimate", f"{100 * made.level:.12g} % interval"]
    if made.coverage.runs > 1:
        numbers = ["truth", "held", "bias", "error", "half width"]
    columns = [first, *(Column(title, title, number=True) for title in numbers)]
    return columns if made.coverage.runs > 1 else [*columns, Column("bar", " ")]


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


def _shown(row: dict[str, Any], made: Simulation) -> dict[str, str]:
    """Return a row as people read it: shares in percent, and a mean in its units."""
    mean = made.manifest.values is not None and row["name"] == "mean"

    def figure(number: float) -> str:
        return number_text(number, 2 * row["half_width"]) if mean else f"{number:z.2%}"

    low, high = row["low"], row["high"]
    outside = low == high != row["estimate"]  # cut to the nearest end of what is possible
    interval = NOWHERE if outside else f"{figure(low)} – {figure(high)}"
    missed = "" if low <= row["truth"] <= high else " *"
    return {
        "name": row["name"],
        "truth": figure(row["truth"]),
        "estimate": figure(row["estimate"]),
        f"{100 * made.level:.12g} % interval": interval + missed,
        "bar": "" if mean else bar(row["estimate"], low, high, _BAR),
        "held": f"{row['covered'] / made.coverage.runs:.1%}",
        "bias": figure(row["bias"]),
        "error": figure(row["root_mean_square_error"]),
        "half width": figure(row["half_width"]),
    }


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
