"""The collector that commands read, by directory or URL, and the survey that they name."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.cli.options import (
    Form,
    a_file,
    directory_option,
    epoch_option,
    form_options,
    level_option,
    survey_option,
)
from deniable.directory import Config, signed_surveys
from deniable.mechanisms.answering import answer_labels
from deniable.messages import Manifest
from deniable.reading import find_version, named_epochs
from deniable.reading.epochs import answered_texts
from deniable.stores import Store

if TYPE_CHECKING:
    from deniable.estimates import Histogram
    from deniable.estimates.answers import Range
    from deniable.presenting import SurveyFigures
    from deniable.reading import Source


def warn_of_unsigned(others: int) -> None:
    """Warn of stored surveys that another authority signed."""
    if others:
        surveys = "stored survey is" if others == 1 else "stored surveys are"
        click.echo(f"{others} {surveys} not signed by this collector's authority", err=True)


async def published(store: Store, config: Config) -> list[Manifest]:
    """Return the surveys that this collector's authority signed, by name, newest first."""
    manifests, others = await signed_surveys(store, config)
    warn_of_unsigned(others)
    return manifests


async def find_survey(
    store: Store, config: Config, name: str, survey_id: str | None = None
) -> Manifest:
    """Return the newest survey of a name, or the one whose id has the given beginning.

    Raises:
        ReadingError: if there is no such survey, or more than one.
    """
    surveys = await published(store, config)
    return find_version(name, [survey for survey in surveys if survey.name == name], survey_id)


@dataclass(frozen=True, slots=True)
class Place:
    """The source of a command: a collector's directory, or its URL."""

    directory: Path
    collector: str | None
    token_file: Path | None
    authority: str | None

    def relays(self, manifest: Manifest) -> bool:
        """Return whether all reports come through relays; False (unknown) for a URL."""
        if self.collector is not None:
            return False
        return Config.load(self.directory).relayed_from <= manifest.schedule.opens(0)

    @contextmanager
    def source(self) -> "Iterator[Source]":
        """Yield the opened source."""
        if self.collector is not None:
            yield self._http()
            return
        from deniable.directory.store_source import StoreSource

        with StoreSource(Config.load(self.directory)) as source:
            warn_of_unsigned(source.unsigned())
            yield source

    def _http(self) -> "Source":
        from deniable.reading import HttpSource, pinned

        assert self.collector is not None
        if self.authority is None:
            raise click.UsageError(
                "--collector needs --authority: the public key that `deniable authority show` "
                "prints, or a file written by `deniable survey export`"
            )
        file = self.token_file
        token = None if file is None else file.read_text("utf-8").strip()
        try:
            return HttpSource(self.collector, pinned(self.authority), token)
        except ValueError as error:
            raise click.UsageError(str(error)) from error


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command's source; the command gets it as ``place``."""

    @directory_option
    @click.option(
        "--collector",
        metavar="URL",
        help="Origin of the collector, such as https://host, to read over HTTP instead.",
    )
    @click.option("--token-file", type=a_file, help="File that contains an analyst's token.")
    @click.option(
        "--authority",
        metavar="KEY",
        help="Authority key that must have signed the surveys of --collector: 64 hex digits, or a "
        "file written by `survey export`.",
    )
    @wraps(command)
    def placed(
        *,
        directory: Path,
        collector: str | None,
        token_file: Path | None,
        authority: str | None,
        **others: Any,
    ) -> Any:
        if collector is None and (token_file or authority):
            raise click.UsageError("--token-file and --authority require --collector")
        return command(place=Place(directory, collector, token_file, authority), **others)

    return placed


@contextmanager
def found_survey(place: Place, name: str, survey_id: str | None) -> "Iterator[SurveyFigures]":
    """Yield the survey; a question without an answer ends the command with the reason."""
    from deniable.presenting import Surveys

    with place.source() as source:
        survey = Surveys(source).find(name, survey_id)
        try:
            yield survey
        except ValueError as error:  # such as epochs over which devices keep responses
            raise click.ClickException(str(error)) from error


