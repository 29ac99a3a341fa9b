"""``deniable budget``: what several reports reveal together."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

import click
from rich.table import Table

from deniable.audit import epsilon_each
from deniable.budget import (
    Guarantee,
    PrivacyLoss,
    advanced_composition,
    basic_composition,
    kairouz_oh_viswanath_composition,
    optimal_composition,
)
from deniable.cli.bounds import upper_bound
from deniable.cli.screen import console
from deniable.client import DEFAULT_LIFETIME_EPSILON
from deniable.mechanisms import (
    MAX_CATEGORIES,
    InvalidPrivacyParameter,
    RandomisedResponse,
    exact_number,
)

__all__ = ["budget"]

_MOST_REPORTS: Final = 10_000
_MOST_EPSILON: Final = 2_000
_UNIT: Final = 10**18
_DIGITS: Final = 7


@dataclass(frozen=True, slots=True)
class _Row:
    """One way of adding up.

    Attributes:
        name: what it is called.
        epsilon: of all reports together, rounded up; infinite if the slack is too small. Or of one
            report, rounded down, if it is asked for.
        delta: the probability by which more may be revealed, rounded up.
        holds_for: of which mechanisms it is true.
    """

    name: str
    epsilon: str
    delta: str
    holds_for: str


@click.command(short_help="Add up what several reports reveal.")
@click.option("--epsilon", help="Privacy of one report.")
@click.option("--total", help="Instead: of all reports; what may one of them have?")
@click.option("--delta", default="0", show_default=True, help="Its slack.")
@click.option(
    "--times",
    type=click.IntRange(1, _MOST_REPORTS),
    required=True,
    help="How many reports, each randomised afresh.",
)
@click.option(
    "--slack",
    default="0.000001",
    show_default=True,
    help="Probability by which more may be revealed; 0 for none.",
)
@click.option(
    "--categories",
    type=click.IntRange(2, MAX_CATEGORIES),
    default=2,
    show_default=True,
    help="Of the randomised response; with more of them, less adds up.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def budget(
    epsilon: str | None,
    total: str | None,
    delta: str,
    times: int,
    slack: str,
    categories: int,
    as_json: bool,
) -> None:
    """Add up what several reports of one person reveal, in five ways; or share a total out.

    Epsilons that add up; advanced composition (Dwork, Rothblum and Vadhan 2010); the closed form
    and the optimum of Kairouz, Oh and Viswanath (2015); and exactly, for randomised response, where
    answers may change from report to report. Every epsilon and delta is rounded up; what a
    report may have of a total, down.
    """
    if (epsilon is None) == (total is None):
        raise click.ClickException("give either --epsilon or --total")
    try:
        rows = _rows(epsilon, total, delta, times, slack, categories)
    except (InvalidPrivacyParameter, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        shown = [asdict(row) for row in rows]
        click.echo(json.dumps({"times": times, "total": total, "compositions": shown}, indent=2))
        return
    screen = console()
    asked, counts = (
        (f"epsilon {epsilon}", "smallest")
        if total is None
        else (f"epsilon {total} in all", "largest")
    )
    screen.print(
        f"{times:,} reports of {asked}"
        + ("" if delta == "0" else f", delta {delta}")
        + f", each randomised afresh, with slack {slack}:\n"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("composition")
    table.add_column("epsilon" if total is None else "epsilon each", justify="right")
    table.add_column("delta", justify="right")
    table.add_column("holds for")
    for row in rows:
        table.add_row(row.name, row.epsilon, row.delta, row.holds_for)
    screen.print(table)
    screen.print(
        f"\nAll of these are true, so the {counts} counts. delta is the probability by which a "
        "line may fail. A device adds up as in the first line, and stops at its app's "
        f"lifetime_epsilon ({DEFAULT_LIFETIME_EPSILON} by default).",
        style="dim",
    )


def _rows(
    epsilon: str | None, total: str | None, delta: str, times: int, slack: str, categories: int
) -> list[_Row]:
    extra = exact_number("slack", slack)
    if extra >= 1:
        raise InvalidPrivacyParameter("slack must be in [0, 1)")
    mechanism = RandomisedResponse(categories, 1 if epsilon is None else epsilon, delta)
    level, each = mechanism.epsilon, mechanism.delta
    if (level * times if total is None else exact_number("total", total)) > _MOST_EPSILON:
        raise click.ClickException(
            f"{times:,} reports of epsilon {epsilon or total} hide nothing; the sum is to be at "
            f"most {_MOST_EPSILON:,}"
        )
    rows = []
    for name, compose, holds_for in _compositions(each, times, extra, categories):
        if total is not None:
            level = Fraction(largest := epsilon_each(total, _epsilons(compose)))
        found = compose(level)
        shown = upper_bound(found.epsilon, _DIGITS) if total is None else f"{largest}"
        rows.append(_Row(name, shown, upper_bound(found.delta, _DIGITS), holds_for))
    return rows


def _epsilons(compose: Callable[[Fraction], Guarantee]) -> Callable[[Fraction], Decimal]:
    return lambda level: compose(level).epsilon


def _compositions(
    each: Fraction, times: int, extra: Fraction, categories: int
) -> Iterator[tuple[str, Callable[[Fraction], Guarantee], str]]:
    """Yield name, guarantee of all reports by the epsilon of one, and for what it holds."""
    general = "any mechanism of this epsilon and delta"
    yield "basic", lambda level: basic_composition([(level, each)] * times), general
    if extra:
        yield "advanced", lambda level: advanced_composition(level, each, times, extra), general
        yield (
            "Kairouz et al.",
            lambda level: kairouz_oh_viswanath_composition(level, each, times, extra),
            general,
        )
    # One slack for all that follows, rounded up to a plain decimal.
    together = Fraction(ceil((1 - (1 - each) ** times * (1 - extra)) * _UNIT), _UNIT)
    if together >= 1:
        raise click.ClickException(
            f"{times:,} reports of this delta and slack hide nothing; lower one of them"
        )

    def optimal(level: Fraction, loss: PrivacyLoss | None = None) -> Guarantee:
        epsilon = (loss or optimal_composition(level, each, times)).epsilon_at(together)
        if each == 0:
            # Rounded up, the optimum can exceed the plain sum by a digit in the twelfth place.
            epsilon = min(epsilon, basic_composition([(level, each)] * times).epsilon)
        return Guarantee(epsilon, together)

    def exact(level: Fraction) -> Guarantee:
        loss = PrivacyLoss.of_mechanism(RandomisedResponse(categories, level, each))
        return optimal(level, loss.repeat(times))

    yield "optimal", optimal, general
    yield "exact", exact, f"randomised response, {categories:,} categories"
