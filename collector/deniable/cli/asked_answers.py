"""Answers and epochs as they are named on a command line, of a survey that is known by now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deniable.messages import Manifest
from deniable.reading import named_epochs

if TYPE_CHECKING:  # numpy: nobody who asks for no range waits for it
    from deniable.estimates.answers import Range


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


def asked_epochs(manifest: Manifest, text: str | None) -> range | None:
    """Return the epochs that are named; ValueError for others than the survey has."""
    return None if text is None else named_epochs(text, manifest)
