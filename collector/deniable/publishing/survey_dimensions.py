"""Several questions of a survey file."""

from deniable.mechanisms import KINDS, InvalidParameter
from deniable.mechanisms.dimensions import (
    Dimensions,
    check_dimensions,
)
from deniable.messages import InvalidManifest


def read_dimensions(value: object) -> Dimensions:
    """Return the questions that a table of lists names, with their answers."""
    if not isinstance(value, dict) or not all(isinstance(row, list) for row in value.values()):
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
