"""``deniable survey``: publishing surveys and showing what is being asked."""

import time
from collections.abc import Iterable
from pathlib import Path

import click

from deniable.budget import NANO
from deniable.cli.log_commands import cosigned_text
from deniable.cli.options import a_file, directory_option
from deniable.cli.reading import Place, reading_options
from deniable.cli.surveys import published
from deniable.directory import Config, authority_chain, find_key_file, store_text, with_store
from deniable.directory.states import running
from deniable.documents import Fact
from deniable.documents.terminal import facts_text
from deniable.mechanisms.exponential import ceil_div
from deniable.messages import Manifest, is_simulated
from deniable.messages.bundle import declaration_of, declared_in_python
from deniable.public_log import PublicLog, entries_text
from deniable.publishing.document import answers_of, published_facts, survey_facts
from deniable.publishing.following import CEILING, reserved, reserved_by_all
from deniable.publishing.survey_file import SurveyFile
from deniable.reading import find_version
from deniable.stores import Store


@click.command()
@click.argument("file", type=a_file)
@directory_option
@click.option(
    "--authority-key",
    type=a_file,
    help="The authority's private key.  [default: where init or authority rotate put it]",
)
@click.option(
    "--after-epoch",
    type=click.IntRange(-1),
    default=-1,
    metavar="EPOCH",
    help="Number the epochs on after this one, the last that a lost store's surveys came to.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be published; store nothing.")
def publish(
    file: Path, directory: Path, authority_key: Path | None, after_epoch: int, dry_run: bool
) -> None:
    """Sign the survey in FILE (TOML) and publish it; a running server offers it at once.

    Publishing a name again makes a successor: another survey, whose figures are kept apart. The
    one before goes on for apps whose declaration the new one does not fit.
    """
    # It calculates with numpy, for which --help does not wait.
    from deniable.publishing.publish import publish as sign_and_publish
    from deniable.publishing.publish import successor

    now = time.time()
    config = Config.load(directory)
    written = SurveyFile.load(file)

    async def work(
        store: Store,
    ) -> tuple[Manifest, list[Manifest], dict[bytes, int], PublicLog]:
        surveys = await published(store, config)
        if dry_run:
            manifest = successor(config, written, surveys, after_epoch)
        else:
            signer = (await authority_chain(store, config.authority))[-1]
            key_file = authority_key or find_key_file(directory, signer)
            manifest = await sign_and_publish(
                store, config, written, surveys, key_file, after_epoch
            )
        return manifest, surveys, await store.ended(), PublicLog(await store.log())

    manifest, surveys, ended, log = with_store(config, work)
    offered = running([manifest, *surveys], ended, now)
    together = reserved_by_all(offered, now)
    called = f"{manifest.name}, sequence {manifest.sequence}"
    facts = [Fact("would be" if dry_run else "published", called)]
    if not dry_run:
        facts += [Fact("id", manifest.survey_id.hex()), Fact("store", store_text(config))]
        logged = f"{entries_text(log.size)}, cosigned {cosigned_text(config, log)}"
        facts.append(Fact("log", logged))
    _show([*facts, *published_facts(manifest, surveys, offered, together, now)])
    client = ""
    # By itself, or with all else.
    if most := next((cost for cost in (reserved([manifest], now), together) if cost > CEILING), 0):
        client = f', with Client(lifetime_epsilon="{ceil_div(most, NANO)}")'
    export = "or bundle what `deniable survey export` writes"
    click.echo(f"\ndeclare it in your app{client}, {export}:\n")
    click.echo(declared_in_python(declaration_of(manifest)))


def _show(facts: Iterable[Fact]) -> None:
    click.echo(facts_text(facts, width=80, indent=10))


@click.command()
@click.argument("name")
@click.option("--survey", "survey_id", help="How its id begins.  [default: newest]")
@reading_options
def show(name: str, survey_id: str | None, place: Place) -> None:
    """Show the question of NAME, its privacy in words, and how an app declares it."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
        seals = [epoch.seal for epoch in source.epochs(manifest) if epoch.seal is not None]
        ended_at = source.ended(name).get(manifest.survey_id)
        facts = [*survey_facts(manifest, seals, ended_at, source.distrusted(manifest))]
    click.echo(manifest.question)
    for answer in answers_of(manifest):
        click.echo(f"  {answer}")
    click.echo()
    _show(facts)
    click.echo()
    if is_simulated(name):
        click.echo("a rehearsal: no device answers it, and no app declares it")
    else:
        click.echo(declared_in_python(declaration_of(manifest)))
