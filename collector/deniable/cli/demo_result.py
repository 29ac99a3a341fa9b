"""The document of a demonstration: truth, raw counts and estimates, side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from deniable.documents import Column, Document, Table, upper_text
from deniable.documents.terminal import BARS, bar
from deniable.mechanisms import SurveyMechanism, percent_text
from deniable.presenting.histogram import UNBIASED, supporting_text

_Row = dict[str, Any]

_MOST_ROWS: Final = 20
_FREQUENT: Final = 10
"""The number of answers in the tables where there are too many for all of them."""
_ROUNDING: Final = 1e-9
_BARS: Final = tuple(Column(key, "", "name") for key in ("answer", "figure", "bar"))


def demo_document(
    answers: Sequence[str], histogram: Mapping[str, Any], mechanism: SurveyMechanism
) -> Document:
    """Return the collector's histogram (JSON) beside the truth that only the demonstration knows.

    A response of a design supports many answers, so that its raw counts are no shares.
    """
    truth, n = Counter(answers), len(answers)
    rows = [_row(row, truth[row["category"]] / n, n) for row in histogram["categories"]]
    ordered = sorted(rows, key=lambda row: -row["truth"]) if len(rows) > _MOST_ROWS else rows
    most = _FREQUENT if len(rows) > _MOST_ROWS else len(rows)
    frequent, rest, shares = ordered[:most], ordered[most:], mechanism.hit is None
    notes = [text] if (text := supporting_text(mechanism)) else []
    if rest:
        notes.append(
            f"Above are the {most} most frequent answers, and {len(rest)} answers more are the "
            f"truth of at most {percent_text(Fraction(rest[0]['truth']), 'most')} each."
        )
    worst = max(abs(row["estimate"] - row["truth"]) for row in rows)
    covered = sum(row["covers"] == "yes" for row in rows)
    privacy = mechanism.privacy
    assert privacy.odds is not None
    notes += [
        f"{BARS}.",
        f"{covered} of {len(rows)} intervals cover the truth (each does so in about 95 of 100 "
        f"runs); the largest error is {100 * worst:.1f} percentage points.",
        f"{UNBIASED}.",
        "",
        "What the collector could learn about one person: whatever odds it gave to any two "
        "answers before, their one report shifts them by a factor of at most "
        f"{upper_text(privacy.odds, 4)} (e^{upper_text(privacy.epsilon, 4)} : 1).",
    ]
    columns = [
        Column("category", "answer"),
        Column("truth", "truth", "share", "width"),
        Column("counted", "raw count" if shares else "supported by", "number"),
        Column("estimate", "estimate", "share", "width"),
        Column("low", "95 % interval", "share", "width", "interval"),
        Column("error", "error", "points", "width", signed=True),
        Column("covers", "covers", "name"),
    ]
    bars = [*_bars(frequent, raw=shares)]
    tables = [Table(columns, frequent), Table(_BARS, bars)]
    distribution = histogram["distribution"]
    if distribution is not None and not distribution["withheld"]:
        curve, quartiles = _curve(distribution, truth, n), distribution["quartiles"]
        drawn = curve[:: -(-len(curve) // _MOST_ROWS)]
        shares_up_to = Table([column for column in columns if column.key != "counted"], drawn)
        tables.insert(0 if rest else len(tables), shares_up_to)
        held = all(row["covers"] == "yes" for row in curve)
        notes = [
            f"Shares up to each answer: their band {'covers' if held else 'does not cover'} the "
            "whole true curve (it does in 95 of 100 runs or more). The median is "
            f"{quartiles[1]['value']}, between {quartiles[1]['low']} and {quartiles[1]['high']}.",
            *notes,
        ]
    return Document(tables=tables, notes=notes)


def _curve(distribution: Mapping[str, Any], truth: Mapping[str, int], n: int) -> list[_Row]:
    """Return the shares up to each answer but the last, and what they truly are."""
    rows, true = distribution["curve"], 0.0
    curve = []
    for row in rows[:-1]:
        true += truth[row["category"]] / n
        covers = row["low"] <= true + _ROUNDING and true - _ROUNDING <= row["high"]
        curve.append(
            {
                **row,
                "category": f"up to {row['category']}",
                "truth": true,
                "width": row["high"] - row["low"],
                "error": row["estimate"] - true,
                "covers": "yes" if covers else "no",
            }
        )
    return curve


def _row(row: _Row, truth: float, n: int) -> _Row:
    share = row["raw"] / n
    return {
        **row,
        "truth": truth,
        "share": share,
        "width": row["high"] - row["low"],
        "counted": f"{row['raw']:,} = {share:.1%}",
        "error": row["estimate"] - truth,
        "covers": "no" if not row["low"] <= truth <= row["high"] else "yes",
    }


def _bars(rows: list[_Row], *, raw: bool) -> Iterator[_Row]:
    scale = max(row[key] for row in rows for key in ("truth", *["share"] * raw, "high"))
    for row in rows:
        figures = {"truth": [row["truth"]] * 3}
        figures |= {"raw": [row["share"]] * 3} if raw else {}
        figures["estimate"] = [row["estimate"], row["low"], row["high"]]
        for figure, (value, low, high) in figures.items():
            answer = row["category"] if figure == "truth" else ""
            yield {"answer": answer, "figure": figure, "bar": bar(value, low, high, 40, scale)}
