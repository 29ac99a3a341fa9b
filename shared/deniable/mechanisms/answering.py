"""Several questions in one survey: a true answer combines one answer to each, in fixed order."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Final

from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.kind import KINDS, InvalidManifest, Kind, Parameters
from deniable.mechanisms.randomised_response import RandomisedResponse

# In such a survey, a true answer is a combination of one answer to each question. Combinations are
# numbered like the entries of a table with an axis for each question: the last question's answer
# changes first. There may be more combinations than can be listed.

Dimensions = tuple[tuple[str, ...], ...]
"""A tuple for each question: its name, then its answers."""

MAX_QUESTIONS: Final = 1024

_AND: Final = " + "


def check_dimensions(dimensions: object) -> None:
    """Check the types and numbers of questions and answers; a manifest checks the texts."""
    if type(dimensions) is not tuple or not 2 <= len(dimensions) <= MAX_QUESTIONS:
        raise InvalidManifest("dimensions", f"must list 2 to {MAX_QUESTIONS:,} questions")
    for row in dimensions:
        if type(row) is not tuple or len(row) < 3 or not all(type(text) is str for text in row):
            raise InvalidManifest(
                "dimensions", "must each consist of a name and at least two answers"
            )


def sizes_of(dimensions: Dimensions) -> list[int]:
    """Return the number of answers to each question."""
    return [len(row) - 1 for row in dimensions]


def combinations_of(dimensions: Dimensions) -> int:
    """Return the number of combinations."""
    return prod(sizes_of(dimensions))


def answer_labels(dimensions: Dimensions) -> tuple[str, ...]:
    """Return a label for each answer to each question: "plan: free"."""
    return tuple(f"{name}: {answer}" for name, *answers in dimensions for answer in answers)


def combination_labels(dimensions: Dimensions) -> tuple[str, ...]:
    """Return a label for each combination, in order: "free + dark"."""
    return tuple(map(_AND.join, product(*(row[1:] for row in dimensions))))


def combined(answers: Iterable[int], sizes: Iterable[int]) -> int:
    """Return the number of a combination, given the answers and the questions' sizes."""
    index = 0
    for answer, size in zip(answers, sizes, strict=True):
        index = index * size + answer
    return index


def separated(index: int, sizes: Sequence[int]) -> list[int]:
    """Return the answer to each question: the inverse of :func:`combined`."""
    answers = []
    for size in reversed(sizes):
        index, answer = divmod(index, size)
        answers.append(answer)
    return answers[::-1]


def text_index(text: Iterable[int], signs: int) -> int:
    """Return the number of a text among all, the shorter ones first, by the numbers of its signs.

    The alphabet has so many signs, numbered from 1; 0 is any other.
    """
    index = 0
    for sign in text:
        index = index * (signs + 1) + sign + 1
    return index


Answering = tuple[str | int, ...]
"""A mechanism for one question: the name of its kind, followed by its parameters."""

Answered = RandomisedResponse | DesignMechanism
"""The kind must treat any two answers alike."""

RANDOMISED_RESPONSE: Final[Answering] = ("randomised-response",)

_BY: Final = ("randomised-response", "subset", "affine", "difference-set")


class SeveralQuestions(Kind):
    """A kind with several questions."""

    several = True

    def dimensions(self, parameters: Parameters) -> Dimensions:
        """Return the questions with their answers."""
        dimensions: Dimensions = parameters["dimensions"]
        return dimensions


def check_answering(answering: object) -> None:
    """Check the types and domains of a mechanism's parameters."""
    if type(answering) is not tuple or not answering or answering[0] not in _BY:
        raise InvalidManifest("mechanism", f"must use one of {', '.join(_BY)}")
    kind = KINDS[answering[0]]
    if len(answering) != 1 + len(kind.fields):
        raise InvalidManifest("mechanism", f"kind {kind.name} has unexpected parameters")
    kind.check(answering_parameters(answering))


def check_answerings(answerings: object, count: int) -> None:
    """Check the mechanisms of this many questions or levels."""
    if type(answerings) is not tuple or len(answerings) != count:
        raise InvalidManifest("mechanism", "must have a mechanism for each question")
    for answering in answerings:
        check_answering(answering)


def answering_mechanism(
    answering: Answering, categories: int, epsilon: str, delta: str
) -> Answered:
    """Return the mechanism for this many answers."""
    made = answering_kind(answering).mechanism(
        answering_parameters(answering), categories, epsilon, delta
    )
    assert isinstance(made, RandomisedResponse | DesignMechanism)
    return made


def answering_labels(answering: Answering, answers: tuple[str, ...]) -> Sequence[str]:
    """Return the labels of the mechanism's responses."""
    return answering_kind(answering).responses(answering_parameters(answering), answers)


def answering_kind(answering: Answering) -> Kind:
    """Return the mechanism's kind."""
    return KINDS[str(answering[0])]


def answering_parameters(answering: Answering) -> Parameters:
    """Return the mechanism's parameters by their names."""
    return dict(zip(answering_kind(answering).fields, answering[1:], strict=True))
