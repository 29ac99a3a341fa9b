"""Estimates from simulated counts, beside the truth from which these were drawn."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Column, Document, Fact, Table, level_text
from deniable.estimates.curve import QUARTILES, TIE, Quantile
from deniable.estimates.decoders.listed import halves_of, hash_values, level_multipliers
from deniable.estimates.estimate import Estimate
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram, estimate_histogram
from deniable.estimates.numeric import group_weights
from deniable.mechanisms import Strings
from deniable.messages import Manifest
from deniable.messages.texts import simulated_name, text_signs
from deniable.presenting.histogram import histogram_document
from deniable.simulation.bulk import SimulatedReports

Floats = NDArray[np.float64]


def figures(histogram: Histogram) -> Floats:
    """Return the estimates, the lower and the upper ends of a histogram of simulated counts.

    There is one number for each share; or for a mean, the quartiles and the shares of groups.
    If the ends of groups of values are blurred, the interval is that of the blurred share.
    """
    numeric = histogram.numeric
    if numeric is None:
        return np.array([histogram.estimate, histogram.low, histogram.high])
    rows: list[Estimate | Quantile[float]] = [numeric.mean, *numeric.quartiles]
    if numeric.bins:
        groups = group_weights(len(histogram.categories), numeric.blur)
        rows += [histogram.query(weights) for weights in groups]
    return np.array([(row.value, row.low, row.high) for row in rows]).T


def true_figures(histogram: Histogram, truth: Floats) -> dict[str, float]:
    """Return the names of these figures, and their values without noise.

    A numeric survey's groups, and their blur, follow from the number of devices.
    """
    numeric = histogram.numeric
    if numeric is None or histogram.values is None:
        return dict(zip(histogram.categories, truth.tolist(), strict=True))
    values = [float(value) for value in histogram.values]
    means = {"mean": float(np.dot(truth, values))}
    if not numeric.bins:
        return means
    rising = np.cumsum(truth) + TIE
    means |= {name: values[int(np.argmax(rising >= p))] for p, name in QUARTILES.items()}
    shares = group_weights(len(truth), numeric.blur) @ truth
    labels = (group.label for group in numeric.bins)
    return means | dict(zip(labels, shares.tolist(), strict=True))


_MOST_ROWS: Final = 30
_SMOOTHED: Final = "The truth, the estimates and the intervals are smoothed equally."
_PROJECTED: Final = (
    "These are projected shares, the default view of `deniable hist` for so many answers. They "
    "are biased; their intervals hold for all answers at once. JSON shows the unbiased estimates."
)


def simulation_document(
    manifest: Manifest,
    reports: SimulatedReports,
    devices: int,
    counts: NDArray[np.int64],
    level: float,
) -> Document:
    """Return the document for the counts of this many devices."""
    histogram = estimate_histogram(manifest, 0, counts.tolist(), level)
    drawn, truth = figures(histogram), true_figures(histogram, reports.truth)
    numeric = histogram.numeric
    in_values = {"mean", *QUARTILES.values()} if numeric else set()
    rows: list[dict[str, Any]] = [
        {
            "name": figure,
            "kind": "number" if figure in in_values else "share",
            "truth": true,
            "estimate": estimate,
            "low": low,
            "high": high,
        }
        for (figure, true), estimate, low, high in zip(
            truth.items(), *map(list, drawn), strict=True
        )
    ]
    notes, largest, title = [], rows, "estimate"
    if numeric is None:
        view = histogram.first_view
        # Of two answers both intervals of a histogram hold, or neither. These are by Bonferroni.
        wider = histogram.at(1 - (1 - level) / 2) if len(rows) == 2 else histogram
        ends = wider.simultaneous
        shares = histogram.view(view).tolist(), ends.low.tolist(), ends.high.tolist()
        largest = [
            {**row, "estimate": value, "low": low, "high": high}
            for row, value, low, high in zip(rows, *shares, strict=True)
        ]
        if view is View.PROJECTED:
            title = "projected"
            notes.append(_PROJECTED)
    elif numeric.blur:
        notes.insert(0, _SMOOTHED)
    if len(rows) > _MOST_ROWS:
        largest = sorted(largest, key=lambda row: -row["truth"])[:_MOST_ROWS]
        notes.insert(0, f"Only the {_MOST_ROWS} most frequent texts are shown, of {len(rows):,}.")
    at_once = "simultaneous " * (numeric is None)
    columns = [
        Column("name", "figure" if numeric else "answer"),
        Column("truth", "truth", "number", "width"),
        Column("estimate", title, "number", "width"),
        Column("low", f"{level_text(level)} {at_once}interval", "number", "width", "interval"),
        Column("missed", ""),
        Column("estimate", "", "number", shape="bar"),
    ]
    return Document(
        _facts(manifest, devices, reports.seed),
        [Table(columns, [*map(_seen, largest)])],
        notes,
        values={"seed": reports.seed, "level": level, "figures": rows},
    )


def _facts(manifest: Manifest, devices: int, seed: int) -> list[Fact]:
    name = simulated_name(manifest.name)
    simulated = f"{devices:,} simulated devices at epsilon {manifest.epsilon}, seed {seed}"
    return [
        Fact("SIMULATED", "no device answered", "simulated", True),
        Fact("survey", f"{name}: {manifest.question}", "survey", name),
        Fact("devices", simulated, "devices", devices),
    ]


def _seen(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["low"], row["high"]
    missed = "" if low <= row["truth"] <= high else "truth missed"
    return {**row, "missed": missed, "width": high - low}


def text_counts(
    mechanism: Strings, truth: Mapping[bytes, float], devices: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the count of each response from devices with these shares of texts."""
    levels, h, m = len(mechanism.lengths), mechanism.hashes, mechanism.value.categories
    law = np.zeros((levels, h, m))
    hashes, shares = np.arange(h), np.array([*truth.values()])
    for level, length in enumerate(mechanism.lengths):
        halves = halves_of((text[:length] for text in truth), level)
        values = hash_values(halves, level_multipliers(mechanism, level), m)
        for number, value in zip(hashes, values, strict=True):
            law[level, number] = np.bincount(value, shares, m)
    lie = float(mechanism.value.lie)
    law = (lie * law.sum(axis=2, keepdims=True) + (float(mechanism.value.truth) - lie) * law) / h
    return generator.multinomial(devices, law.reshape(-1) / law.sum())


