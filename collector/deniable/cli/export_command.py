"""``deniable survey export``: the file with which an app declares and answers a survey."""

import time
from pathlib import Path

import click

from deniable.cli.options import a_file
from deniable.cli.reading import Place, reading_options
from deniable.directory.states import running
from deniable.messages import is_simulated
from deniable.messages.bundle import Bundle
from deniable.publishing.following import declared, followed
from deniable.reading import find_version


@click.command()
@click.argument("name")
@reading_options
@click.option("--out", type=a_file, help="File to write.  [default: standard output]")
def export(name: str, place: Place, out: Path | None) -> None:
    """Write the newest survey NAME as one file: declaration, signed manifest, origin, authority.

    An app reads it with Survey.bundled, and needs to fetch nothing before its first report.
    """
    if is_simulated(name):
        raise click.ClickException(f"{name!r} is simulated: no app answers it")
    bundle = _bundle(place, name)
    _warn_of_unwitnessed(place, bundle)
    if out is None:
        click.echo(bundle.to_json(), nl=False)
    else:
        out.write_bytes(bundle.to_json())
        click.echo(f"wrote {out}: for {bundle.origin}, signed by {bundle.authority.hex()}")


def _warn_of_unwitnessed(place: Place, bundle: Bundle) -> None:
    """Warn if too few witnesses cosigned; a collector that is read by its URL names none."""
    if place.collector is not None:
        return
    from deniable.directory import Config
    from deniable.directory.log_publishing import witnesses_of
    from deniable.logs import LogProof

    witnesses = witnesses_of(Config.load(place.directory))
    counts = [
        len(witnesses.cosigners(LogProof.parse(proof).checkpoint if proof else None))
        for proof in bundle.proofs or (b"",)
    ]
    if witnesses.witnesses and min(counts) < witnesses.quorum:
        click.echo(
            f"cosigned by {min(counts)} of {len(witnesses.witnesses)} witnesses: apps that pin the "
            "log refuse this file. Run deniable log cosign, then export again",
            err=True,
        )


def _bundle(place: Place, name: str) -> Bundle:
    now = time.time()
    with place.source() as source:
        surveys = source.manifests(name)
        newest = find_version(name, surveys)
        origin = place.origin() or newest.origin
        of_origin = [survey for survey in surveys if survey.origin == origin]
        offered = running(of_origin, source.ended(name), now)
        if newest not in offered:
            raise click.ClickException(
                f"the newest survey {name!r} is over, ended or for another origin; publish a "
                "successor"
            )
        # The one that has begun and the next: what a device follows.
        wanted = followed(declared(newest), offered, now)
        return source.bundle(sorted(wanted, key=lambda survey: -survey.sequence))
