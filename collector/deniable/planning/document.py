"""The document of a plan."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite

from deniable.budget import NANO, format_nano, odds_text, upper_text
from deniable.choosing import COMPOSED_DELTA
from deniable.choosing.document import TOGETHER, choice_of, users_text
from deniable.documents import Column, Document, Fact, Table, level_text
from deniable.estimates import Accuracy
from deniable.estimates.revealed import revealed_at_worst
from deniable.mechanisms import promise_text
from deniable.messages import InvalidManifest, Manifest
from deniable.planning.planned import MOST_EPSILON, Drafts, Plan, epsilon_for, plan
from deniable.planning.ways import has_shares, tells_distribution
from deniable.planning.year import Year, year_of
from deniable.reading import duration_text

_COLUMNS = (
    Column("way", "how"),
    Column("mechanism", "by"),
    Column("reports", "reports", "number"),
    Column("times", "times", "number"),
)


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a figure, and its wording.

    Attributes:
        what: the figure.
        words: what ``{}`` of it is to be reached.
        across: the same as the title of an axis.
        unit: that which sizes are told in; of shares, a percentage point.
    """

    accuracy: Accuracy
    what: str
    words: str
    across: str
    unit: float

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        name: str,
        number: float,
        percent: bool,
        level: float,
        power: float,
        significance: float,
    ) -> "Goal":
        """Return a goal by its name; ValueError for what is outside its domain.

        The number is a share, or in the units of the answers; or so much of their range.
        """
        values = None if has_shares(manifest) else manifest.values
        if values is None:
            what, unit, units = "each share", 0.01, "percentage points"
            if tells_distribution(manifest):
                what = "the share of all answers up to any one"
            if manifest.dimensions:
                part = "combination" if manifest.kind.name == "joint" else "answer to each question"
                what = f"the share of each {part}"
        else:
            what, unit, units = "the mean", 1.0, "the values' units"
            if percent:
                number *= float(values[-1] - values[0])
        match name:
            case "width":
                accuracy = Accuracy.half_width(number, level)
                words = f"within ± {{}}, by intervals of {level_text(level)}"
                across = f"half width, {units}"
            case "error":
                accuracy = Accuracy.standard_error(number)
                words, across = "with a standard error of {}", f"standard error, {units}"
            case _:
                accuracy = Accuracy.difference(number, power, significance)
                words = (
                    "so exact that between two groups or epochs, of so many reports each, a "
                    f"difference of {{}} is found {100 * power:.4g} % of the time, and one where "
                    f"there is none {100 * significance:.4g} %"
                )
                across = f"difference, {units}"
        return cls(accuracy, what, words, across, unit)

    def amount(self, size: float) -> str:
        """Return a size with its unit, to three digits."""
        number = f"{size / self.unit:.3g}"
        points = "percentage point" + "s" * (number != "1")
        return number if self.unit == 1 else f"{number} {points}"

    def words_for(self, size: float) -> str:
        """Return the goal in words, for this size."""
        return f"{self.what} {self.words.format(self.amount(size))}"


def plan_document(
    made: Plan, drafts: Drafts, goal: Goal, share: float | None, lifetime: int, reports: int | None
) -> Document:
    """Return the document of a plan; where a share is about this, of a lifetime budget, of reports.

    A survey by its epsilon says what other epsilons would do.
    """
    manifest, year = made.manifest, year_of(made.manifest, lifetime)
    where = (
        "whatever is answered"
        if share is None
        else (f"where it is about {100 * share:.4g} %, of whichever answer needs most")
    )
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    odds = odds_text(made.odds)
    private = f"epsilon {manifest.epsilon}{delta}: {promise_text(made.odds)}"
    facts = [
        Fact("asked", manifest.question, "survey", manifest.name),
        Fact("wanted", f"{goal.words_for(made.accuracy.size)}, {where}", "figure", goal.what),
        Fact("privacy", private, "epsilon", manifest.epsilon),
        Fact("figures", revealed := revealed_at_worst(manifest), "figures_reveal", revealed),
    ]
    values = {
        "size": made.accuracy.size,
        "standard_errors": made.accuracy.scale,
        "odds": odds,
        "reports_a_year": year.reports,
        "composed_epsilon": None if year.composed is None else str(year.composed),
    }
    if reports is not None:
        allowed = epsilon_for(manifest, drafts, made.accuracy, reports, share)
        reached = made.reached(reports)
        wanted = (
            f"what is wanted takes more, up to epsilon {MOST_EPSILON}"
            if allowed is None
            else f"for what is wanted they do from epsilon {allowed} on"
        )
        text = f"{reports:,} reach {goal.amount(reached)}; {wanted}"
        facts.append(Fact("reports", text, "with_reports", reports))
        values |= {"reached": reached, "least_epsilon": allowed}
    needed = None
    if year.epsilon is not None:
        # A matrix has its own probabilities, whatever epsilon it states.
        with suppress(InvalidManifest):
            yearly = plan(drafts(f"{year.epsilon:f}"), made.accuracy, share)
            needed = yearly.reports(yearly.ways[0])
    facts += _budget(manifest, year, needed)
    # What publishing says of the same survey goes by another criterion.
    if choice := choice_of(manifest):
        together = f"{TOGETHER} {users_text(choice)}; the table is of each share by itself"
        facts.append(Fact("users", together, "summed_variance", choice.cost))
    return Document(facts, [Table(_COLUMNS, [*_rows(made)], "ways")], values=values)


def _rows(made: Plan) -> Iterator[dict[str, object]]:
    first = made.ways[0].variance
    for way in made.ways:
        yield {
            "way": way.title,
            "mechanism": way.mechanism,
            "reports": made.reports(way),
            "times": float(f"{way.variance / first:.3g}") if isfinite(way.variance) else None,
        }


def _budget(manifest: Manifest, year: Year, needed: int | None) -> Iterator[Fact]:
    length = manifest.schedule.epoch_seconds
    composed = (
        ""
        if year.composed is None
        else f"; by exact composition {upper_text(year.composed, 4)}, but with chance "
        f"{COMPOSED_DELTA}"
    )
    charged = (
        f"a report in {year.reports:,} of {year.epochs:,} epochs of {duration_text(length)} "
        f"charges a device epsilon {format_nano(year.charged)}{composed}"
    )
    yield Fact("a year", charged, "charged", year.charged / NANO)
    does = (
        f"a lifetime_epsilon of {year.lifetime / NANO:g} does for {year.affordable:,} reports, "
        f"which is {duration_text(year.affordable * length)}"
    )
    if year.epsilon is not None and year.epochs > year.affordable:
        takes = "" if needed is None else f", and then {needed:,} reports an epoch"
        does += f"; for {year.epochs:,} it takes epsilon {year.epsilon:f}{takes}"
    yield Fact("budget", does, "affordable_reports", year.affordable)
