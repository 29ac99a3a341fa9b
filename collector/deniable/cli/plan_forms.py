"""A plan for people, and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from deniable.budget import NANO, format_nano, odds_text, upper_text
from deniable.choosing import COMPOSED_DELTA
from deniable.cli.choice_terms import TOGETHER, choice_of, users_text
from deniable.cli.fields import Column, Field
from deniable.cli.quantities import Quantity
from deniable.estimates import Accuracy
from deniable.messages import Manifest
from deniable.planning import MOST_EPSILON, Plan, Year
from deniable.publishing.survey_file import duration_text

_COLUMNS = (
    Column("way", "how"),
    Column("mechanism", "by"),
    Column("reports", "reports", number=True),
    Column("times", "times", number=True),
)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure is to reach, and how that is told.

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
        size: Quantity,
        level: float,
        power: float,
        significance: float,
    ) -> "Goal":
        """Return a goal as it was asked for; ValueError for what is outside its domain."""
        values = manifest.values
        number = size.number
        if values is None:
            what, unit, units = "each share", 0.01, "percentage points"
            if number >= 1:
                raise ValueError(f"--{name} of a share must be below 1, such as 5%, or 0.05")
            if manifest.dimensions:
                joint = manifest.kind.name == "joint"
                what = "the share of each " + (
                    "combination" if joint else "answer to each question"
                )
        else:
            what, unit, units = "the mean", 1.0, "the values' units"
            if size.percent:
                number *= float(values[-1] - values[0])
        match name:
            case "width":
                accuracy = Accuracy.half_width(number, level)
                words = f"within ± {{}}, by intervals of {100 * level:.12g} %"
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

    def told(self, size: float) -> str:
        """Return the goal in words, for this size."""
        return f"{self.what} {self.words.format(self.amount(size))}"


def plan_fields(
    made: Plan,
    goal: Goal,
    share: Quantity | None,
    year: Year,
    yearly: Plan | None,
    reports: int | None,
    allowed: str | None,
) -> list[Field]:
    """Return what a plan says.

    ``yearly`` is that for the epsilon which a report in each epoch of a year leaves; ``allowed``
    the epsilon at which so many ``reports`` do.
    """
    manifest, size = made.manifest, made.accuracy.size
    where = (
        "whatever is answered" if share is None else f"where it is about {100 * share.number:.4g} %"
    )
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    odds = odds_text(made.odds)
    likelier = f"a report makes no answer more than {odds} times likelier, beside another"
    fields = [
        Field("survey", manifest.name, lines=[("asked", manifest.question)]),
        Field("figure", goal.what, lines=[("wanted", f"{goal.told(size)}, {where}")]),
        Field("size", size),
        Field("standard_errors", made.accuracy.scale),
        Field(
            "epsilon",
            manifest.epsilon,
            lines=[("privacy", f"epsilon {manifest.epsilon}{delta}: {likelier}")],
        ),
        Field("odds", odds),
    ]
    if reports is not None:
        fields += _reports(made, goal, reports, allowed)
    fields += _budget(manifest, year, yearly)
    fields.append(Field("ways", list(_rows(made)), columns=_COLUMNS))
    # What publishing says of the same survey goes by another criterion.
    if choice := choice_of(manifest):
        together = f"{TOGETHER} {users_text(choice)}; the table is of each share by itself"
        fields.append(Field("summed_variance", choice.cost, lines=[("users", together)]))
    return fields


def _rows(made: Plan) -> Iterator[dict[str, object]]:
    first = made.ways[0].variance
    for way in made.ways:
        yield {
            "way": way.title,
            "mechanism": way.mechanism,
            "reports": made.reports(way),
            "times": float(f"{way.variance / first:.3g}") if isfinite(way.variance) else None,
        }


def _reports(made: Plan, goal: Goal, reports: int, allowed: str | None) -> Iterator[Field]:
    reached = made.reached(reports)
    wanted = (
        f"what is wanted takes more, up to epsilon {MOST_EPSILON}"
        if allowed is None
        else f"for what is wanted they do from epsilon {allowed} on"
    )
    text = f"{reports:,} reach {goal.amount(reached)}; {wanted}"
    yield Field("with_reports", reports, lines=[("reports", text)])
    yield Field("reached", reached)
    yield Field("least_epsilon", allowed)


def _budget(manifest: Manifest, year: Year, yearly: Plan | None) -> Iterator[Field]:
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
    yield Field("reports_a_year", year.reports)
    yield Field("composed_epsilon", None if year.composed is None else str(year.composed))
    yield Field("charged", year.charged / NANO, lines=[("a year", charged)])
    does = (
        f"a lifetime_epsilon of {year.lifetime / NANO:g} does for {year.affordable:,} reports, "
        f"which is {duration_text(year.affordable * length)}"
    )
    if year.each is not None and year.epochs > year.affordable:
        needed = None if yearly is None else yearly.reports(yearly.ways[0])
        takes = "" if needed is None else f", and then {needed:,} reports an epoch"
        does += f"; for {year.epochs:,} it takes epsilon {year.each:f}{takes}"
    yield Field("affordable_reports", year.affordable, lines=[("budget", does)])
