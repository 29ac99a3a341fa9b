"""``deniable digest``: the newly closed epochs of all surveys, for whoever sends mail."""

from datetime import UTC, date, datetime, timedelta

import click

from deniable.cli.options import level_option
from deniable.cli.reading import Place, reading_options


@click.command(short_help="Write what has closed of all surveys, for mail.")
@reading_options
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="From this day on, UTC, such as 2026-05-01.  [default: seven days ago]",
)
@level_option
@click.option("--html", "as_html", is_flag=True, help="As a page by itself, for mail programs.")
def digest(place: Place, since: datetime | None, level: float, *, as_html: bool) -> None:
    """Write the newest closed epoch of every survey, and what changed since the one before.

    Surveys of which none has closed since stand in a line each, rehearsals at the end. The same
    data and date give the same text.
    """
    from deniable.estimates import Surveys
    from deniable.estimates.digest import digest_of

    day: date = (since or datetime.now(UTC) - timedelta(days=7)).date()
    with place.source() as source:
        made = digest_of(Surveys(source), day, level=level)
    click.echo(made.html if as_html else made.text, nl=not as_html)
