"""Selection of categories by the answers that an analyst names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np

from deniable.estimates.decoders import Floats
from deniable.mechanisms.answering import Dimensions


@dataclass(frozen=True, slots=True)
class Range:
    """All answers from one to another, both included; the answers must be ordered."""

    first: str
    last: str


Answers = str | Iterable[str] | Mapping[str, str | Iterable[str]] | Range
"""One answer or several, by the texts of their categories; by question, answers to several; or all
from one to another."""

_NAMED = 10
_SEARCHED: Final = 1000
"""Among so many answers a misspelled one is looked for; among 65,536 that takes seconds."""


JOINT_FILE: Final = 'mechanism = "joint", with the questions under [dimensions]'
"""The setting in a survey file that asks each device several questions."""


def apart_text(one: str, other: str, names: Sequence[str] = ()) -> str:
    """Return why two questions cannot be crossed, and the remedy; within one survey, also which."""
    why = f"{one} and {other} were not asked together, and no report has both answers"
    if names:
        why = f"Each device answered only one of {listed(names, 'and')}"
    return (
        f"{why}, so they cannot be crossed. Ask your operator for a survey in which each device "
        "answers all questions"
    )


def not_together(one: str, other: str, names: Sequence[str] = ()) -> ValueError:
    """Return the error that two questions cannot be crossed, and what to publish instead."""
    return ValueError(f"{apart_text(one, other, names)}: {JOINT_FILE}")


def weights_of(
    answers: Answers, categories: Sequence[str], dimensions: Dimensions, *, together: bool
) -> Floats:
    """Return 1 for the selected categories, and 0 for the others.

    Several questions are answered ``together``, or each by other devices. Categories are selected
    if they have the named answers to all named questions. By text, those with one of the answers
    are selected: "plan: free" is one if categories are combinations.

    Raises:
        ValueError: for an unknown answer, one named twice, or none; or for answers to questions
            that are not answered together.
    """
    if isinstance(answers, Mapping):
        return _crossed(answers, dimensions, together=together)
    if isinstance(answers, Range):
        named = list(categories[slice(*_ends(answers, categories))])
        return weights_of(named, categories, dimensions, together=together)
    named = [answers] if isinstance(answers, str) else list(answers)
    if not named or len(set(named)) < len(named):
        raise ValueError("name at least one answer, and none of them twice")
    places = {category: at for at, category in enumerate(categories)}
    weights = np.zeros(len(categories))
    single = {f"{name}: {one}": (name, one) for name, *labels in dimensions for one in labels}
    for name in named:
        if name in places:
            weights[places[name]] = 1.0
        elif together and name in single:
            question, answer = single[name]
            weights = np.maximum(weights, _crossed({question: answer}, dimensions, together=True))
        else:
            raise no_answer(name, categories, [*single] if together else ())
    return weights


def _ends(answers: Range, categories: Sequence[str]) -> tuple[int, int]:
    for end in (answers.first, answers.last):
        if end not in categories:
            raise no_answer(end, categories)
    first, last = (list(categories).index(end) for end in (answers.first, answers.last))
    if first > last:
        raise ValueError(f"{answers.first} comes after {answers.last}")
    return first, last + 1


def _crossed(
    answers: Mapping[str, str | Iterable[str]], dimensions: Dimensions, *, together: bool
) -> Floats:
    questions = {name: labels for name, *labels in dimensions}
    if not answers or not questions:
        raise ValueError("name each answer with its question, since there are several questions")
    held = {}
    for question, wanted in answers.items():
        if question not in questions:
            raise ValueError(
                f"this survey does not ask {question!r}, so it cannot be crossed here; the "
                f"questions are {_some([*questions])}"
            )
        held[question] = weights_of(wanted, questions[question], (), together=False)
    if together:
        rows = [held.get(name, np.ones(len(labels))) for name, labels in questions.items()]
        return np.asarray(reduce(np.multiply.outer, rows)).reshape(-1)
    if len(held) > 1:
        one, other, *_ = held
        raise not_together(one, other, [*questions])
    rows = [held.get(name, np.zeros(len(labels))) for name, labels in questions.items()]
    return np.concatenate(rows)


def answers_text(answers: Answers) -> str:
    """Return the answers in words."""
    if isinstance(answers, Range):
        return " – ".join(dict.fromkeys((answers.first, answers.last)))
    if isinstance(answers, Mapping):
        return " and ".join(f"{name}: {answers_text(labels)}" for name, labels in answers.items())
    return answers if isinstance(answers, str) else listed(list(answers))


def no_answer(name: str, categories: Sequence[str], single: Sequence[str] = ()) -> ValueError:
    """Return the error that no such answer exists, with the nearest one, or with all."""
    from difflib import get_close_matches

    plain, known = name.casefold(), [*dict.fromkeys((*single, *categories))]
    near = [one for one in known if plain in {one.casefold(), one.casefold().partition(": ")[2]}]
    if near := near or get_close_matches(name, known if len(known) <= _SEARCHED else [], 1):
        return ValueError(f"there is no answer {name!r}; did you mean {near[0]!r}?")
    return ValueError(f"there is no answer {name!r}; the answers are {_some(known)}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_NAMED])) + ", …" * (len(names) > _NAMED)


def denies(answer: str) -> bool:
    """Return whether an answer means no in a language of notices, so that the other goes first."""
    return answer.rpartition(": ")[2].casefold() in {"no", "nein", "non"}


def affirmed(dimensions: Dimensions) -> tuple[str, ...]:
    """Return the yes to each of several questions, such as "plan: yes"; () if others are among."""
    labels = tuple(
        f"{question}: {next(answer for answer in answers if not denies(answer))}"
        for question, *answers in dimensions
        if len(answers) == 2 and any(map(denies, answers))
    )
    return labels if len(labels) == len(dimensions) else ()


def listed(names: Sequence[str], word: str = "or") -> str:
    """Return the names joined as part of a sentence."""
    if len(names) < 3:
        return f" {word} ".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
