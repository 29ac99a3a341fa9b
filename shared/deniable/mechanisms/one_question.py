"""One question of several: the device draws which question it answers.

Each of d questions is drawn with probability 1/d, independently of the answers, and answered by its
own mechanism P_j at the full epsilon. A response reveals the question: the responses are the
disjoint union of those of all questions, and the row of the combination x = (x_1, ..., x_d) is

    P(x, (j, y)) = P_j(x_j, y) / d.

The guarantee is the mean of the questions' guarantees, attained where all answers differ. There is
one report, charged as one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm, prod
from typing import Final

from deniable.mechanisms.answering import (
    Answered,
    Dimensions,
    SeveralQuestions,
    answer_labels,
    answering_labels,
    answering_mechanism,
    check_answerings,
    check_dimensions,
    separated,
    sizes_of,
)
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.kind import InvalidManifest, Parameters, at_fault
from deniable.mechanisms.mechanism import (
    Compared,
    Draw,
    category_index,
    os_random_word,
    uniform_below,
)
from deniable.mechanisms.privacy import Privacy, TwoValuedPrivacy


@dataclass(frozen=True, slots=True)
class MeanPrivacy(Privacy):
    """The guarantee of drawing one of several mechanisms with equal chances, revealing which."""

    parts: tuple[TwoValuedPrivacy, ...]

    @property
    def odds(self) -> Fraction:
        """Return e^epsilon' of the pure guarantee: the largest, as a response reveals its part."""
        return max(part.odds for part in self.parts)

    @property
    def alike(self) -> bool:
        """Return whether there is only one part: with more, rows may differ in only some."""
        return len(self.parts) == 1

    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds`` >= 1."""
        deltas = (part.delta_at_odds(odds) for part in self.parts)
        return sum(deltas, Fraction(0)) / len(self.parts)


class OneQuestion(Compared):
    """Draw one of the questions, and answer it with its own mechanism.

    The categories are the combinations of answers, of which there may be more than can be listed;
    ``parts`` are the questions' mechanisms.

    Source: docs/mathematics.md, section 18.
    """

    rounds: Final = None
    truth: Final = None
    miss: Final = None

    def __init__(self, parts: Iterable[Answered]) -> None:
        self.identity = self.parts = tuple(parts)
        self._sizes = [part.categories for part in self.parts]
        self._ends = list(accumulate(part.responses for part in self.parts))
        self.categories, self.responses = prod(self._sizes), self._ends[-1]
        self.grid = len(self.parts) * lcm(*(part.grid for part in self.parts))

    @property
    def privacy(self) -> MeanPrivacy:
        """Return the tight guarantee of the implemented integers."""
        return MeanPrivacy(tuple(part.privacy for part in self.parts))

    @property
    def hit(self) -> Fraction:
        """Return the probability that the response supports the answer to its question."""
        hits = (part.truth if part.hit is None else part.hit for part in self.parts)
        return sum(hits, Fraction(0)) / len(self.parts)

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights over the grid."""
        share = self.grid // len(self.parts)
        return [
            share // part.grid * weight
            for part, answer in zip(self.parts, self._answers(category), strict=True)
            for weight in part.row(answer)
        ]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the combination ``answer``."""
        answers = self._answers(answer)
        at = uniform_below(len(self.parts), draw)
        part = self.parts[at]
        return self._ends[at] - part.responses + part.randomise(answers[at], draw)

    def _answers(self, category: int) -> list[int]:
        return separated(category_index(category, self.categories), self._sizes)

    def __repr__(self) -> str:
        return f"OneQuestion({', '.join(map(repr, self.parts))})"


def check_responses(mechanism: OneQuestion) -> None:
    """Check that there are not more responses than a design may have."""
    if mechanism.responses > MAX_RESPONSES:
        raise InvalidManifest("mechanism", f"must have at most {MAX_RESPONSES:,} responses")


class ResponseLabels(Sequence[str]):
    """The labels of the responses: the question, followed by its own response."""

    def __init__(self, questions: Iterable[tuple[str, Sequence[str]]]) -> None:
        self._questions = list(questions)
        self._ends = list(accumulate(len(labels) for _, labels in self._questions))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, response: int) -> str:  # type: ignore[override]
        response = range(len(self))[response]
        at = bisect_right(self._ends, response)
        name, labels = self._questions[at]
        return f"{name}: {labels[response - self._ends[at]]}"


class _Kind(SeveralQuestions):
    name = "one-question"
    fields = ("dimensions", "mechanisms")
    sent = "one or more answers to one of the questions"

    def labels(self, dimensions: Dimensions) -> tuple[str, ...]:
        return answer_labels(dimensions)

    def check(self, parameters: Parameters) -> None:
        dimensions, mechanisms = (parameters[name] for name in self.fields)
        with at_fault("mechanism"):
            check_dimensions(dimensions)
            check_answerings(mechanisms, len(dimensions))

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> OneQuestion:
        sizes = sizes_of(parameters["dimensions"])
        if categories != sum(sizes):
            raise InvalidManifest("categories", "must be the answers to all questions")
        made = OneQuestion(
            answering_mechanism(answering, size, epsilon, delta)
            for answering, size in zip(parameters["mechanisms"], sizes, strict=True)
        )
        check_responses(made)
        return made

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        labels = [
            (name, answering_labels(answering, tuple(answers)))
            for (name, *answers), answering in zip(
                parameters["dimensions"], parameters["mechanisms"], strict=True
            )
        ]
        if all(type(own) is tuple for _, own in labels):  # each response is one answer
            return categories
        return ResponseLabels(labels)


KIND: Final = _Kind()
