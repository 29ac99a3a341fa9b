"""Which mechanism a manifest asks for: its kind, and the exact integers from which it follows.

Device and collector derive the same matrix from it by the fixed rules of ``deniable.mechanisms``.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Final, Literal

from deniable.mechanisms import (
    MAX_DENSE,
    MAX_DISTANCE,
    MAX_METRIC,
    RATIO_LIMIT,
    Circular,
    ClampedGeometric,
    DistanceMechanism,
    GridTooCoarse,
    InvalidPrivacyParameter,
    Metric,
    Ordinal,
    RandomisedResponse,
    SurveyMechanism,
    TwoRound,
    exact_epsilon,
)
from deniable.messages import codec
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode

__all__ = ["RANDOMISED_RESPONSE", "Distance", "Kind", "Specification"]

Kind = Literal["randomised-response", "two-round", "ordinal", "numeric"]
Distance = Literal["absolute", "circular"] | tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Specification:
    """A mechanism as a manifest names it.

    Attributes:
        kind: ``randomised-response``; ``two-round``, of which the first round's response is kept;
            ``ordinal``, whose categories have distances; or ``numeric``, whose categories are
            values at equal steps.
        distance: of ordinal categories: ``absolute`` on a line, ``circular``, or a table.
        ratio: of ordinal and numeric ones, by which probabilities fall off a unit of distance.
        kept: of two rounds, epsilon of the kept response, a decimal string.

    Raises:
        InvalidManifest: unless kind, distance, ratio and kept go together.
    """

    kind: Kind = "randomised-response"
    distance: Distance | None = None
    ratio: Fraction | None = None
    kept: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in {"randomised-response", "two-round", "ordinal", "numeric"}:
            raise InvalidManifest("mechanism", "is of no known kind")
        if (self.distance is not None) != (self.kind == "ordinal"):
            raise InvalidManifest("mechanism", "names a distance if and only if it is ordinal")
        if isinstance(self.distance, str) and self.distance not in {"absolute", "circular"}:
            raise InvalidManifest("mechanism", "distance is absolute, circular or a table")
        if (self.ratio is not None) != (self.kind in {"ordinal", "numeric"}):
            raise InvalidManifest(
                "mechanism", "has a ratio if and only if it is ordinal or numeric"
            )
        if (self.kept is not None) != (self.kind == "two-round"):
            raise InvalidManifest("mechanism", "has a kept epsilon if and only if it is two-round")
        if self.kept is not None:
            try:
                exact_epsilon(self.kept)
            except InvalidPrivacyParameter as error:
                raise InvalidManifest("mechanism", f"of what is kept, {error}") from error

    @classmethod
    def calibrated(
        cls,
        kind: Kind,
        distance: Distance | None,
        categories: int,
        epsilon: str,
        kept_epsilon: str | None = None,
    ) -> "Specification":
        """Return the mechanism that lies least with a tight epsilon not above the one asked for.

        ``distance`` is of ordinal kinds, ``kept_epsilon`` of two rounds.

        Raises:
            InvalidManifest: naming the field of a survey file that is at fault.
        """
        if kind == "randomised-response":
            return RANDOMISED_RESPONSE
        if kind == "two-round":
            try:
                return cls(kind, kept=kept_epsilon)
            except InvalidManifest as error:
                raise InvalidManifest("kept_epsilon", error.reason) from error
        if not 2 <= categories <= MAX_DENSE:
            raise InvalidManifest(
                "categories", f"of an ordinal or numeric survey are 2 to {MAX_DENSE:,}"
            )
        even = _EVENLY_SPACED.get((kind, distance))
        if even is None and len(distance or ()) != categories:
            raise InvalidManifest("distance", "needs a row and a column for each category")
        try:
            if even is not None:
                ratio = even.calibrated(categories, epsilon).ratio
            else:
                assert isinstance(distance, tuple)
                ratio = Metric.calibrated(distance, epsilon).ratio
        except (InvalidPrivacyParameter, GridTooCoarse) as error:
            raise InvalidManifest("epsilon", str(error)) from error
        except ValueError as error:
            raise InvalidManifest("distance", str(error)) from error
        return cls(kind, distance, ratio)

    def mechanism(self, categories: int, epsilon: str, delta: str) -> SurveyMechanism:
        """Return the matrix for so many categories, certified to be as private as is stated.

        Raises:
            InvalidManifest: if there is none, or its integers exceed epsilon and delta.
        """
        if self.kind != "randomised-response" and delta != "0":
            raise InvalidManifest("delta", f'must be "0": a mechanism of kind {self.kind} is pure')
        if self.ratio is None:
            try:
                if self.kept is not None:
                    return TwoRound(categories, epsilon, self.kept)
                return RandomisedResponse(categories, epsilon, delta)
            except ValueError as error:
                raise InvalidManifest("epsilon", str(error)) from error
        found = self.distance_mechanism(categories)
        if not found.privacy.satisfies(epsilon, delta):
            raise InvalidManifest("mechanism", "its probabilities exceed the stated epsilon")
        return found

    def distance_mechanism(self, categories: int) -> DistanceMechanism:
        """Return the matrix of an ordinal or numeric kind, whatever it guarantees.

        Raises:
            InvalidManifest: if there is none for so many categories.
        """
        assert self.ratio is not None
        try:
            even = _EVENLY_SPACED.get((self.kind, self.distance))
            if even is not None:
                return even(categories, self.ratio)
            assert isinstance(self.distance, tuple)
            if len(self.distance) != categories:
                raise InvalidManifest("mechanism", "its table of distances has a row a category")
            return Metric(self.distance, self.ratio)
        except ValueError as error:
            if isinstance(error, InvalidManifest):
                raise
            raise InvalidManifest("mechanism", str(error)) from error

    def to_map(self) -> dict[str, object]:
        """Return the canonical map of the wire."""
        fields: dict[str, object] = {"kind": self.kind}
        if isinstance(self.distance, tuple):
            fields["distance"] = [list(row) for row in self.distance]
        elif self.distance is not None:
            fields["distance"] = self.distance
        if self.ratio is not None:
            fields["ratio"] = [self.ratio.numerator, self.ratio.denominator]
        if self.kept is not None:
            fields["kept"] = self.kept
        return fields

    @classmethod
    def from_map(cls, value: object) -> "Specification":
        """Read the map of the wire.

        Raises:
            Refusal: malformed; an unknown kind too, since it cannot be certified (D2).
            InvalidManifest: if its parts do not go together.
        """
        kind = value.get("kind") if type(value) is dict else None
        if kind == "randomised-response":
            codec.exact_map(value, ("kind",))
            return RANDOMISED_RESPONSE
        if kind == "two-round":
            fields = codec.exact_map(value, ("kind", "kept"))
            return cls("two-round", kept=codec.text(fields["kept"]))
        if kind == "numeric":
            fields = codec.exact_map(value, ("kind", "ratio"))
            return cls("numeric", ratio=_read_ratio(fields["ratio"]))
        if kind == "ordinal":
            fields = codec.exact_map(value, ("kind", "distance", "ratio"))
            return cls("ordinal", _read_distance(fields["distance"]), _read_ratio(fields["ratio"]))
        raise Refusal(RefusalCode.MALFORMED, "a mechanism of no known kind")


RANDOMISED_RESPONSE: Final = Specification()

_EVENLY_SPACED: Final[
    dict[tuple[Kind, Distance | None], type[ClampedGeometric | Ordinal | Circular]]
] = {
    ("numeric", None): ClampedGeometric,
    ("ordinal", "absolute"): Ordinal,
    ("ordinal", "circular"): Circular,
}
"""What needs no table of distances; any other ordinal mechanism does."""


def _read_ratio(value: object) -> Fraction:
    numerator, denominator = (
        codec.uint(part, RATIO_LIMIT - 1) for part in codec.exact_array(value, 2)
    )
    if not 0 < numerator < denominator or gcd(numerator, denominator) != 1:
        raise Refusal(RefusalCode.MALFORMED, "a ratio in (0, 1) in lowest terms is expected")
    return Fraction(numerator, denominator)


def _read_distance(value: object) -> Distance:
    if value in ("absolute", "circular"):
        return value
    if type(value) is not list or not 2 <= len(value) <= MAX_METRIC:
        raise Refusal(RefusalCode.MALFORMED, "absolute, circular or a table is expected")
    return tuple(
        tuple(codec.uint(distance, MAX_DISTANCE) for distance in codec.exact_array(row, len(value)))
        for row in value
    )
