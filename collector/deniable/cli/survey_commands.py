"""``deniable survey``: publishing surveys and showing what is being asked."""

import textwrap
import time
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path

import click

from deniable.budget import NANO, format_nano, pure_cost, upper_text
from deniable.cli.choice_terms import choice_terms
from deniable.cli.life_terms import left_behind_text, life_terms
from deniable.cli.options import a_file, directory_option
from deniable.cli.reading import Place, reading_options
from deniable.cli.repeat_terms import repeat_terms
from deniable.cli.survey_terms import (
    answers_of,
    cost_text,
    devices_text,
    epochs_text,
    figures_text,
    mechanism_text,
)
from deniable.cli.surveys import published
from deniable.client import DAY, DEFAULT_LIFETIME_EPSILON
from deniable.directory import Config, authority_chain, find_key_file, store_text, with_store
from deniable.directory.states import running
from deniable.mechanisms.exponential import ceil_div
from deniable.messages import FRESH, Manifest, is_simulated
from deniable.messages.bundle import declaration_of, declared_in_python
from deniable.publishing.following import (
    CEILING,
    epochs_left,
    left_behind,
    reserved,
    reserved_by_all,
)
from deniable.publishing.survey_file import SurveyFile
from deniable.reading import find_version
from deniable.stores import Store

_MUCH = Fraction(1, 100)
"""From this delta on, an operator is warned of it."""


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
    # They calculate with numpy, for which --help does not wait.
    from deniable.cli.survey_accuracy import accuracy_text, shares_text
    from deniable.publishing.publish import publish as sign_and_publish
    from deniable.publishing.publish import successor

    now = time.time()
    config = Config.load(directory)
    written = SurveyFile.load(file)

    async def work(store: Store) -> tuple[Manifest, list[Manifest], dict[bytes, int]]:
        surveys = await published(store, config)
        if dry_run:
            manifest = successor(config, written, surveys, after_epoch)
        else:
            signer = (await authority_chain(store, config.authority))[-1]
            key_file = authority_key or find_key_file(directory, signer)
            manifest = await sign_and_publish(
                store, config, written, surveys, key_file, after_epoch
            )
        return manifest, surveys, await store.ended()

    manifest, surveys, ended = with_store(config, work)
    if dry_run:
        click.echo(f"would be  {manifest.name}, sequence {manifest.sequence}")
    else:
        click.echo(f"published {manifest.name}, sequence {manifest.sequence}")
        click.echo(f"id        {manifest.survey_id.hex()}")
        click.echo(f"store     {store_text(config)}")
    click.echo(f"epochs    {epochs_text(manifest)}")
    if (mechanism := mechanism_text(manifest)) is not None:
        click.echo(f"mechanism {mechanism}")
    for label, text in choice_terms(manifest):
        click.echo(_wrapped(label, text))
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    if manifest.enrolment.issuers:
        click.echo(f"devices   {devices_text(manifest)}")
    older = [each for each in surveys if each.name == manifest.name]
    offered = running([manifest, *surveys], ended, now)
    together = reserved_by_all(offered, now)
    click.echo(f"costs     a device at most {cost_text(manifest, now)}")
    if together > reserved([manifest], now):
        click.echo(f"together  with all else that runs, epsilon {format_nano(together)} at most")
    click.echo(f"accuracy  {accuracy_text(manifest)}")
    if (shares := shares_text(manifest)) is not None:
        click.echo(f"shares    {shares}")
    for before, follows in left_behind(manifest, older, offered, now):
        click.echo(_wrapped("older", left_behind_text(manifest, before, follows)))
    for warning in _warnings(manifest, together, now):
        click.echo(_wrapped("warning", warning))
    client = "" if together <= CEILING else f', with Client(lifetime_epsilon="{_whole(together)}")'
    export = "or bundle what `deniable survey export` writes"
    click.echo(f"\ndeclare it in your app{client}, {export}:\n")
    click.echo(declared_in_python(declaration_of(manifest)))


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(f"{label:<9} {text}", 80, subsequent_indent=" " * 10)


