"""``deniable budget``: what several reports reveal together."""

import json
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

import click
from rich.table import Table

from deniable.budget import (
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
        epsilon: of all reports together, rounded up; infinite if the slack is too small.
        delta: the probability by which more may be revealed.
        holds_for: of which mechanisms it is true.
    """

    name: str
    epsilon: Decimal
    delta: Fraction
    holds_for: str


@click.command(short_help="Add up what several reports reveal.")
@click.option("--epsilon", required=True, help="Privacy of one report.")
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
    epsilon: str, delta: str, times: int, slack: str, categories: int, as_json: bool
) -> None:
    """Add up what several reports of one person reveal, in five ways.

    Epsilons that add up; advanced composition (Dwork, Rothblum and Vadhan 2010); the closed form
    and the optimum of Kairouz, Oh and Viswanath (2015); and exactly, for randomised response, where
    answers may change from report to report. Every epsilon and delta is rounded up.
    """
    try:
        rows = _rows(epsilon, delta, times, slack, categories)
    except (InvalidPrivacyParameter, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        shown = [asdict(row) | _bounds(row) for row in rows]
        click.echo(json.dumps({"times": times, "compositions": shown}, indent=2))
        return
    screen = console()
    screen.print(
        f"{times:,} reports of epsilon {epsilon}"
        + ("" if delta == "0" else f", delta {delta}")
        + f", each randomised afresh, with slack {slack}:\n"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("composition")
    table.add_column("epsilon", justify="right")
    table.add_column("delta", justify="right")
    table.add_column("holds for")
    for row in rows:
        table.add_row(row.name, *_bounds(row).values(), row.holds_for)
    screen.print(table)
    screen.print(
        "\nAll of these are true, so the smallest counts. delta is the probability by which a line "
        "may fail. A device adds up as in the first line, and stops at its app's lifetime_epsilon "
        f"({DEFAULT_LIFETIME_EPSILON} by default).",
        style="dim",
    )


def _rows(epsilon: str, delta: str, times: int, slack: str, categories: int) -> list[_Row]:
    extra = exact_number("slack", slack)
    if extra >= 1:
        raise InvalidPrivacyParameter("slack must be in [0, 1)")
    mechanism = RandomisedResponse(categories, epsilon, delta)
    level, each = mechanism.epsilon, mechanism.delta
    if level * times > _MOST_EPSILON:
        raise click.ClickException(
            f"{times:,} reports of epsilon {epsilon} hide nothing; the sum is to be at most "
            f"{_MOST_EPSILON:,}"
        )
    basic = basic_composition([(level, each)] * times)
    general = "any mechanism of this epsilon and delta"
    rows = [_Row("basic", basic.epsilon, basic.delta, general)]
    if extra:
        for name, compose in (
            ("advanced", advanced_composition),
            ("Kairouz et al.", kairouz_oh_viswanath_composition),
        ):
            found = compose(level, each, times, extra)
            rows.append(_Row(name, found.epsilon, found.delta, general))
    # One slack for all that follows, rounded up to a plain decimal.
    together = Fraction(ceil((1 - (1 - each) ** times * (1 - extra)) * _UNIT), _UNIT)
    if together >= 1:
        raise click.ClickException(
            f"{times:,} reports of delta {delta}, slack {slack}, hide nothing; lower one of them"
        )
    for name, loss, holds_for in (
        ("optimal", optimal_composition(level, each, times), general),
        (
            "exact",
            PrivacyLoss.of_mechanism(mechanism).repeat(times),
            f"randomised response, {categories:,} categories",
        ),
    ):
        # Rounded up, the optimum can exceed the plain sum by a digit in the twelfth place.
        tight = loss.epsilon_at(together)
        best = min(tight, basic.epsilon) if each == 0 else tight
        rows.append(_Row(name, best, together, holds_for))
    return rows


def _bounds(row: _Row) -> dict[str, str]:
    return {
        "epsilon": upper_bound(row.epsilon, _DIGITS),
        "delta": upper_bound(row.delta, _DIGITS),
    }
