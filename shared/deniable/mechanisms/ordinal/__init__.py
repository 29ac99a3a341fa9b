"""Ordinal mechanisms: answers have distances, and near ones are confused more often than far ones.

The distances are those on a line, on a circle, or of a table.
"""

from typing import ClassVar, Final

from deniable.mechanisms.distance import (
    DistanceMechanism,
    calibrated_parameters,
    certified,
    fall,
)
from deniable.mechanisms.kind import InvalidParameter, Kind, Parameters, Settings, read_ratio
from deniable.mechanisms.ordinal.circular import Circular
from deniable.mechanisms.ordinal.line import Ordinal
from deniable.mechanisms.ordinal.metric import MAX_DISTANCE, MAX_METRIC, Metric

__all__ = ["KIND", "MAX_DISTANCE", "MAX_METRIC", "Circular", "Metric", "Ordinal"]

_EVEN: Final[dict[str, type[Ordinal | Circular]]] = {"absolute": Ordinal, "circular": Circular}
"""What needs no table of distances."""


class _Kind(Kind):
    name = "ordinal"
    summary = "whose near answers are confused more often than far ones"
    fields = ("distance", "ratio")
    keys: ClassVar = {
        "distance": 'of an ordinal survey: "absolute" on a line, "circular", or a table of whole '
        "numbers, a row a category",
    }
    likeness = "near answers more often than far ones"

    def ordered(self, parameters: Parameters) -> bool:
        return bool(parameters["distance"] == "absolute")

    def check(self, parameters: Parameters) -> None:
        _check_distance("mechanism", parameters["distance"])
        read_ratio(parameters["ratio"])

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        distance = self.setting(settings, "distance")
        _check_distance("distance", distance)
        if isinstance(distance, tuple) and len(distance) != categories:
            raise InvalidParameter("distance", "needs a row and a column for each category")

        def best() -> DistanceMechanism:
            if isinstance(distance, str):
                return _EVEN[distance].calibrated(categories, epsilon)
            return Metric.calibrated(distance, epsilon)

        try:
            return {"distance": distance, **calibrated_parameters(categories, best)}
        except InvalidParameter:
            raise
        except ValueError as error:
            raise InvalidParameter("distance", str(error)) from error

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> DistanceMechanism:
        self.check_pure(delta)
        distance, ratio = parameters["distance"], read_ratio(parameters["ratio"])
        if isinstance(distance, str):
            return certified(lambda: _EVEN[distance](categories, ratio), epsilon)
        if len(distance) != categories:
            raise InvalidParameter("mechanism", "its table of distances has a row a category")
        return certified(lambda: Metric(distance, ratio), epsilon)

    def described(self, parameters: Parameters) -> dict[str, str]:
        distance, ratio = parameters["distance"], read_ratio(parameters["ratio"])
        return {
            "distance": distance if isinstance(distance, str) else "table",
            "ratio": str(ratio),
        }

    def terms(self, parameters: Parameters, categories: int) -> str:
        distance = parameters["distance"]
        named = f"{distance} distance" if isinstance(distance, str) else "table of distances"
        return f"ordinal, {named}: {fall(parameters)}"


def _check_distance(name: str, distance: object) -> None:
    if isinstance(distance, str) and distance in _EVEN:
        return
    # Which integers make a table of distances, Metric checks.
    if type(distance) is tuple and all(
        type(row) is tuple and all(type(entry) is int for entry in row) for row in distance
    ):
        return
    raise InvalidParameter(
        name, 'is "absolute" on a line, "circular", or a table of whole numbers, a row a category'
    )


KIND: Final = _Kind()
