"""``deniable survey export``: the file with which an app declares and answers a survey."""

import time
from contextlib import suppress
from pathlib import Path

import click

from deniable.cli.options import a_file, directory_option
from deniable.cli.surveys import find_survey, published
from deniable.messages import Refusal, is_simulated, open_manifest
from deniable.messages.bundle import Bundle, make_bundle
from deniable.publishing.collector_directory import with_store
from deniable.publishing.following import declared, followed
from deniable.publishing.states import running
from deniable.server import Config, authority_chain
from deniable.stores import Store


@click.command()
@click.argument("name")
@directory_option
@click.option("--out", type=a_file, help="Where to write it.  [default: standard output]")
def export(name: str, directory: Path, out: Path | None) -> None:
    """Write the newest survey NAME as one file: declaration, signed manifest, origin, authority.

    An app reads it with Survey.bundled, and needs to fetch nothing before its first report.
    """
    config = Config.load(directory)
    bundle = with_store(config, lambda store: _bundle(store, config, name))
    if out is None:
        click.echo(bundle.to_json(), nl=False)
    else:
        out.write_bytes(bundle.to_json())
        click.echo(f"wrote {out}: for {bundle.origin}, signed by {bundle.authority.hex()}")


async def _bundle(store: Store, config: Config, name: str) -> Bundle:
    if is_simulated(name):
        raise click.ClickException(f"{name!r} is a rehearsal, which no app answers")
    now = time.time()
    newest = await find_survey(store, config, name)
    surveys = [each for each in await published(store, config) if each.origin == config.origin]
    offered = running(surveys, await store.ended(), now)
    if newest not in offered:
        raise click.ClickException(
            f"the newest survey {name!r} is over, ended or for another origin; publish a successor"
        )
    # The one that has begun and the next: what a device follows. Signed by the key of now.
    wanted = followed(declared(newest), offered, now)
    chain = await authority_chain(store, config.authority)
    signed = {}
    for envelope in await store.surveys():
        with suppress(Refusal):
            signed[open_manifest(envelope, chain[-1]).survey_id] = envelope
    newest_first = sorted(wanted, key=lambda each: -each.sequence)
    return make_bundle([signed[each.survey_id] for each in newest_first], chain[-1])
