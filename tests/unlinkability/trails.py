"""What is to be matched: the trails of devices in two views of an epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf


@dataclass(frozen=True)
class Trail:
    """What a view holds of one device in one epoch."""

    device: int  # the truth: no trait looks at it
    at: float  # Unix seconds
    content: bytes = field(repr=False)  # all that passed
    sizes: tuple[int, int]  # of request and answer, in bytes
    peer: str = ""  # the address that it came from
    report_key: bytes = b""
    key: int = 0  # a byte that names the issuer's key
    fetched: float = inf  # when the nearest fetch of a manifest came
    moments: tuple[float, ...] = ()  # all times at which the view knows that it was this one
    ends: float = inf  # when the epoch does
    after: float = inf  # when this account asks for the next epoch's token


@dataclass(frozen=True)
class Pairing:
    """The trails of two views in one epoch."""

    left: Sequence[Trail]
    right: Sequence[Trail]

    @cached_property
    def rows(self) -> list[int]:
        """Return the places on the left that have a partner."""
        devices = {trail.device for trail in self.right}
        return [row for row, trail in enumerate(self.left) if trail.device in devices]

    @cached_property
    def truth(self) -> list[int]:
        """Return the partner's place on the right for each of these."""
        places = {trail.device: place for place, trail in enumerate(self.right)}
        return [places[self.left[row].device] for row in self.rows]
