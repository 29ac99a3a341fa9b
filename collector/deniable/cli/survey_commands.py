"""``deniable survey``: publishing surveys and showing what is being asked."""

import math
import os
import time
from pathlib import Path

import click

from deniable.budget import NANO, RangeCost, format_nano, pure_cost
from deniable.cli.authority import AuthorityKeyError, find_key_file, read_authority_key
from deniable.cli.life_terms import instant_text, life_terms
from deniable.cli.options import directory_option
from deniable.cli.repeat_terms import repeat_terms
from deniable.cli.survey_file import SurveyFile, duration_text, next_manifest, says_the_same
from deniable.cli.workplace import find_survey, published, store_text, with_store
from deniable.client import DAY, DEFAULT_LIFETIME_EPSILON
from deniable.estimates import NotInvertible, reports_for_half_width, reports_for_mean
from deniable.mechanisms import (
    RandomisedResponse,
    TwoValuedMechanism,
    exact_epsilon,
    odds_floor,
)
from deniable.messages import (
    FRESH,
    InvalidManifest,
    Manifest,
    format_value,
    sign_manifest,
)
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

    Publishing a name again makes a successor: another survey, whose figures are kept apart.
    """
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
    click.echo(f"epochs    {_epochs(manifest)}")
    if manifest.specification.ratio is not None:
        click.echo(f"mechanism {_terms(manifest)}")
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    if manifest.enrolment.issuers:
        click.echo(f"devices   {_devices(manifest)}")
    click.echo(f"costs     a device at most {_lifetime(manifest)}")
    click.echo(f"accuracy  {_accuracy(manifest)}")
    for warning in _warnings(manifest):
        click.echo(f"warning   {warning}")
    click.echo()
    click.echo("declare it in your app:\n")
    click.echo(_declaration(manifest))


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
    predecessor = before[0] if before else None
    if predecessor is not None and says_the_same(written, predecessor, config.origin):
        raise InvalidManifest(
            written.name, "nothing has changed; the survey published before stands"
        )
    manifest = next_manifest(written, predecessor, config.origin, os.urandom(16), time.time())
    _check_estimable(manifest)
    return manifest


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
    odds = math.exp(mechanism.privacy.epsilon)
    least = "" if isinstance(mechanism, TwoValuedMechanism) else "at least "
    click.echo(manifest.question)
    for category in _answers(manifest):
        click.echo(f"  {category}")
    click.echo(f"\nid        {manifest.survey_id.hex()}")
    click.echo(f"sequence  {manifest.sequence}")
    click.echo(
        f"privacy   epsilon {manifest.epsilon}, delta {manifest.delta}: "
        f"whatever somebody answers,\n"
        f"          a response is at most {odds:.4g} times likelier than with any other\n"
        f"          answer; the truth is sent with probability {least}{float(mechanism.truth):.1%}"
    )
    if manifest.specification.ratio is not None:
        click.echo(f"mechanism {_terms(manifest)}")
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    click.echo(f"costs     a device at most {_lifetime(manifest)}")
    click.echo(f"epochs    {_epochs(manifest)}")
    click.echo(f"devices   {_devices(manifest)}")
    for label, text in life:
        click.echo(f"{label:<9} {text}")
    click.echo(f"figures   {_figures(max(1, manifest.minimum_reports))}\n")
    click.echo(_declaration(manifest))


def _figures(step: int) -> str:
    if step == 1:
        return "are renewed with each report"
    first = f"appear from {step:,} reports on,"
    return f"{first} and are renewed when\n          at least {step:,} more have come"


def _devices(manifest: Manifest) -> str:
    """Return who may report; with their issuers, one a line."""
    issuers = manifest.enrolment.issuers
    if not issuers:
        return "open: nobody vouches that each report comes from another device"
    listed = ",\n          then ".join(issuer.hex() for issuer in issuers)
    return f"certificate: only those for which an issuer vouches:\n          {listed}"


def _answers(manifest: Manifest) -> tuple[str, ...]:
    """Return what can be answered; a range of numbers in one line."""
    if manifest.values is None:
        return manifest.categories
    low, high = manifest.categories[0], manifest.categories[-1]
    step = format_value(manifest.values[1] - manifest.values[0])
    return (f"{low} to {high} in steps of {step}",)


def _terms(manifest: Manifest) -> str:
    """Return a distance mechanism's terms, with what its tight guarantee leaves of epsilon."""
    specification, odds = manifest.specification, manifest.mechanism.privacy.odds
    assert specification.ratio is not None
    assert odds is not None
    kind: str = specification.kind
    if specification.distance is not None:
        table = isinstance(specification.distance, tuple)
        kind += ", table of distances" if table else f", {specification.distance} distance"
    # ln(E/odds) = E/odds - 1 for two numbers that agree to many places.
    gap = float(odds_floor(exact_epsilon(manifest.epsilon)) / odds - 1)
    return (
        f"{kind}: {1 / float(specification.ratio):.4g} times less likely a step\n"
        f"          tight epsilon below {manifest.epsilon} by {gap:.1g}"
    )


