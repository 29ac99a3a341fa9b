"""Repeating a survey: whether each epoch's response is drawn afresh, or kept for several epochs."""

from dataclasses import dataclass
from typing import Final, Literal

from deniable.messages import codec
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode
from deniable.messages.schedule import MAX_EPOCHS

MAX_MEMOISED_CATEGORIES: Final = 16
"""More, and responses that stay the same would be a name by which epochs can be linked again."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The relation between a device's responses of different epochs.

    They are independent, or memoised: the same answer is given the same kept response throughout a
    range of so many epochs, 2 to 10,000.
    """

    kind: Literal["fresh", "memoised"] = "fresh"
    epochs: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in {"fresh", "memoised"}:
            raise InvalidManifest("repeat", "is fresh or memoised")
        if (self.epochs is not None) != (self.kind == "memoised"):
            raise InvalidManifest("repeat", "names epochs if and only if it is memoised")
        if self.epochs is not None and not 2 <= self.epochs <= MAX_EPOCHS:
            raise InvalidManifest("repeat", f"of 2 to {MAX_EPOCHS:,} epochs is possible")

    def memo_range(self, epoch: int) -> range | None:
        """Return the epochs of the range that this epoch lies in; None where none is kept."""
        if self.epochs is None:
            return None
        first = epoch - epoch % self.epochs
        return range(first, first + self.epochs)

    def to_map(self) -> dict[str, object]:
        """Return the canonical map of the wire."""
        if self.epochs is None:
            return {"kind": self.kind}
        return {"kind": self.kind, "epochs": self.epochs}

    @classmethod
    def from_map(cls, value: object) -> "Repeat":
        """Read the map of the wire."""
        kind = value.get("kind") if type(value) is dict else None
        if kind == "fresh":
            codec.exact_map(value, ("kind",))
            return FRESH
        if kind == "memoised":
            fields = codec.exact_map(value, ("kind", "epochs"))
            return cls("memoised", codec.uint(fields["epochs"]))
        raise Refusal(RefusalCode.MALFORMED, "repeat is of no known kind")


FRESH: Final = Repeat()
"""A new response in each epoch."""
