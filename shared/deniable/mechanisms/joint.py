"""One response about all questions' answers together, for tables that cross them.

The categories are the combinations, and the mechanism is that of any survey with as many
categories. Shares of single questions, and of one within another, are sums of combinations' shares.
If only single questions matter, drawing one of them (:mod:`deniable.mechanisms.one_question`) needs
far fewer reports.
"""

from collections.abc import Sequence
from typing import Final

from deniable.mechanisms.answering import (
    Answered,
    Dimensions,
    SeveralQuestions,
    answering_labels,
    answering_mechanism,
    check_answering,
    check_dimensions,
    combination_labels,
    combinations_of,
)
from deniable.mechanisms.kind import InvalidManifest, Parameters, at_fault
from deniable.mechanisms.randomised_response import MAX_CATEGORIES


class _Kind(SeveralQuestions):
    name = "joint"
    fields = ("dimensions", "mechanism")

    def labels(self, dimensions: Dimensions) -> tuple[str, ...]:
        _check_product(dimensions)
        return combination_labels(dimensions)

    def check(self, parameters: Parameters) -> None:
        with at_fault("mechanism"):
            check_dimensions(parameters["dimensions"])
            _check_product(parameters["dimensions"])
            check_answering(parameters["mechanism"])

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> Answered:
        if categories != combinations_of(parameters["dimensions"]):
            raise InvalidManifest("categories", "must be all combinations of answers")
        return answering_mechanism(parameters["mechanism"], categories, epsilon, delta)

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        return answering_labels(parameters["mechanism"], categories)


def _check_product(dimensions: Dimensions) -> None:
    if combinations_of(dimensions) > MAX_CATEGORIES:
        raise InvalidManifest("dimensions", f"more than {MAX_CATEGORIES:,} combinations")


KIND: Final = _Kind()
