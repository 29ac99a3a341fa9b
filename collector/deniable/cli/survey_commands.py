"""``deniable survey publish``, ``show``, ``notice`` and ``export``: the questions for devices."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from deniable.cli.log_commands import authority_key_file, cosigned_text
from deniable.cli.options import a_file, authority_key_option, directory_option, survey_option
from deniable.cli.sources import Place, published, reading_options, warn_of_unsigned
from deniable.directory import Config, with_store
from deniable.directory.collector_directory import running
from deniable.directory.store_source import StoreSource
from deniable.documents import Fact
from deniable.documents.terminal import facts_text
from deniable.messages import Manifest, is_simulated
from deniable.messages.bundle import Bundle
from deniable.planning.words import MOST_EPSILON
from deniable.public_log.publish.public_log import PublicLog, entries_text
from deniable.publishing.document import answers_of, published_facts, survey_facts
from deniable.publishing.following import declared, followed, reserved_by_all
from deniable.publishing.notice import Notice
from deniable.publishing.survey_file import SurveyFile, naming
from deniable.reading import find_version
from deniable.stores import Store

_DECISIVE: Final = frozenset(
    {"changed", "successor", "epochs", "strength", "costs", "together", "accuracy"} | {"warning"}
)
"""Facts that ``publish`` prints; ``--dry-run`` prints all."""

_MOST_ANSWERS: Final = 200
"""The most answers of a survey that are listed."""


@click.command()
@click.argument("file", type=a_file)
@directory_option
@authority_key_option
@click.option(
    "--hardly-private",
    is_flag=True,
    help=f"Allow an epsilon above {MOST_EPSILON}, at which one report hides almost nothing.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be published; store nothing.")
def publish(
    file: Path,
    directory: Path,
    authority_key: Path | None,
    *,
    hardly_private: bool,
    dry_run: bool,
) -> None:
    """Sign the survey in FILE (TOML) and publish it; a running server offers it immediately.

    Publishing a name again creates a successor: a separate survey with its own figures. The
    previous survey continues for apps that cannot answer the new one.
    """
    # Publishing needs numpy, for which --help does not wait.
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
            manifest = successor(config, written, surveys, hardly_private=hardly_private)
        else:
            key_file = await authority_key_file(store, config, directory, authority_key)
            manifest = await sign_and_publish(
                store,
                config,
                written,
                surveys,
                key_file,
                hardly_private=hardly_private,
            )
        return manifest, surveys, await store.ended(), PublicLog(await store.log())

    with naming(file):
        manifest, surveys, ended, log = with_store(config, work)
    offered = running([manifest, *surveys], ended, now)
    together = reserved_by_all(offered, now)
    called = f"{manifest.name}, sequence {manifest.sequence}"
    facts = published_facts(manifest, surveys, offered, together, now, written.largest_share)
    if not dry_run:
        logged = f"{entries_text(log.size)}, cosigned {cosigned_text(config, log)}"
        name, where = manifest.name, f"--dir {directory}"
        said = [
            Fact("published", called),
            Fact("id", manifest.survey_id.hex()),
            Fact("log", logged),
        ]
        _show([*said, *_decisive(facts)])
        click.echo(
            f"\nnext:\n  deniable survey export {name} {where} --out {name}.json  (for apps)\n"
            f"  deniable survey show {name} {where}  (all terms)"
        )
        return
    _show([Fact("would be", called), *facts])


def _decisive(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the facts for a publisher's decision; a fact without a label continues another."""
    label = ""
    for fact in facts:
        label = fact.label or label
        if label in _DECISIVE:
            yield fact


def _show(facts: Iterable[Fact]) -> None:
    click.echo(facts_text(facts, width=80, indent=10))


@click.command()
@click.argument("name")
@survey_option
@reading_options
def show(name: str, survey_id: str | None, place: Place) -> None:
    """Show the question of NAME, and its privacy in words."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
        seals = [epoch.seal for epoch in source.epochs(manifest) if epoch.seal is not None]
        ended_at = source.ended(name).get(manifest.survey_id)
        facts = [*survey_facts(manifest, seals, ended_at, source.distrusted(manifest))]
    click.echo(manifest.question)
    answers = answers_of(manifest)
    for answer in answers[:_MOST_ANSWERS]:
        click.echo(f"  {answer}")
    if more := answers[_MOST_ANSWERS:]:
        click.echo(f"  … {len(more):,} more: `deniable survey export {name}` lists all")
    click.echo()
    _show(facts)
    if is_simulated(name):
        click.echo("\nsimulated: no device answers this survey, and no app declares it")


@click.command()
@click.argument("name")
@survey_option
@reading_options
@click.option(
    "--relayed",
    is_flag=True,
    help="Describe an app that reports through a relay.  [default: see relayed_from]",
)
def notice(name: str, survey_id: str | None, place: Place, *, relayed: bool) -> None:
    """Print a plain notice for NAME: the data collected, who sees them, and how to stop.

    The notice is Markdown.
    """
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
    made = Notice.of(manifest, relayed=relayed or place.relays(manifest))
    click.echo(made.markdown(), nl=False)


@click.command()
@click.argument("name")
@directory_option
@click.option("--out", type=a_file, help="File to write.  [default: standard output]")
def export(name: str, directory: Path, out: Path | None) -> None:
    """Write NAME's newest survey to a file: declaration, signed manifest, origin and authority.

    An app reads the file with Survey.bundled and fetches nothing before its first report.
    """
    if is_simulated(name):
        raise click.ClickException(f"{name!r} is simulated, so no app answers it")
    bundle = _bundle(Config.load(directory), name)
    if out is None:
        click.echo(bundle.to_json(), nl=False)
    else:
        out.write_bytes(bundle.to_json())
        click.echo(f"wrote {out}: for {bundle.origin}, signed by {bundle.authority.hex()}")


def _bundle(config: Config, name: str) -> Bundle:
    now = time.time()
    with StoreSource(config) as source:
        warn_of_unsigned(source.unsigned())
        surveys = source.manifests(name)
        newest = find_version(name, surveys)
        of_origin = [survey for survey in surveys if survey.origin == config.origin]
        offered = running(of_origin, source.ended(name), now)
        if newest not in offered:
            raise click.ClickException(
                f"the newest survey {name!r} is over, ended or for another origin; publish a "
                "successor"
            )
        # A device follows the manifest that has begun and the next.
        wanted = followed(declared(newest), offered, now)
        return source.bundle(sorted(wanted, key=lambda survey: -survey.sequence))
