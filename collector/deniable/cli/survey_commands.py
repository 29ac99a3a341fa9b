"""``deniable survey``: publishing surveys and showing what is being asked."""

import os
import textwrap
import time
from pathlib import Path

import click

from deniable.budget import format_nano
from deniable.cli.authority import AuthorityKeyError, find_key_file, read_authority_key
from deniable.cli.bounds import upper_bound
from deniable.cli.life_terms import life_terms
from deniable.cli.options import directory_option
from deniable.cli.repeat_terms import repeat_terms
from deniable.cli.running import CEILING, left_behind, reserved, reserved_by_all, running
from deniable.cli.successors import next_manifest, says_the_same
from deniable.cli.survey_file import SurveyFile
from deniable.cli.survey_terms import (
    accuracy_text,
    answers_of,
    check_estimable,
    cost_text,
    devices_text,
    epochs_text,
    figures_text,
    mechanism_text,
    shares_text,
)
from deniable.cli.workplace import find_survey, published, store_text, with_store
from deniable.client import DAY, DEFAULT_LIFETIME_EPSILON
from deniable.mechanisms import TwoValuedMechanism
from deniable.messages import InvalidManifest, Manifest, sign_manifest
from deniable.messages.bundle import declaration_of, declared_in_python
from deniable.server import Config, authority_chain
from deniable.stores import Store

__all__ = ["publish_survey", "survey"]


@click.group()
def survey() -> None:
    """Publish surveys, and show what is being asked."""


