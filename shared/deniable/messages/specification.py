"""The mechanism in a manifest: its kind, and its parameters."""

from dataclasses import dataclass, field
from typing import Final

from deniable.mechanisms import KINDS, Parameters, SurveyMechanism
from deniable.mechanisms.kind import Kind, as_tuples
from deniable.messages import codec
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode


@dataclass(frozen=True, slots=True)
class Specification:
    """A mechanism as a manifest specifies it: a kind, and plain values that the kind expects."""

    kind: str = "randomised-response"
    parameters: Parameters = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidManifest("mechanism", "is of an unknown kind")
        if tuple(self.parameters) != self.of_kind.fields:
            fields = ", ".join(self.of_kind.fields) or "none"
            raise InvalidManifest("mechanism", f"kind {self.kind} must have the fields: {fields}")
        self.of_kind.check(self.parameters)

    @property
    def of_kind(self) -> Kind:
        """Return the mechanism's kind."""
        return KINDS[self.kind]

    def mechanism(self, categories: int, epsilon: str, delta: str) -> SurveyMechanism:
        """Return the matrix for this many categories, certified to be as private as stated."""
        return self.of_kind.mechanism(self.parameters, categories, epsilon, delta)

    def to_map(self) -> dict[str, object]:
        """Return the canonical map of the wire."""
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_map(cls, value: object) -> "Specification":
        """Read the map of the wire.

        Raises:
            Refusal: malformed, also for an unknown kind, since it cannot be certified (D2).
            InvalidManifest: if its parts do not fit together.
        """
        kind = value.get("kind") if type(value) is dict else None
        if type(kind) is not str or kind not in KINDS:
            raise Refusal(RefusalCode.MALFORMED, "the mechanism is of an unknown kind")
        fields = codec.exact_map(value, ("kind", *KINDS[kind].fields))
        return cls(kind, {name: as_tuples(fields[name]) for name in KINDS[kind].fields})


RANDOMISED_RESPONSE: Final = Specification()
"""The default mechanism of a survey."""
