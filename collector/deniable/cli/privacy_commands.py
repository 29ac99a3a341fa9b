"""``deniable privacy``: what a matrix guarantees, and what several reports reveal."""

from pathlib import Path

import click

from deniable.audit import InvalidMatrix
from deniable.audit.document import AuditSubject, audit_document
from deniable.cli.options import Whole, json_option
from deniable.cli.screen import show
from deniable.mechanisms import MAX_CATEGORIES, InvalidPrivacyParameter
from deniable.planning.facts import composition_document
from deniable.publishing.survey_matrix import InvalidMatrixFile, read_matrix


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--epsilon", help="Show the smallest delta that holds with this epsilon.")
@click.option("--delta", help="Show the smallest epsilon that holds with this delta.")
@json_option
def audit(
    file: Path,
    epsilon: str | None,
    delta: str | None,
    as_json: bool,
) -> None:
    """Show the tight guarantee of the solution matrix in FILE, and the responses that prove it.

    FILE is CSV with a row for each category and a column for each response. Cells are decimals,
    fractions or integer weights; rows and columns may have names. Rows that sum to 1 within 1e-9
    are scaled.

    Epsilon is for one report, rounded up. The proof is a set S of responses and two categories with
    P(S | first) = e^epsilon P(S | second) + delta: no smaller values hold.
    """
    subject = _read(file)
    try:
        document = audit_document(subject, epsilon, delta)
    except (InvalidPrivacyParameter, InvalidMatrix) as error:
        raise click.ClickException(str(error)) from error
    show(document, as_json=as_json)


def _read(file: Path) -> AuditSubject:
    try:
        named = read_matrix(file.read_bytes())
    except InvalidMatrixFile as error:
        raise click.ClickException(f"{file}: {error}") from error
    note = "for rows scaled to sum to exactly 1" if named.rounded else ""
    sizes = named.matrix.categories, named.matrix.responses
    rows, columns = ([*map(str, range(1, size + 1))] for size in sizes)
    categories, responses = named.categories or rows, named.responses or columns
    return AuditSubject(str(file), named.matrix, categories, responses, note)


@click.command()
@click.option("--epsilon", required=True, help="Privacy of one report.")
@click.option("--delta", default="0", show_default=True, help="Delta of one report.")
@click.option(
    "--times",
    type=Whole(1, 10_000),
    required=True,
    help="Number of reports, each randomised afresh.",
)
@click.option(
    "--slack",
    default="0.000001",
    show_default=True,
    help="Delta allowed for all reports together, in addition to the delta of each; 0 for none.",
)
@click.option(
    "--categories",
    type=Whole(2, MAX_CATEGORIES),
    default=2,
    show_default=True,
    help="Number of possible answers, on which the exact results depend.",
)
@json_option
def budget(
    epsilon: str,
    delta: str,
    times: int,
    slack: str,
    categories: int,
    as_json: bool,
) -> None:
    """Add up the privacy loss of several reports of one person, in several ways.

    The ways are the sum of epsilons and the optimum of Kairouz, Oh and Viswanath (2015). For
    randomised response, and for the design that "auto" may choose in a survey file, the result is
    exact, even if answers change between reports. Every epsilon and delta is rounded up.
    """
    try:
        document = composition_document(epsilon, delta, times, slack, categories)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    show(document, as_json=as_json)
