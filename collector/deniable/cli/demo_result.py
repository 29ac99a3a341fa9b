"""What the demonstration shows at the end: truth, raw counts and estimate, side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import bar
from deniable.cli.bounds import upper_bound
from deniable.mechanisms import Privacy

__all__ = ["DemoResult"]


@dataclass(frozen=True, slots=True)
class _Row:
    category: str
    truth: float
    count: int
    raw: float
    estimate: float
    low: float
    high: float
    outside: bool

    @property
    def covers(self) -> bool:
        return self.low <= self.truth <= self.high


class DemoResult:
    """The collector's histogram beside the truth that only the demonstration knows.

    Args:
        answers: the true answers of all devices.
        histogram: the collector's JSON.
        privacy: of the implemented mechanism.
    """

    def __init__(
        self, answers: Sequence[str], histogram: Mapping[str, object], privacy: Privacy
    ) -> None:
        truth, n = Counter(answers), len(answers)
        categories = histogram["categories"]
        assert isinstance(categories, list)
        self._rows = [
            _Row(
                row["category"],
                truth[row["category"]] / n,
                row["raw"],
                row["raw"] / n,
                row["estimate"],
                row["low"],
                row["high"],
                row["outside"],
            )
            for row in categories
        ]
        self._privacy = privacy

    def show(self, screen: Console) -> None:
        """Print the table, the drawn histogram and what it means."""
        screen.print(self._table())
        screen.print()
        screen.print(self._drawing())
        covering = sum(row.covers for row in self._rows)
        worst = max(abs(row.estimate - row.truth) for row in self._rows)
        screen.print(
            f"{covering} of {len(self._rows)} intervals cover the truth (each does so in about 95 "
            f"of 100 runs); the largest error is {100 * worst:.1f} percentage points."
        )
        screen.print(
            "Estimates are unbiased and may leave [0 %, 100 %]; intervals are cut to it."
            + (" !: the whole interval lay outside." if any(r.outside for r in self._rows) else "")
        )
        odds, epsilon = self._privacy.odds, self._privacy.epsilon
        assert odds is not None
        screen.print(
            "\nWhat the collector could learn about one person: whatever odds it gave to any two "
            "answers before, their one report shifts them by a factor of at most "
            f"{upper_bound(odds, 4)} (e^{upper_bound(epsilon, 4)} : 1)."
        )

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("answer", overflow="fold")
        for heading in ("truth", "raw count", "estimate", "95 % interval", "error"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("covers", justify="center")
        for row in self._rows:
            table.add_row(
                Text(row.category),
                _percent(row.truth),
                f"{row.count:,} = {_percent(row.raw)}",
                _percent(row.estimate),
                f"{_percent(row.low)} – {_percent(row.high)}",
                f"{100 * (row.estimate - row.truth):+.1f}",
                ("yes" if row.covers else "no") + ("!" if row.outside else ""),
            )
        return table

    def _drawing(self) -> Text:
        width = max(len(row.category) for row in self._rows)
        scale = max(max(row.truth, row.raw, row.high) for row in self._rows)
        drawing = Text()
        for row in self._rows:
            bars = (
                ("truth", bar(row.truth, row.truth, row.truth, 40, scale), "green"),
                ("raw", bar(row.raw, row.raw, row.raw, 40, scale), "dim"),
                ("estimate", bar(row.estimate, row.low, row.high, 40, scale), "cyan"),
            )
            for number, (label, drawn, style) in enumerate(bars):
                name = row.category if number == 0 else ""
                drawing.append(f"{name:>{width}}  {label:<8}  ")
                drawing.append(f"{drawn}\n", style)
        drawing.append("estimate: █ up to the interval's low end, ▓ the estimate, ░ its high end\n")
        return drawing


def _percent(value: float) -> str:
    return f"{value:.1%}"