@contextmanager
def found_figures(
    place: Place, name: str, survey_id: str | None, epoch: str | None = None
) -> "Iterator[SurveyFigures]":
    """Yield the version that most devices answered in the epochs, and show who answered others.

    If the newest version has no figures yet, say why.
    """
    with found_survey(place, name, survey_id) as newest:
        answered, chosen = newest.versions(epoch), newest
        if not survey_id and (known := answered or newest.versions()):
            chosen = newest.version_of(known[0].manifest)
        if chosen.manifest != newest.manifest and not newest.epochs():
            from deniable.publishing.changes import awaited_text

            dates, reason = (chosen.published_at, newest.published_at), newest.without_figures()
            text = awaited_text(chosen.manifest, newest.manifest, dates, reason)
            click.echo(f"{text}\n", err=True)
        yield chosen
        answered.sort(key=lambda one: one.manifest != chosen.manifest)
        if len(answered) > 1 and answered[0].manifest == chosen.manifest:
            named = [
                (newest.version_of(one.manifest).version, one.reports, one.period)
                for one in answered
            ]
            texts = answered_texts(named, several=len(answered[0].epochs) > 1)
            ids = (
                "",
                *(f" (--survey {one.manifest.survey_id.hex()[:12]})" for one in answered[1:]),
            )
            click.echo(f"\n{'; '.join(map(add, texts, ids))}.", err=True)


def survey_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add NAME, and the options that find its survey; the command gets it as ``survey``."""

    @click.argument("name")
    @reading_options
    @survey_option
    @wraps(command)
    def read(*, place: Place, name: str, survey_id: str | None, **others: Any) -> Any:
        with found_figures(place, name, survey_id, others.get("epoch")) as survey:
            return command(survey=survey, **others)

    return read


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a question, and the form of its answer."""

    histogram: "Histogram"
    manifest: Manifest
    form: Form

    def answers(self, text: str) -> "list[str] | dict[str, list[str]] | Range":
        """Return the answers that a text names."""
        return asked_answers(text, self.manifest)


def figures_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add NAME, and the options of its figures and form; the command gets them as ``figures``."""

    @survey_argument
    @epoch_option("newest epoch that is over")
    @level_option
    @form_options
    @wraps(command)
    def estimated(
        *, survey: "SurveyFigures", epoch: str | None, level: float, form: Form, **others: Any
    ) -> Any:
        manifest = survey.manifest
        histogram = survey.histogram(asked_epochs(manifest, epoch), level=level)
        return command(figures=Figures(histogram, manifest, form), **others)

    return estimated


def asked_epochs(manifest: Manifest, text: str | None) -> range | None:
    """Return the named epochs; ValueError for epochs that the survey does not have."""
    return None if text is None else named_epochs(text, manifest, time.time())


def asked_answers(text: str, manifest: Manifest) -> "list[str] | dict[str, list[str]] | Range":
    """Return the answers that a text names: "good, very good"; for several questions "plan: free".

    For ordered answers, "31..48" means all answers from the first to the second.

    Raises:
        click.ClickException: for an unknown answer.
    """
    if manifest.kind.texts:
        return [answer.strip() for answer in text.split(",")]
    try:
        for question, *answers in manifest.dimensions:
            if text.startswith(f"{question}: "):
                return {question: _split(text.removeprefix(f"{question}: "), answers)}
        first, dots, last = text.partition("..")
        if dots and text.strip() not in manifest.categories:
            from deniable.estimates.answers import Range

            ends = manifest.categories[0], manifest.categories[-1]
            return Range(first.strip() or ends[0], last.strip() or ends[1])
        return _split(text, manifest.categories, answer_labels(manifest.dimensions))
    except ValueError as error:
        question, of, answer = text.partition(": ")
        unlike = not (manifest.dimensions and str(error).endswith("?"))
        if of and unlike and question not in (name for name, *_ in manifest.dimensions):
            return {question: [answer]}  # an answer to a different survey's question
        see = f"deniable survey show {manifest.name}"
        end = f" See: {see}" if str(error).endswith("?") else f"; see: {see}"
        raise click.ClickException(f"{error}{end}") from error


def _split(text: str, known: Sequence[str], single: Sequence[str] = ()) -> list[str]:
    """Split at commas, except within an answer: the longest known answer is tried first.

    Answers to single questions are named by how they are asked for.
    """
    pieces, answers = text.split(","), []
    while pieces:
        for end in range(len(pieces), 0, -1):
            answer = ",".join(pieces[:end]).strip()
            if answer in known:
                answers.append(answer)
                pieces = pieces[end:]
                break
        else:
            from deniable.estimates.answers import no_answer

            raise no_answer(pieces[0].strip(), known, single)
    return answers
