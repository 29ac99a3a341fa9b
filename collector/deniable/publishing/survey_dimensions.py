"""Several questions of a survey file, and the mechanism that answers each of them best."""

from typing import Any

from deniable.mechanisms import KINDS, InvalidParameter
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.dimensions import (
    Dimensions,
    check_dimensions,
    combinations_of,
    sizes_of,
)
from deniable.messages import FRESH, InvalidManifest, Repeat
from deniable.publishing.chosen_mechanism import AUTO, specified


def read_dimensions(value: object) -> Dimensions:
    """Return the questions that a table of lists names, with their answers."""
    if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        raise InvalidManifest(
            "dimensions",
            'are a table such as { plan = ["free", "paid"], theme = ["light", "dark"] }',
        )
    dimensions: Dimensions = tuple((name, *answers) for name, answers in value.items())
    try:
        check_dimensions(dimensions)
    except InvalidParameter as error:
        raise InvalidManifest(error.name, error.reason) from error
    return dimensions


def labels_of(kind: str, dimensions: Dimensions) -> tuple[str, ...]:
    """Return the categories of a survey of this kind."""
    try:
        return KINDS[kind].labels(dimensions)
    except InvalidParameter as error:
        raise InvalidManifest(error.name, error.reason) from error


def answered_best(
    kind: str, dimensions: Dimensions, epsilon: str, delta: str = "0", repeat: Repeat = FRESH
) -> dict[str, Any]:
    """Return the settings of a kind that is about several questions.

    What answers with the fewest users: each question, or all combinations at once.
    """

    def best(categories: int, questions: int = 1) -> Answering:
        chosen = specified(AUTO, categories, epsilon, delta, None, repeat, questions)
        return (chosen.kind, *chosen.parameters.values())

    if kind == "joint":
        return {"dimensions": dimensions, "mechanism": best(combinations_of(dimensions))}
    sizes = sizes_of(dimensions)
    each = {size: best(size, len(sizes)) for size in set(sizes)}
    return {"dimensions": dimensions, "mechanisms": tuple(each[size] for size in sizes)}
