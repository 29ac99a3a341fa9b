"""The results of calls: frozen facts, none of which depends on the answer's value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from deniable.client.errors import NotRecorded


class OutcomeStatus(StrEnum):
    """The status of an outcome: what ``report()`` did."""

    RECORDED = "recorded"
    """A response was drawn, signed and stored; it will be sent."""
    REPEATED = "repeated"
    """This epoch was decided before; its one report stays, whatever the answer now."""
    NOT_RECORDED = "not-recorded"
    """Nothing was drawn; the error gives the reason."""


class Outcome(NamedTuple):
    """The outcome of one ``report()``."""

    survey: str
    status: OutcomeStatus
    epoch: int | None = None
    """Its epoch, if one was reached."""
    error: NotRecorded | None = None
    """Why nothing was recorded; ``strict=True`` raises it."""

    @property
    def ok(self) -> bool:
        """Return whether this epoch has a report."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class Refresh:
    """The result of one ``refresh()``.

    Attributes:
        ready: names of the surveys that ``report()`` would record now.
        errors: why reports to the others would not be recorded.
        declined: why, for surveys that are ready, a newer manifest was not accepted or not fetched:
            an app that is older than the survey continues with the one it has.
        later: seconds until the collector may be asked for surveys that were fetched within the
            day; ``force=True`` asks anyway. Not compared.
    """

    ready: tuple[str, ...]
    errors: Mapping[str, NotRecorded] = field(default_factory=dict)
    declined: Mapping[str, NotRecorded] = field(default_factory=dict)
    later: Mapping[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of one ``flush()``.

    Attributes:
        dropped: reports that the collector refused for good.
        pending: reports that still wait and may be sent; None if the state could not be read.
        error: why the state could not be used; the counts until then are valid.
    """

    delivered: int = 0
    dropped: int = 0
    pending: int | None = 0
    error: NotRecorded | None = None
