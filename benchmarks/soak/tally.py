"""What happened in a soak, counted, and which promises were broken."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What happened.

    Attributes:
        offered: reports in requests that were sent, of every kind, since the load began.
        statuses: of the answers; 0 for requests that got none.
        invalid: requests by what was wrong with them.
        refused: reports by code.
        retries: uploads that were sent again.
        kills: of processes, and restarts, by name.
        peaks: memory in KiB, of any process of each name.
        broken: promises, each in words.
    """

    offered: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    peaks: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
