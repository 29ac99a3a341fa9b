"""What each party could write down, and apart from it the truth that only the test knows."""

from dataclasses import dataclass, field

from deniable.oblivious_http import BinaryRequest
from deniable.oblivious_http.binary_http import BinaryResponse


@dataclass(frozen=True, slots=True)
class Entry:
    """One exchange as a party sees it."""

    at: float  # Unix seconds of the simulation
    peer: str  # the address that it comes from
    request: bytes = field(repr=False)  # as on the wire, heads included
    answer: bytes = field(repr=False)
    device: int  # the truth, which the party does not see
    opened: tuple[BinaryRequest, BinaryResponse] | None = None  # what was sealed in both

    @property
    def read(self) -> tuple[BinaryRequest, BinaryResponse]:
        """Return what the party can read of both; there must be something."""
        assert self.opened is not None
        return self.opened


Log = list[Entry]
"""A party's log, in the order in which things came."""