def _check_estimable(manifest: Manifest) -> None:
    """Refuse what devices could answer and nobody could estimate.

    Raises:
        InvalidManifest: if the categories cannot be told apart.
    """
    try:
        _accuracy(manifest)
    except NotInvertible as error:
        raise InvalidManifest(
            "epsilon", "is too small to tell so many categories apart; raise it or use fewer"
        ) from error


def _accuracy(manifest: Manifest) -> str:
    """Return how many reports give figures of some use."""
    if manifest.values is not None:
        width = manifest.values[-1] - manifest.values[0]
        reports = reports_for_mean(manifest.mechanism, manifest.values, float(width) / 50)
        return f"the mean within ± 2 % of the range takes at most {reports:,} reports"
    reports = reports_for_half_width(manifest.mechanism, 0.05)
    text = f"each share within ± 5 percentage points takes at most {reports:,} reports"
    if isinstance(manifest.mechanism, TwoValuedMechanism):
        return text
    plain = RandomisedResponse(len(manifest.categories), manifest.epsilon)
    return text + (f",\n          with randomised response {reports_for_half_width(plain, 0.05):,}")


def _lifetime(manifest: Manifest) -> str:
    epochs, kept = manifest.schedule.epochs, manifest.repeat.epochs
    each = (
        f"{epochs} epochs of {format_nano(pure_cost(manifest.mechanism))}"
        if kept is None
        else f"{epochs} epochs in ranges of {kept}"
    )
    return f"epsilon {format_nano(_most(manifest))} in all ({each})"


def _most(manifest: Manifest) -> int:
    """Return what a device reserves when it accepts a survey, in units of 1e-9 epsilon."""
    return RangeCost.of(manifest.mechanism).most(
        manifest.schedule.epochs, manifest.repeat.epochs or 1
    )


def _epochs(manifest: Manifest) -> str:
    schedule = manifest.schedule
    return (
        f"{schedule.epochs} of {duration_text(schedule.epoch_seconds)}, "
        f"{instant_text(schedule.start)} to {instant_text(schedule.end)}"
    )


def _warnings(manifest: Manifest) -> list[str]:
    """Return what keeps devices with the client's defaults from following a survey."""
    warnings = []
    if manifest.schedule.end <= time.time():
        warnings.append("its last epoch is over: no device will follow it")
    if _most(manifest) > DEFAULT_LIFETIME_EPSILON * NANO:
        warnings.append(
            f"devices spend at most epsilon {DEFAULT_LIFETIME_EPSILON} in all unless their app "
            "sets lifetime_epsilon: they will refuse this survey"
        )
    if manifest.schedule.epoch_seconds < DAY:
        warnings.append("devices refuse epochs below a day unless their app sets min_epoch_seconds")
    if manifest.enrolment.issuers:
        warnings.append("devices refuse it unless their app asks an issuer: Client(enrol=...)")
    return warnings


def _declaration(manifest: Manifest) -> str:
    """Return the Python that declares this survey in an app."""
    lines = [
        "Survey(" if manifest.values is None else "Survey.numeric(",
        f"    name={manifest.name!r},",
        f"    question={manifest.question!r},",
    ]
    if manifest.values is None:
        lines.append(f"    categories={manifest.categories!r},")
    else:
        low, high = manifest.categories[0], manifest.categories[-1]
        step = format_value(manifest.values[1] - manifest.values[0])
        lines.append(f"    low={low!r}, high={high!r}, step={step!r},")
    lines.append(f"    max_epsilon={manifest.epsilon!r},")
    if manifest.delta != "0":
        lines.append(f"    max_delta={manifest.delta!r},")
    if manifest.repeat != FRESH:
        kept = manifest.specification.kept or manifest.epsilon
        lines.append(f"    max_kept_epsilon={kept!r},")
    if manifest.schedule.epoch_seconds < DAY:
        lines.append(f"    min_epoch_seconds={manifest.schedule.epoch_seconds},")
    return "\n".join([*lines, ")"])
