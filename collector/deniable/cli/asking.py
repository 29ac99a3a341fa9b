"""The parts of a question on a command line."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from deniable.cli.options import Form, epoch_option, form_options, level_option, survey_option
from deniable.cli.reading import Place, reading_options
from deniable.messages import Manifest
from deniable.reading import named_epochs

if TYPE_CHECKING:
    from deniable.estimates import Histogram
    from deniable.estimates.answers import Range
    from deniable.presenting import SurveyFigures


@contextmanager
def found_survey(place: Place, name: str, survey_id: str | None) -> "Iterator[SurveyFigures]":
    """Yield the survey; a question that has no answer ends the command with the reason."""
    from deniable.presenting import Surveys

    with place.source() as source:
        survey = Surveys(source).find(name, survey_id)
        try:
            yield survey
        except ValueError as error:  # such as epochs over which devices keep responses
            raise click.ClickException(str(error)) from error


def survey_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add NAME, and the options that find its survey; it is given as ``survey``."""

    @click.argument("name")
    @reading_options
    @survey_option
    @wraps(command)
    def read(*, place: Place, name: str, survey_id: str | None, **others: Any) -> Any:
        with found_survey(place, name, survey_id) as survey:
            return command(survey=survey, **others)

    return read


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures that a question is about, and the form that its answer is to have."""

    histogram: "Histogram"
    manifest: Manifest
    form: Form

    def answers(self, text: str) -> "list[str] | dict[str, list[str]] | Range":
        """Return the answers that a text names."""
        return asked_answers(text, self.manifest)


def figures_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add NAME, and the options of its figures and of their form; they are ``figures``."""

    @survey_argument
    @epoch_option("newest with data")
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
    """Return the epochs that are named; ValueError for others than the survey has."""
    return None if text is None else named_epochs(text, manifest)


def asked_answers(text: str, manifest: Manifest) -> "list[str] | dict[str, list[str]] | Range":
    """Return the answers of a text such as "good, very good", or "plan: free" of several questions.

    Or "31..48", all from one to the other, of answers that have an order.

    Raises:
        click.ClickException: for an answer that there is not.
    """
    try:
        for question, *answers in manifest.dimensions:
            if text.startswith(f"{question}: "):
                return {question: _split(text.removeprefix(f"{question}: "), answers)}
        first, dots, last = text.partition("..")
        if dots and text.strip() not in manifest.categories:
            from deniable.estimates.answers import Range

            return Range(first.strip(), last.strip())
        return _split(text, manifest.categories)
    except ValueError as error:
        see = f"deniable survey show {manifest.name}"
        raise click.ClickException(f"{error}; see: {see}") from error


def _split(text: str, known: Sequence[str]) -> list[str]:
    """Split at commas, but for those within an answer: the longest that there is comes first."""
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

            raise no_answer(pieces[0].strip(), known)
    return answers
