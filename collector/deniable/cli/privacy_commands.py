"""``deniable privacy``: what a matrix guarantees, and what several reports reveal."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable.audit import MatrixTooLarge
from deniable.audit.document import AuditSubject, audit_document
from deniable.cli.options import Whole, json_option
from deniable.cli.screen import show
from deniable.mechanisms import MAX_CATEGORIES, InvalidPrivacyParameter
from deniable.planning.facts import composition_document
from deniable.publishing.survey_matrix import MAX_FILE_BYTES, InvalidMatrixFile, read_matrix

if TYPE_CHECKING:
    from deniable.messages import Manifest


_ENVELOPE: Final = b"\x92"
"""The first byte of a signed manifest, an array of two; no UTF-8 text begins with it."""


@click.command(short_help="Show what a matrix guarantees, with the proof.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--epsilon", help="Show the smallest delta that holds with this epsilon.")
@click.option("--delta", help="Show the smallest epsilon that holds with this delta.")
@click.option("--authority", metavar="HEX", help="Verify the manifest with this public key.")
@json_option
def audit(
    file: Path,
    epsilon: str | None,
    delta: str | None,
    authority: str | None,
    as_json: bool,
) -> None:
    """Show the tight guarantee of the solution matrix in FILE, and the responses that prove it.

    FILE is CSV with a row for each category and a column for each response. Cells are decimals,
    fractions or integer weights; rows and columns may have names. Rows that sum to 1 within 1e-9
    are scaled. FILE may also be a manifest from a collector.

    Epsilon is for one report, rounded up. The proof is a set S of responses and two categories with
    P(S | first) = e^epsilon P(S | second) + delta: no smaller values hold.
    """
    subject = _read(file, authority)
    try:
        document = audit_document(subject, epsilon, delta)
    except (InvalidPrivacyParameter, MatrixTooLarge) as error:
        raise click.ClickException(str(error)) from error
    show(document, as_json=as_json)


def _read(file: Path, authority: str | None) -> AuditSubject:
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if data.startswith(_ENVELOPE):
        return _from_manifest(file, data, authority)
    if authority is not None:
        raise click.UsageError("--authority is only for manifests: a CSV file has no signature")
    try:
        named = read_matrix(data)
    except InvalidMatrixFile as error:
        raise click.ClickException(f"{file}: {error}") from error
    note = "for rows scaled to sum to exactly 1" if named.rounded else ""
    sizes = named.matrix.categories, named.matrix.responses
    rows, columns = ([*map(str, range(1, size + 1))] for size in sizes)
    categories, responses = named.categories or rows, named.responses or columns
    return AuditSubject(str(file), named.matrix, categories, responses, note)


def _from_manifest(file: Path, envelope: bytes, authority: str | None) -> AuditSubject:
    from deniable.mechanisms.block_design import BlockMechanism
    from deniable.messages import FRESH, Manifest, Refusal, codec, open_manifest
    from deniable.publishing.document import repeat_facts

    try:
        if authority is None:
            payload, _ = codec.exact_array(codec.decode(envelope), 2)
            manifest = Manifest.from_payload(codec.binary(payload))
        else:
            manifest = open_manifest(envelope, _public_key(authority))
    except Refusal as error:
        raise click.ClickException(f"{file} is not a usable manifest: {error}") from error
    mechanism = manifest.mechanism
    checked = "verified" if authority else "not checked; give --authority to check it"
    one = "" if manifest.repeat == FRESH else "; the matrix is for one report"
    return AuditSubject(
        manifest.name,
        mechanism,
        _rows_of(manifest),
        manifest.responses,
        f"a survey's manifest, its signature {checked}{one}",
        [*repeat_facts(manifest)],
        design=mechanism.design if isinstance(mechanism, BlockMechanism) else None,
    )


def _rows_of(manifest: "Manifest") -> Sequence[str]:
    """Return the labels of the matrix's rows."""
    if manifest.kind.texts:
        raise click.ClickException(f"{manifest.name} has too many possible texts to audit")
    if not manifest.dimensions or manifest.categories != manifest.all_answers:
        return manifest.categories
    if manifest.mechanism.categories > MAX_CATEGORIES:
        raise click.ClickException(
            f"{manifest.name} has too many combinations of answers to audit; audit each question "
            "as a separate survey"
        )
    return [*map(" + ".join, product(*(answers for _, *answers in manifest.dimensions)))]


def _public_key(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise click.BadParameter("must be 64 hex digits", param_hint="--authority") from error


@click.command(short_help="Add up the privacy loss of several reports.")
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
