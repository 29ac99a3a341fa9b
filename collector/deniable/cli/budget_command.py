"""``deniable privacy budget``: what several reports reveal together."""

import click

from deniable.cli.options import Whole, json_option
from deniable.cli.screen import show
from deniable.mechanisms import MAX_CATEGORIES
from deniable.planning.facts import composition_document


@click.command(short_help="Add up what several reports reveal.")
@click.option("--epsilon", help="Privacy of one report.")
@click.option("--total", help="Epsilon of all reports, instead of one: to be shared out.")
@click.option("--delta", default="0", show_default=True, help="Delta that goes with it.")
@click.option(
    "--times",
    type=Whole(1, 10_000),
    required=True,
    help="How many reports, each randomised afresh.",
)
@click.option(
    "--slack",
    default="0.000001",
    show_default=True,
    help="Delta that all reports may have together, beside each one's; 0 for none.",
)
@click.option(
    "--categories",
    type=Whole(2, MAX_CATEGORIES),
    default=2,
    show_default=True,
    help="Number of possible answers; the exact lines depend on it.",
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
    from deniable.client import DEFAULT_LIFETIME_EPSILON  # it loads the whole device

    try:
        document = composition_document(
            epsilon, total, delta, times, slack, categories, DEFAULT_LIFETIME_EPSILON
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    show(document, as_json=as_json)
