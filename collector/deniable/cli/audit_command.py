"""``deniable audit``: what a solution matrix guarantees, with the proof, and what is optimal."""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable.audit import MAX_FILE_BYTES, InvalidMatrixFile, MatrixTooLarge, read_matrix
from deniable.audit.document import AuditSubject, audit_document, comparison_document
from deniable.cli import screen
from deniable.documents import Document
from deniable.mechanisms import InvalidPrivacyParameter, SurveyMechanism
from deniable.mechanisms.dimensions import CombinationLabels

if TYPE_CHECKING:
    from deniable.audit.incidences import Incidences
    from deniable.messages import Manifest

_ENVELOPE: Final = b"\x92"
"""How a signed manifest begins, an array of two; no UTF-8 text begins so."""


class _WithDefault(click.Group):
    """A group whose command ``show`` need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


def _judged(command: Callable[..., Document]) -> Callable[..., None]:
    """Add the arguments of both commands, which get the subject and return its document."""

    @wraps(command)
    def run(
        file: Path, rounding: bool, authority: str | None, as_json: bool, **options: str | None
    ) -> None:
        subject = _read(file, rounding, authority)
        try:
            document = command(subject, **options)
        except (InvalidPrivacyParameter, MatrixTooLarge) as error:
            raise click.ClickException(str(error)) from error
        screen.show(document, as_json=as_json)

    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--authority", metavar="HEX", help="Verify the manifest under this public key."
        ),
        click.option(
            "--round",
            "rounding",
            is_flag=True,
            help="Scale rows that sum to 1 within 1e-9 until they do exactly.",
        ),
        click.argument("file", type=click.Path(dir_okay=False, path_type=Path)),
    ):
        run = decorate(run)
    return run


@click.group(
    cls=_WithDefault,
    short_help="Show what a matrix guarantees, with the proof.",
    subcommand_metavar="[show] FILE | compare FILE",
)
def audit() -> None:
    """Show the guarantee of the solution matrix in FILE, with the proof.

    FILE is CSV, a row for each category and a column for each response, of decimals, fractions or
    integer weights, with or without names; or a signed manifest, as a collector serves it.

    `deniable audit FILE` is `deniable audit show FILE`, whose options it takes.
    """


@audit.command(short_help="Show its tight guarantee, and the responses that prove it.")
@click.option("--epsilon", help="Show the smallest delta that holds with this epsilon.")
@click.option("--delta", help="Show the smallest epsilon that holds with this delta.")
@_judged
def show(subject: AuditSubject, epsilon: str | None, delta: str | None) -> Document:
    """Show the tight guarantee of the matrix in FILE, and the responses that prove it.

    Epsilon is that of one report, rounded up. The proof is a set S of responses and two categories
    with P(S | first) = e^epsilon P(S | second) + delta: nothing smaller holds.
    """
    return audit_document(subject, epsilon, delta)


@audit.command("compare", short_help="Compare it with the optimal mechanisms of its privacy.")
@click.option("--epsilon", help="What the optimum is allowed.  [default: the matrix's tight one]")
@click.option("--delta", default="0", show_default=True, help="Likewise.")
@_judged
def compare_command(subject: AuditSubject, epsilon: str | None, delta: str) -> Document:
    """Compare the matrix in FILE with the optimal mechanisms of the same privacy.

    By its lies, against the least possible (Theorem 10 of the paper); and by the variance of the
    estimates, against randomised response and against a bound for all mechanisms.
    """
    return comparison_document(subject, epsilon, delta)


def _read(file: Path, rounding: bool, authority: str | None) -> AuditSubject:
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if data.startswith(_ENVELOPE):
        if rounding:
            raise click.UsageError("--round is for CSV: a manifest's mechanism is on the grid")
        return _from_manifest(file, data, authority)
    if authority is not None:
        raise click.UsageError("--authority is for manifests: a CSV file has no signature")
    try:
        named = read_matrix(data, rounding=rounding)
    except InvalidMatrixFile as error:
        raise click.ClickException(f"{file}: {error}") from error
    note = "rows scaled to sum to 1 exactly; this is judged" if named.rounded else ""
    return AuditSubject(str(file), named.matrix, named.categories, named.responses, note)


def _from_manifest(file: Path, envelope: bytes, authority: str | None) -> AuditSubject:
    from deniable.messages import FRESH, Manifest, Refusal, codec, open_manifest
    from deniable.publishing.document import repeat_facts

    try:
        if authority is None:
            payload, _ = codec.exact_array(codec.decode(envelope), 2)
            manifest = Manifest.from_payload(codec.binary(payload))
        else:
            manifest = open_manifest(envelope, _public_key(authority))
    except Refusal as error:
        raise click.ClickException(f"{file} is no manifest that can be used: {error}") from error
    mechanism = manifest.mechanism
    checked = "verified" if authority else "not checked; give --authority to do so"
    one = "" if manifest.repeat == FRESH else "; the matrix is that of one report"
    return AuditSubject(
        manifest.name,
        mechanism,
        _rows_of(manifest),
        manifest.responses,
        f"a survey's manifest, its signature {checked}{one}",
        [*repeat_facts(manifest)],
        design=_counted(mechanism),
    )


def _rows_of(manifest: "Manifest") -> Sequence[str]:
    """Return the labels of the matrix's rows."""
    if not manifest.dimensions or manifest.categories != manifest.all_answers:
        return manifest.categories
    if manifest.mechanism.categories > sys.maxsize:
        raise click.ClickException(
            f"{manifest.name} has more combinations of answers than can be numbered here; its "
            "guarantee is that of its questions, each audited as a survey of its own"
        )
    return CombinationLabels(manifest.dimensions)


def _counted(mechanism: SurveyMechanism) -> "Incidences | None":
    if mechanism.hit is None:
        return None
    from deniable.audit.incidences import (
        NoDesign,
        incidences,
    )  # numpy only where there is much to count
    from deniable.mechanisms.design import BlockMechanism

    try:
        return incidences(mechanism) if isinstance(mechanism, BlockMechanism) else None
    except NoDesign as error:
        raise click.ClickException(str(error)) from error


def _public_key(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise click.BadParameter("must be 64 hex digits", param_hint="--authority") from error
