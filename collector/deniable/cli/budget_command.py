"""``deniable budget``: what several reports reveal together."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

import click

from deniable.accounting import (
    Guarantee,
    PrivacyLoss,
    advanced_composition,
    basic_composition,
    epsilon_each,
    kairouz_oh_viswanath_composition,
    optimal_composition,
)
from deniable.budget import upper_text
from deniable.choosing import PLAIN, Candidate, best, composed
from deniable.cli.options import json_option
from deniable.cli.screen import show
from deniable.documents import Column, Document, Kind, Table
from deniable.mechanisms import (
    MAX_CATEGORIES,
    InvalidPrivacyParameter,
    RandomisedResponse,
    exact_number,
)

_MOST_REPORTS: Final = 10_000
_MOST_EPSILON: Final = 2_000
_UNIT: Final = 10**18
_DIGITS: Final = 7

_Composition = Callable[[Fraction], Guarantee]
"""The guarantee of all reports by the epsilon of one."""

_Way = tuple[str, _Composition, Callable[[Fraction], str]]
"""A name, a composition, and for what it holds, likewise; for nothing if it is empty."""


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
    help="Of the answer; the exact lines depend on them.",
)
@json_option
def budget(
    epsilon: str | None,
    total: str | None,
    delta: str,
    times: int,
    slack: str,
    categories: int,
    as_json: bool,
) -> None:
    """Add up what several reports of one person reveal, in several ways; or share a total out.

    Epsilons that add up; advanced composition (Dwork, Rothblum and Vadhan 2010); the closed form
    and the optimum of Kairouz, Oh and Viswanath (2015); and exactly, for randomised response and
    for the design that a survey file's "auto" chooses, if it does, where answers may change from
    report to report. Every epsilon and delta is rounded up; a report's share of a total, down.
    """
    if (epsilon is None) == (total is None):
        raise click.ClickException("give either --epsilon or --total")
    try:
        rows = _rows(epsilon, total, delta, times, slack, categories)
    except (InvalidPrivacyParameter, ValueError) as error:
        raise click.ClickException(str(error)) from error
    from deniable.client import DEFAULT_LIFETIME_EPSILON  # it loads the whole device

    asked, counts, each = (
        (f"epsilon {epsilon}", "smallest", "epsilon")
        if total is None
        else (f"epsilon {total} in all", "largest", "epsilon each")
    )
    slacks = f", delta {delta}" * (delta != "0") + f", each randomised afresh, with slack {slack}:"
    columns = (
        Column("name", "composition"),
        Column("epsilon", each, Kind.NUMBER),
        Column("delta", "delta", Kind.NUMBER),
        Column("holds_for", "holds for"),
    )
    note = (
        f"The {counts} that holds for your mechanism counts. With probability "
        "delta, more than a line's epsilon may be revealed. A device adds up as in the first line, "
        f"and stops at its app's lifetime_epsilon ({DEFAULT_LIFETIME_EPSILON} by default)."
    )
    document = Document(
        tables=[Table(columns, rows, "compositions")],
        notes=[note],
        heading=f"{times:,} reports of {asked}{slacks}",
        values={"times": times, "total": total},
    )
    show(document, as_json=as_json)


def _rows(
    epsilon: str | None, total: str | None, delta: str, times: int, slack: str, categories: int
) -> list[dict[str, str]]:
    """Return each way of adding up; the epsilon is one report's, rounded down, if it is asked."""
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
    rows, guess = [], level if total is None else Fraction(exact_number("total", total), times)
    for name, compose, holds_for in _compositions(each, times, extra, categories):
        if total is not None:
            shown = f"{epsilon_each(total, _epsilon_of(compose), guess=guess)}"
            level = Fraction(shown)
            if holds_for is _any:  # no other way of adding up is much worse
                guess = level
        if not (held := holds_for(level)):
            continue
        found = compose(level)
        if total is None:
            shown = upper_text(found.epsilon, _DIGITS)
        bound = upper_text(found.delta, _DIGITS)
        rows.append({"name": name, "epsilon": shown, "delta": bound, "holds_for": held})
    return rows


def _epsilon_of(compose: _Composition) -> Callable[[Fraction], Decimal]:
    return lambda level: compose(level).epsilon


def _any(_level: Fraction) -> str:
    return "any mechanism of this epsilon and delta"


def _compositions(each: Fraction, times: int, extra: Fraction, categories: int) -> Iterator[_Way]:
    """Yield all ways of adding up."""

    def basic(level: Fraction) -> Guarantee:
        return basic_composition([(level, each)] * times)

    yield "basic", basic, _any
    if extra:
        yield "advanced", lambda level: advanced_composition(level, each, times, extra), _any
        yield (
            "Kairouz et al.",
            lambda level: kairouz_oh_viswanath_composition(level, each, times, extra),
            _any,
        )
    # One slack for all that follows, rounded up to a plain decimal.
    together = Fraction(ceil((1 - (1 - each) ** times * (1 - extra)) * _UNIT), _UNIT)
    if together >= 1:
        raise click.ClickException(
            f"{times:,} reports of this delta and slack hide nothing; lower one of them"
        )

    def optimal(level: Fraction, loss: PrivacyLoss | None = None) -> Guarantee:
        epsilon = (loss or optimal_composition(level, each, times)).epsilon_at(together)
        # Rounded up, the optimum can exceed the plain sum by a digit in the twelfth place.
        return Guarantee(epsilon if each else min(epsilon, basic(level).epsilon), together)

    def exact(level: Fraction) -> Guarantee:
        odds = RandomisedResponse(categories, level, each).privacy.odds
        return optimal(level, PrivacyLoss.of_randomised_response(categories, odds).repeat(times))

    def auto(level: Fraction) -> Guarantee:
        epsilon = composed(chosen(level), level, times, each, together)
        return Guarantee(epsilon if each else min(epsilon, basic(level).epsilon), together)

    def chosen(level: Fraction) -> Candidate:
        return best(categories, level, delta=each).candidate

    def design(level: Fraction) -> str:
        found = chosen(level)
        return "" if found.kind == PLAIN else str(found)

    yield "optimal", optimal, _any
    yield "exact", exact, lambda _: f"randomised response, {categories:,} categories"
    yield "exact, auto", auto, design
