"""Estimates from simulated counts, beside the truth from which these were drawn."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Column, Document, Fact, Table, level_text
from deniable.estimates import decoder_of, frequency_intervals, linear_query, mean
from deniable.estimates.binomial import normal_quantile
from deniable.estimates.curve import QUARTILES, TIE, blur_of, quantile_bounds
from deniable.estimates.decoders.listed import halves_of, hash_values, level_multipliers
from deniable.estimates.frequencies import View, first_view, viewed
from deniable.estimates.histogram import estimate_histogram
from deniable.estimates.numeric import group_labels, group_weights
from deniable.mechanisms import Strings
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest, simulated_name
from deniable.messages.texts import text_signs
from deniable.presenting.histogram import histogram_document
from deniable.simulation.bulk import SimulatedReports

Floats = NDArray[np.float64]


class RunFigures(NamedTuple):
    """The figures of a histogram, with one number for each figure.

    They are shares; or a mean, the quartiles and the shares of groups.
    """

    estimates: Floats
    low: Floats
    high: Floats


def figures(manifest: Manifest, counts: NDArray[np.int64], level: float) -> RunFigures:
    """Return the figures of a histogram of these counts.

    If the ends of groups of values are blurred, the interval is that of the blurred share.
    """
    mechanism = manifest.mechanism
    decoder = decoder_of(mechanism)
    tally = decoder.tally(counts.tolist())
    if manifest.values is not None:
        average = mean(mechanism, tally, manifest.values, level)
        rows = [(average.value, average.low, average.high)]
        if not decoder.tells_shares:
            return RunFigures(*np.array(rows).T)
        blur = blur_of(mechanism, tally.n)
        groups = group_weights(len(manifest.categories), blur)
        shares = (linear_query(mechanism, tally, weights, level) for weights in groups.tolist())
        bounds, z = quantile_bounds(mechanism, tally), normal_quantile(level)
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
    """Return a histogram's shares in people's first view; None for numbers.

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


def true_figures(manifest: Manifest, truth: Floats, devices: int) -> dict[str, float]:
    """Return the names of these figures for this many devices, and their values without noise.

    A numeric survey's groups, and their blur, follow from the number of devices.
    """
    if manifest.values is None:
        return dict(zip(manifest.categories, truth.tolist(), strict=True))
    values = [float(value) for value in manifest.values]
    means = {"mean": float(np.dot(truth, values))}
    if not decoder_of(manifest.mechanism).tells_shares:
        return means
    rising = np.cumsum(truth) + TIE
    means |= {name: values[int(np.argmax(rising >= p))] for p, name in QUARTILES.items()}
    blur = blur_of(manifest.mechanism, devices)
    shares = group_weights(len(truth), blur) @ truth
    return means | dict(zip(group_labels(manifest.categories, blur), shares.tolist(), strict=True))


_MOST_ROWS: Final = 30
_SMOOTHED: Final = "Shares are smoothed equally in the truth, the estimates and the intervals."
_PROJECTED: Final = (
    "These are projected shares, the default view of `deniable hist` for so many answers. They "
    "are biased; their intervals hold for all answers at once. JSON has the unbiased estimates."
)


def simulation_document(
    manifest: Manifest,
    reports: SimulatedReports,
    devices: int,
    counts: NDArray[np.int64],
    level: float,
) -> Document:
    """Return the document for the counts of this many devices."""
    drawn, truth = figures(manifest, counts, level), true_figures(manifest, reports.truth, devices)
    name, numeric = simulated_name(manifest.name), manifest.values is not None
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
    view_figures = shown_figures(manifest, counts, level)
    if view_figures is not None:
        view, shares = view_figures
        largest = [
            {**row, "estimate": value, "low": low, "high": high}
            for row, value, low, high in zip(rows, *map(list, shares), strict=True)
        ]
        if view is View.PROJECTED:
            title = "projected"
            notes.append(_PROJECTED)
    if numeric and blur_of(manifest.mechanism, devices):
        notes.insert(0, _SMOOTHED)
    if len(rows) > _MOST_ROWS:
        largest = sorted(largest, key=lambda row: -row["truth"])[:_MOST_ROWS]
        notes.insert(0, f"The {_MOST_ROWS} most frequent of {len(rows):,}.")
    at_once = "simultaneous " * (view_figures is not None)
    columns = [
        Column("name", "figure" if numeric else "answer"),
        Column("truth", "truth", "number", "width"),
        Column("estimate", title, "number", "width"),
        Column("low", f"{level_text(level)} {at_once}interval", "number", "width", "interval"),
        Column("missed", ""),
        Column("estimate", "", "number", shape="bar"),
    ]
    simulated = f"{devices:,} simulated devices at epsilon {manifest.epsilon}, seed {reports.seed}"
    return Document(
        [
            Fact("SIMULATED", "no device answered", "simulated", True),
            Fact("survey", f"{name}: {manifest.question}", "survey", name),
            Fact("devices", simulated, "devices", devices),
        ],
        [Table(columns, [*map(_seen, largest)])],
        notes,
        values={"seed": reports.seed, "level": level, "figures": rows},
    )


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
    simulated = f"{devices:,} simulated ones at epsilon {manifest.epsilon}, seed {seed}"
    name = simulated_name(manifest.name)
    facts = [
        Fact("SIMULATED", "no device answered", "simulated", True),
        Fact("survey", f"{name}: {manifest.question}", "survey", name),
        Fact("devices", simulated, "devices", devices),
    ]
    title = "The truth, of the most frequent texts"
    tables = [*figures.tables, Table(columns, rows, title=title)]
    standing = [row["text"] for row in rows if row["found"] == "yes"]
    return replace(
        Document(facts, tables, figures.notes),
        values={"seed": seed, "level": level, "truth": true, "found": standing},
    )