def _warnings(manifest: Manifest, together: int, now: float) -> list[str]:
    """Return what keeps devices with the client's defaults from following a survey."""
    warnings = []
    if manifest.schedule.end <= now:
        warnings.append("its last epoch is over: no device will follow it")
    if together > CEILING:
        costs = reserved([manifest], now)
        warnings.append(
            f"no device answers this unless its app sets lifetime_epsilon = "
            f'"{_whole(together)}": it costs {format_nano(costs)}, and devices spend '
            f"{DEFAULT_LIFETIME_EPSILON} at most. {_what_fits(manifest, now)}"
            if costs > CEILING
            else f"devices spend at most epsilon {DEFAULT_LIFETIME_EPSILON} in all unless their "
            f'app sets lifetime_epsilon = "{_whole(together)}": they will refuse what comes last '
            "of all"
        )
    if (delta := Fraction(manifest.delta)) >= _MUCH:
        warnings.append(
            f"delta {manifest.delta} lets up to {100 * float(delta):.3g} % of reports reveal more "
            f"than epsilon {manifest.epsilon}; devices charge "
            f"{format_nano(pure_cost(manifest.mechanism))} for each. Leave delta out"
        )
    if manifest.schedule.epoch_seconds < DAY:
        warnings.append("devices refuse epochs below a day unless their app sets min_epoch_seconds")
    if manifest.enrolment.issuers:
        warnings.append("devices refuse it unless their app asks an issuer: Client(enrol=...)")
    return warnings


def _whole(cost: int) -> int:
    return ceil_div(cost, NANO)


def _what_fits(manifest: Manifest, now: float) -> str:
    """Return how a survey that costs too much would fit by itself."""
    ways = []
    if manifest.repeat == FRESH:
        if epochs := CEILING // pure_cost(manifest.mechanism):
            ways.append(f"with {epochs} epoch{'s' * (epochs > 1)}")
        if manifest.delta == "0":
            # To two digits, rounded down.
            each = Fraction(CEILING, NANO * epochs_left(manifest, now))
            shown = Context(prec=2, rounding=ROUND_FLOOR).divide(each.numerator, each.denominator)
            ways.append(f"with epsilon {shown:f}")
    return f"It fits {', '.join([*ways, 'or with fewer, longer epochs'])}."


@click.command()
@click.argument("name")
@click.option("--survey", "survey_id", help="How its id begins.  [default: newest]")
@reading_options
def show(name: str, survey_id: str | None, place: Place) -> None:
    """Show what NAME asks, its privacy in words, and how an app declares it."""
    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
        seals = [each.seal for each in source.epochs(manifest) if each.seal is not None]
        ended_at = source.ended(name).get(manifest.survey_id)
        life = life_terms(manifest, seals, ended_at, source.distrusted(manifest))
    mechanism = manifest.mechanism
    odds = mechanism.privacy.odds
    assert odds is not None
    likelier = f"at most {upper_text(odds, 4)} times likelier"
    truth = ""
    if mechanism.truth is not None:
        least = "" if manifest.kind.symmetric else "at least "
        truth = f"; the truth is sent with probability {least}{float(mechanism.truth):.1%}"
    click.echo(manifest.question)
    for category in answers_of(manifest):
        click.echo(f"  {category}")
    click.echo(f"\nid        {manifest.survey_id.hex()}")
    click.echo(f"sequence  {manifest.sequence}")
    click.echo(
        f"privacy   epsilon {manifest.epsilon}, delta {manifest.delta}: "
        f"whatever somebody answers,\n"
        f"          a response is {likelier} than with any other\n"
        f"          answer{truth}"
    )
    if (terms := mechanism_text(manifest)) is not None:
        click.echo(f"mechanism {terms}")
    if type(manifest.responses) is tuple and manifest.responses != manifest.categories:
        named = f"responses {', '.join(manifest.responses)}"
        click.echo(textwrap.fill(named, 80, subsequent_indent=" " * 10))
    for label, text in choice_terms(manifest):
        click.echo(_wrapped(label, text))
    for label, text in repeat_terms(manifest):
        click.echo(f"{label:<9} {text}")
    click.echo(f"costs     a device at most {cost_text(manifest, manifest.schedule.start)}")
    click.echo(f"epochs    {epochs_text(manifest)}")
    click.echo(f"devices   {devices_text(manifest)}")
    for label, text in life:
        click.echo(f"{label:<9} {text}")
    click.echo(f"figures   {figures_text(max(1, manifest.minimum_reports))}\n")
    if is_simulated(name):
        click.echo("a rehearsal: no device answers it, and no app declares it")
    else:
        click.echo(declared_in_python(declaration_of(manifest)))