def texts_document(
    manifest: Manifest, truth: Mapping[str, float], devices: int, seed: int, level: float
) -> Document:
    """Return the document of what is found of texts with these shares, beside the truth."""
    mechanism, generator = manifest.mechanism, np.random.default_rng([seed, 0, 0])
    assert isinstance(mechanism, Strings)
    whole = sum(truth.values())
    alphabet = "".join(manifest.categories)
    shares = {bytes(text_signs(text, alphabet)): share / whole for text, share in truth.items()}
    counts = text_counts(mechanism, shares, devices, generator)
    histogram = estimate_histogram(manifest, 0, counts.tolist(), level)
    texts = histogram.texts
    assert texts is not None
    true: dict[str, float] = {}
    for text, share in shares.items():
        label = texts.label(text[: texts.stage.length])
        true[label] = true.get(label, 0.0) + share
    frequent = sorted(true, key=lambda label: -true[label])[:_MOST_ROWS]
    rows: list[dict[str, Any]] = [
        {
            "text": label,
            "truth": true.get(label, 0.0),
            "found": "yes" if label in histogram.categories else "no",
        }
        for label in dict.fromkeys((*frequent, *histogram.categories[:-1]))
    ]
    columns = [Column("text", "text"), Column("truth", "truth", "share"), Column("found", "found")]
    figures = histogram_document(histogram)
    title = "The true shares of the most frequent texts"
    tables = [*figures.tables, Table(columns, rows, title=title)]
    standing = [row["text"] for row in rows if row["found"] == "yes"]
    return Document(
        _facts(manifest, devices, seed),
        tables,
        figures.notes,
        values={"seed": seed, "level": level, "truth": true, "found": standing},
    )
