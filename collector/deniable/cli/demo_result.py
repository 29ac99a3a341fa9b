"""What the demonstration shows at the end: truth, raw counts and estimate, side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.budget import upper_text
from deniable.documents.bars import bar
from deniable.estimates.document import supporting_text
from deniable.mechanisms import SurveyMechanism

_Row = dict[str, Any]

_MOST_ROWS: Final = 20
_FREQUENT: Final = 10
"""So many answers are shown where there are too many for all of them."""


def show_result(
    answers: Sequence[str],
    histogram: Mapping[str, Any],
    mechanism: SurveyMechanism,
    screen: Console,
) -> None:
    """Print the collector's histogram (JSON) beside the truth that only the demonstration knows.

    A response of a design supports many answers, so that its raw counts are no shares.
    """
    truth, n = Counter(answers), len(answers)
    rows = [
        {**row, "truth": truth[row["category"]] / n, "share": row["raw"] / n}
        for row in histogram["categories"]
    ]
    shown, rest, shares = rows, rows[:0], mechanism.hit is None
    if len(rows) > _MOST_ROWS:
        ordered = sorted(rows, key=lambda row: -row["truth"])
        shown, rest = ordered[:_FREQUENT], ordered[_FREQUENT:]
    screen.print(_table(shown, "raw count" if shares else "supported by"))
    if supporting := supporting_text(mechanism):
        screen.print(supporting)
    if rest:
        most = rest[0]["truth"]
        screen.print(f"and {len(rest)} answers more, each of them the truth of at most {most:.1%}")
    screen.print()
    screen.print(_drawing(shown, raw=shares))
    worst = max(abs(row["estimate"] - row["truth"]) for row in rows)
    screen.print(
        f"{sum(map(_covers, rows))} of {len(rows)} intervals cover the truth (each does so in "
        f"about 95 of 100 runs); the largest error is {100 * worst:.1f} percentage points."
    )
    screen.print(
        "Estimates are unbiased and may leave [0 %, 100 %]; intervals are cut to it."
        + (" !: the whole interval lay outside." if any(row["outside"] for row in rows) else "")
    )
    privacy = mechanism.privacy
    assert privacy.odds is not None
    screen.print(
        "\nWhat the collector could learn about one person: whatever odds it gave to any two "
        "answers before, their one report shifts them by a factor of at most "
        f"{upper_text(privacy.odds, 4)} (e^{upper_text(privacy.epsilon, 4)} : 1)."
    )


def _covers(row: _Row) -> bool:
    return bool(row["low"] <= row["truth"] <= row["high"])


def _table(rows: list[_Row], raw: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("answer", overflow="fold")
    for heading in ("truth", raw, "estimate", "95 % interval", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("covers", justify="center")
    for row in rows:
        table.add_row(
            Text(row["category"]),
            f"{row['truth']:.1%}",
            f"{row['raw']:,} = {row['share']:.1%}",
            f"{row['estimate']:.1%}",
            f"{row['low']:.1%} – {row['high']:.1%}",
            f"{100 * (row['estimate'] - row['truth']):+.1f}",
            ("yes" if _covers(row) else "no") + ("!" if row["outside"] else ""),
        )
    return table


def _drawing(rows: list[_Row], *, raw: bool) -> Text:
    width = max(len(row["category"]) for row in rows)
    scale = max(row[key] for row in rows for key in ("truth", *["share"] * raw, "high"))
    drawing = Text()
    for row in rows:
        name, truth, share = row["category"], row["truth"], row["share"]
        for label, ends, style in (
            ("truth", (truth, truth, truth), "green"),
            *[("raw", (share, share, share), "dim")] * raw,
            ("estimate", (row["estimate"], row["low"], row["high"]), "cyan"),
        ):
            drawing.append(f"{name:>{width}}  {label:<8}  ")
            drawing.append(f"{bar(*ends, 40, scale)}\n", style)
            name = ""
    drawing.append("estimate: █ up to the interval's low end, ▓ the estimate, ░ its high end\n")
    return drawing