@survey.command(short_help="Sign the survey in FILE and publish it.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@directory_option
@click.option(
    "--authority-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The authority's private key.  [default: where init or authority rotate put it]",
)
@click.option("--dry-run", is_flag=True, help="Show what would be published; store nothing.")
def publish(file: Path, directory: Path, authority_key: Path | None, dry_run: bool) -> None:
    """Sign the survey in FILE (TOML) and publish it; a running server offers it at once.

    Publishing a name again makes a successor: another survey, whose figures are kept apart. The
    one before goes on for apps whose declaration the new one does not fit.
    """
    now = time.time()
    config = Config.load(directory)
    written = SurveyFile.load(file)
    if dry_run:
        manifest = _planned(config, written)
        click.echo(f"would be  {manifest.name}, sequence {manifest.sequence}")
    else:
        chain = with_store(config, lambda store: authority_chain(store, config.authority))
        key_file = authority_key or find_key_file(directory, chain[-1])
        manifest = publish_survey(config, written, key_file)
        click.echo(f"published {manifest.name}, sequence {manifest.sequence}")
        click.echo(f"id        {manifest.survey_id.hex()}")
        click.echo(f"store     {store_text(config)}")
    click.echo(f"epochs    {epochs_text(manifest)}")
    if manifest.specification.ratio is not None:
        click.echo(f"mechanism {mechanism_text(manifest)}")
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    if manifest.enrolment.issuers:
        click.echo(f"devices   {devices_text(manifest)}")
    older, offered = _others(config, manifest, now)
    together = reserved_by_all(offered, now)
    click.echo(f"costs     a device at most {cost_text(manifest, now)}")
    if together > reserved([manifest], now):
        click.echo(f"together  with all else that runs, epsilon {format_nano(together)} at most")
    click.echo(f"accuracy  {accuracy_text(manifest)}")
    if (shares := shares_text(manifest)) is not None:
        click.echo(f"shares    {shares}")
    for left in left_behind(manifest, older, offered, now):
        click.echo(textwrap.fill(f"older     {left}", 80, subsequent_indent=" " * 10))
    for warning in _warnings(manifest, together, now):
        click.echo(f"warning   {warning}")
    click.echo("\ndeclare it in your app, or bundle what `deniable survey export` writes:\n")
    click.echo(declared_in_python(declaration_of(manifest)))


def publish_survey(config: Config, written: SurveyFile, key_file: Path) -> Manifest:
    """Sign a survey and put it into the store; return its manifest.

    Raises:
        AuthorityKeyError: for a key that is unreadable or not this collector's authority.
        InvalidManifest: naming the field at fault.
        StoreError: if the store cannot take it.
    """
    key = read_authority_key(key_file)

    async def work(store: Store) -> Manifest:
        chain = await authority_chain(store, config.authority)
        if key.public_key in chain[:-1]:
            raise AuthorityKeyError(
                f"{key_file} was rotated; the key that signs now is {chain[-1].hex()}"
            )
        if key.public_key != chain[-1]:
            raise AuthorityKeyError(f"{key_file} is not the key of this collector's authority")
        manifest = await _next(store, config, written)
        await store.publish(manifest, sign_manifest(manifest, key))
        return manifest

    return with_store(config, work)


def _planned(config: Config, written: SurveyFile) -> Manifest:
    """Return the manifest that publishing would sign."""
    return with_store(config, lambda store: _next(store, config, written))


async def _next(store: Store, config: Config, written: SurveyFile) -> Manifest:
    before = [old for old in await published(store, config) if old.name == written.name]
    if before and says_the_same(written, before[0], config.origin):
        raise InvalidManifest(
            written.name, "nothing has changed; the survey published before stands"
        )
    manifest = next_manifest(written, before, config.origin, os.urandom(16), time.time())
    check_estimable(manifest)
    return manifest


def _others(
    config: Config, manifest: Manifest, now: float
) -> tuple[list[Manifest], list[Manifest]]:
    """Return the older manifests of the name, and all that run with this one, newest first."""

    async def work(store: Store) -> tuple[list[Manifest], dict[bytes, int]]:
        return await published(store, config), await store.ended()

    surveys, ended = with_store(config, work)
    others = [each for each in surveys if each.survey_id != manifest.survey_id]
    older = [each for each in others if each.name == manifest.name]
    return older, running([manifest, *others], ended, now)


def _warnings(manifest: Manifest, together: int, now: float) -> list[str]:
    """Return what keeps devices with the client's defaults from following a survey."""
    warnings = []
    if manifest.schedule.end <= now:
        warnings.append("its last epoch is over: no device will follow it")
    if together > CEILING:
        refused = "this survey" if reserved([manifest], now) > CEILING else "what comes last of all"
        warnings.append(
            f"devices spend at most epsilon {DEFAULT_LIFETIME_EPSILON} in all unless their app "
            f"sets lifetime_epsilon: they will refuse {refused}"
        )
    if manifest.schedule.epoch_seconds < DAY:
        warnings.append("devices refuse epochs below a day unless their app sets min_epoch_seconds")
    if manifest.enrolment.issuers:
        warnings.append("devices refuse it unless their app asks an issuer: Client(enrol=...)")
    return warnings


@survey.command(short_help="Show what NAME asks, and its privacy in words.")
@click.argument("name")
@directory_option
def show(name: str, directory: Path) -> None:
    """Show what NAME asks, its privacy in words, and how an app declares it."""
    config = Config.load(directory)

    async def work(store: Store) -> tuple[Manifest, list[tuple[str, str]]]:
        manifest = await find_survey(store, config, name)
        seals = await store.seals(manifest.survey_id)
        ended_at = (await store.ended()).get(manifest.survey_id)
        return manifest, life_terms(manifest, seals, ended_at, await store.distrusted())

    manifest, life = with_store(config, work)
    mechanism = manifest.mechanism
    odds = mechanism.privacy.odds
    assert odds is not None
    likelier = f"at most {upper_bound(odds, 4)} times likelier"
    least = "" if isinstance(mechanism, TwoValuedMechanism) else "at least "
    click.echo(manifest.question)
    for category in answers_of(manifest):
        click.echo(f"  {category}")
    click.echo(f"\nid        {manifest.survey_id.hex()}")
    click.echo(f"sequence  {manifest.sequence}")
    click.echo(
        f"privacy   epsilon {manifest.epsilon}, delta {manifest.delta}: "
        f"whatever somebody answers,\n"
        f"          a response is {likelier} than with any other\n"
        f"          answer; the truth is sent with probability {least}{float(mechanism.truth):.1%}"
    )
    if manifest.specification.ratio is not None:
        click.echo(f"mechanism {mechanism_text(manifest)}")
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    click.echo(f"costs     a device at most {cost_text(manifest, manifest.schedule.start)}")
    click.echo(f"epochs    {epochs_text(manifest)}")
    click.echo(f"devices   {devices_text(manifest)}")
    for label, text in life:
        click.echo(f"{label:<9} {text}")
    click.echo(f"figures   {figures_text(max(1, manifest.minimum_reports))}\n")
    click.echo(declared_in_python(declaration_of(manifest)))
