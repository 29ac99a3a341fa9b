"""The questions that a survey's page can be asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.mechanisms.answering import answer_labels
from deniable.messages import Manifest

MOST_LISTED: Final = 1024
"""Answers to choose from; of more, one is written."""

MOST_CELLS: Final = 200
"""Of a table of two questions; more take too long here."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The questions that a survey can be asked, and the one that is.

    Attributes:
        kinds: keys and titles of the questions; kind: the key of the chosen one, "" if none.
        answers: that can be chosen, if they are not too many; of several questions, with theirs.
        questions: names of the survey's questions, if it has several.
    """

    kinds: tuple[tuple[str, str], ...]
    kind: str
    answers: tuple[str, ...]
    questions: tuple[str, ...]

    @classmethod
    def of(cls, query: Mapping[str, str], manifest: Manifest) -> "Asking":
        """Return the questions of a survey, and the chosen one."""
        kinds = []
        if manifest.kind.name == "joint":
            kinds += [("table", "Two questions"), ("group", "Within a group")]
        if manifest.values is None:
            kinds += [("leaders", "Who leads"), ("ahead", "Who is ahead")]
        if manifest.ordered:
            kinds += [("range", "From one to another"), ("quantile", "Median")]
        keys = [key for key, _ in kinds]
        wanted = query.get("ask", "")
        kind = wanted if wanted in keys else next(iter(keys), "")
        answers: Sequence[str] = answer_labels(manifest.dimensions) or manifest.categories
        listed = tuple(answers) if len(answers) <= MOST_LISTED else ()
        return cls(tuple(kinds), kind, listed, tuple(name for name, *_ in manifest.dimensions))
