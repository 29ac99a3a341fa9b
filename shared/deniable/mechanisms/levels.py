"""Levels of a tree over ordered answers: the device draws a level, and reports its node there.

The k answers are ordered. A level of width b groups b consecutive answers, so that the answer x is
in its node floor(x/b). Each width is a multiple of the next, and the last is 1, the level of single
answers. Each of d levels is drawn with probability 1/d, and the node there is sent by a mechanism
P_j of its own at the full epsilon:

    P(x, (j, y)) = P_j(floor(x/b_j), y) / d.

This is one question of several (:mod:`deniable.mechanisms.one_question`) whose answers all follow
from one. The first answer and the last attain its guarantee, the mean of the levels'.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from deniable.mechanisms.answering import (
    Answered,
    answering_labels,
    answering_mechanism,
    check_answerings,
)
from deniable.mechanisms.exact import ceil_div
from deniable.mechanisms.kind import InvalidManifest, Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import MAX_DENSE, category_index
from deniable.mechanisms.one_question import (
    OneQuestion,
    ResponseLabels,
    check_responses,
)

Widths = tuple[int, ...]


class Levels(OneQuestion):
    """Draw one of the levels, and answer with the node there that contains the answer.

    ``parts`` are the levels' mechanisms, which answer with nodes.

    Source: Hay, Rastogi, Miklau and Suciu 2010; Cormode, Kulkarni and Srivastava 2019;
    docs/mathematics.md, section 20.
    """

    def __init__(self, categories: int, widths: Iterable[int], parts: Iterable[Answered]) -> None:
        super().__init__(parts)
        self.widths, self.categories = tuple(widths), categories
        self.identity = categories, self.widths, self.parts
        if [part.categories for part in self.parts] != node_counts(self.widths, categories):
            raise ValueError("a level's mechanism must have that level's nodes as its answers")

    def _answers(self, category: int) -> list[int]:
        answer = category_index(category, self.categories)
        return [answer // width for width in self.widths]

    def __repr__(self) -> str:
        return f"Levels({self.categories}, {self.widths}, {list(self.parts)})"


def node_counts(widths: Widths, categories: int) -> list[int]:
    """Return the number of nodes on each level; the last node may contain fewer answers."""
    return [ceil_div(categories, width) for width in widths]


def node_labels(width: int, categories: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a level's nodes, from the first and the last answer of each."""
    nodes = (categories[at : at + width] for at in range(0, len(categories), width))
    return tuple(node[0] if len(node) == 1 else f"{node[0]} – {node[-1]}" for node in nodes)


class _Kind(Kind):
    name = "levels"
    fields = ("widths", "mechanisms")
    numeric = None
    ordered = True
    sent = "one or more groups of neighbouring answers, whose size is drawn at random"

    def check(self, parameters: Parameters) -> None:
        widths, mechanisms = (parameters[name] for name in self.fields)
        with at_fault("mechanism"):
            if type(widths) is not tuple or not all(type(width) is int for width in widths):
                raise InvalidManifest("widths", "each width must be a whole number")
            if (
                min(widths, default=0) < 1
                or widths[-1] != 1
                or any(width <= below or width % below for width, below in pairwise(widths))
            ):
                raise InvalidManifest(
                    "widths", "each width must be a multiple of the next, and the last must be 1"
                )
            check_answerings(mechanisms, len(widths))

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> Levels:
        widths = parameters["widths"]
        with at_fault("mechanism"):
            check_size(widths, categories)
        made = Levels(
            categories,
            widths,
            (
                answering_mechanism(answering, nodes, epsilon, delta)
                for answering, nodes in zip(
                    parameters["mechanisms"], node_counts(widths, categories), strict=True
                )
            ),
        )
        check_responses(made)
        return made

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        return ResponseLabels(
            (f"by {width:,}", answering_labels(answering, node_labels(width, categories)))
            for width, answering in zip(parameters["widths"], parameters["mechanisms"], strict=True)
        )


def check_size(widths: Widths, categories: int) -> None:
    """Check the number of categories against the widths."""
    if not 2 <= categories <= MAX_DENSE:
        raise InvalidManifest("categories", f"a levels survey must have 2 to {MAX_DENSE:,}")
    if widths[0] >= categories:
        raise InvalidManifest("widths", "each width must be below the number of answers")


KIND: Final = _Kind()
