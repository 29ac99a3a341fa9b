"""Tables of figures: least, median and greatest of the rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rounds import Rounds


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table; a ratio, told by ``÷`` in its label, has no unit."""

    label: str
    figure: Rounds
    unit: str = ""


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table."""
    width = max(len(row.label) for row in rows)
    print(f"\n{title}\n{'':<{width}}  {'min':>9} {'median':>9} {'max':>9}")
    for row in rows:
        cells = " ".join(f"{_written(value):>9}" for value in row.figure.spread)
        print(f"{row.label:<{width}}  {cells}  {row.unit}".rstrip())


def _written(value: float) -> str:
    """Return three significant digits, without an exponent."""
    places = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{places}f}"


def write(tables: Mapping[str, Sequence[str]]) -> None:
    """Write tables that documents include, each into a file of its own."""
    for name, lines in tables.items():
        path = Path(__file__).parent / "results" / f"{name}.md"
        path.write_text("\n".join(lines) + "\n", "utf-8")
