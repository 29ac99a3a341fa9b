"""Shares, and what changed between epochs: for people, as JSON and as CSV."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable.cli.bars import bar
from deniable.cli.life_terms import epochs_named
from deniable.estimates import Answers, Estimate, Histogram, Test
from deniable.estimates.answers import answers_text
from deniable.estimates.estimate import Unit
from deniable.estimates.fields import estimate_map, written

_BAR_WIDTH = 24
_LABEL_WIDTH = 40
_COLUMNS = (
    *("survey", "survey_id", "epochs", "n", "against_epochs", "against_n", "answers"),
    *("estimate", "standard_error", "low", "high", "outside", "level", "distinguishable"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One share or mean; or, against another epoch, both and their difference."""

    label: str
    estimate: Estimate
    now: Estimate
    before: Estimate | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was asked of a histogram, alone or against another.

    ``test`` is whether anything changed at all, where all answers are compared.
    """

    histogram: Histogram
    against: Histogram | None
    rows: tuple[Row, ...]
    test: Test | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        told = self._shared() | {"rows": [self._plain(row) for row in self.rows]}
        if self.test is not None:
            test = self.test
            names = ("statistic", "degrees", "p_value")
            told["test"] = {name: getattr(test, name) for name in names}
        return told

    def to_csv(self) -> str:
        """Return a row an answer as CSV."""
        shared = self._shared()
        for key in ("epochs", "against_epochs"):
            shared[key] = " ".join(map(str, shared[key] or ()))
        return written(_COLUMNS, shared, map(self._plain, self.rows))

    def _shared(self) -> dict[str, Any]:
        told, against = self.histogram, self.against
        return {
            "survey": told.survey,
            "survey_id": told.survey_id,
            "epochs": list(told.epochs),
            "n": told.n,
            "against_epochs": None if against is None else list(against.epochs),
            "against_n": None if against is None else against.n,
            "level": told.level,
        }

    def _plain(self, row: Row) -> dict[str, Any]:
        different = None if self.against is None else row.estimate.distinguishable
        sentence = row.estimate.sentence
        told = {"answers": row.label, **estimate_map(row.estimate)}
        return told | {"distinguishable": different, "sentence": sentence}


def compare(histogram: Histogram, answers: Answers | None, against: Histogram | None) -> Comparison:
    """Return a share, or the difference of one or all of them, or of means, from another epoch.

    Raises:
        ValueError: if they cannot be compared, or there are no such answers.
    """

    def row(label: str, now: Estimate, before: Estimate | None) -> Row:
        return Row(label, now if before is None else now - before, now, before)

    if answers is not None:
        before = None if against is None else against.share(answers)
        share = row(answers_text(answers), histogram.share(answers), before)
        return Comparison(histogram, against, (share,))
    assert against is not None
    if histogram.values is not None:
        return Comparison(histogram, against, (row("mean", histogram.mean(), against.mean()),))
    rows = tuple(
        row(each, histogram.share(each), against.share(each)) for each in histogram.categories
    )
    try:
        test = histogram.changed_from(against)
    except ValueError:  # of several epochs, or of thousands of categories, there is none
        test = None
    return Comparison(histogram, against, rows, test)


def show_comparison(compared: Comparison, screen: Console) -> None:
    """Print it as a table, and in a sentence or with what to mind."""
    told, against = compared.histogram, compared.against
    screen.print(Text(told.question, style="bold"))
    versus = "" if against is None else f" against {_place(against)}"
    screen.print(f"{told.survey}, {_place(told)}{versus}; epsilon {told.epsilon}\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("answer", overflow="fold", max_width=_LABEL_WIDTH)
    interval = f"{100 * told.level:.4g} % interval"
    if against is None:
        headings = ["estimate", "std error", interval, ""]
    else:
        headings = ["now", "before", "difference", interval, ""]
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for row in compared.rows:
        table.add_row(Text(row.label), *_cells(row))
    screen.print(table)
    screen.print()
    if len(compared.rows) == 1:
        screen.print(compared.rows[0].estimate.sentence + "\n")
    screen.print("\n".join(_notes(compared)), style="dim")


def _cells(row: Row) -> Iterator[str]:
    estimate, before = row.estimate, row.before
    if before is None:
        yield f"{estimate.value:.1%}"
        yield (
            "-"
            if estimate.standard_error != estimate.standard_error
            else (f"{estimate.standard_error:.1%}")
        )
        yield f"{estimate.low:.1%} – {estimate.high:.1%}"
        yield bar(estimate.value, estimate.low, estimate.high, _BAR_WIDTH)
        return
    if estimate.unit is Unit.DIFFERENCE:
        yield f"{row.now.value:.1%}"
        yield f"{before.value:.1%}"
        yield f"{100 * estimate.value:+.1f}"
        yield f"{100 * estimate.low:+.1f} to {100 * estimate.high:+.1f}"
    else:
        yield f"{row.now.value:.6g}"
        yield f"{before.value:.6g}"
        yield f"{estimate.value:+.4g}"
        yield f"{estimate.low:+.4g} to {estimate.high:+.4g}"
    yield "" if estimate.distinguishable else "not distinguishable"


def _notes(compared: Comparison) -> Iterator[str]:
    told, against = compared.histogram, compared.against
    if against is not None:
        if compared.rows[0].estimate.unit is Unit.DIFFERENCE:
            yield (
                "Differences are in percentage points, with intervals of their own: whether those "
                "of the two shares overlap tells less."
            )
        if (count := len(compared.rows)) > 1:
            chance = count * (1 - told.level)
            yield (
                f"Each interval stands by itself: chance alone makes {chance:.2g} of {count:,} "
                "seem to differ, on average."
            )
        if compared.test is not None:
            yield f"Whether anything changed at all: {compared.test}."
        yield "Devices that are in both make these intervals wider than need be, never too narrow."
    if told.impossible or (against is not None and against.impossible):
        yield "!! DO NOT USE THESE FIGURES: they are of counts that honest devices do not cause."
    yield f"Intervals exclude manipulation. Devices: {told.enrolment}."


def _place(histogram: Histogram) -> str:
    return f"{epochs_named(histogram.epochs)} ({histogram.n:,} reports)"
