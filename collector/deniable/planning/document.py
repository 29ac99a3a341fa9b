"""The document of a plan."""

from collections.abc import Iterator
from contextlib import suppress
from math import isfinite

from deniable.budget import NANO, format_nano
from deniable.choosing.document import TOGETHER, adds_up_text, choice_of, users_text
from deniable.choosing.guidance import MOST_EPSILON, guess_fact, strength_warnings
from deniable.documents import Column, Document, Fact, Table, upper_text
from deniable.estimates.revealed import revealed_at_worst
from deniable.mechanisms import odds_text, promise_text
from deniable.messages import InvalidManifest, Manifest
from deniable.planning.planned import Drafts, Plan, blind_devices_text, epsilon_for, plan
from deniable.planning.year import Year, year_of
from deniable.reading import duration_text

_COLUMNS = (
    Column("way", "how"),
    Column("mechanism", "by"),
    Column("reports", "reports", "number"),
    Column("times", "times", "number"),
)


def plan_document(made: Plan, drafts: Drafts, lifetime: int, reports: int | None) -> Document:
    """Return the document of a plan, of a lifetime budget and of so many reports.

    A survey by its epsilon says what other epsilons would do.
    """
    manifest, year = made.manifest, year_of(made.manifest, lifetime)
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    odds = odds_text(made.odds)
    private = f"epsilon {manifest.epsilon}{delta}: {promise_text(made.odds)}"
    facts = [
        Fact("asked", manifest.question, "survey", manifest.name),
        Fact(key="figure", value=made.figure.name),
        Fact("privacy", private, "epsilon", manifest.epsilon),
        guess_fact(manifest),
        Fact("figures", revealed := revealed_at_worst(manifest), "figures_reveal", revealed),
    ]
    values = {
        "size": made.accuracy.size,
        "standard_errors": made.accuracy.scale,
        "odds": odds,
        "reports_a_year": year.reports,
        "composed_level": None if year.level is None else str(year.level),
    }
    if reports is not None:
        allowed = epsilon_for(manifest, drafts, made.accuracy, reports, made.share)
        reached = made.reached(reports)
        wanted = (
            f"what is wanted takes more, up to epsilon {MOST_EPSILON}"
            if allowed is None
            else f"the least epsilon at which they do for what is wanted is {allowed}"
        )
        text = f"{reports:,} reach {made.figure.amount(reached)}; {wanted}"
        facts.append(Fact("reports", text, "with_reports", reports))
        values |= {"reached": reached, "least_epsilon": allowed}
    needed = None
    if year.epsilon is not None:
        # A matrix has its own probabilities, whatever epsilon it states.
        with suppress(InvalidManifest):
            yearly = plan(drafts(f"{year.epsilon:f}"), made.accuracy, made.share)
            needed = yearly.reports(yearly.ways[0])
    facts += _budget(manifest, year, needed)
    # What publishing says of the same survey goes by another criterion.
    if choice := choice_of(manifest):
        together = f"{TOGETHER} {users_text(choice)}; the table is of each share by itself"
        facts.append(Fact("users", together, "summed_variance", choice.cost))
    least = made.reports(made.ways[0])
    if manifest.enrolment.mode == "blind" and least is not None:
        facts.append(Fact("lost", blind_devices_text(manifest, least)))
    facts += [Fact("warning", warning) for warning in strength_warnings(manifest)]
    table = Table(_COLUMNS, [*_rows(made)], "ways")
    return Document(facts, [table], sentence=made.sentence, values=values)


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
    together = (
        "" if year.level is None else f"; {adds_up_text(year.reports, upper_text(year.level, 4))}"
    )
    charged = (
        f"a report in {year.reports:,} of {year.epochs:,} epochs of {duration_text(length)} "
        f"charges a device epsilon {format_nano(year.charged)}{together}"
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
