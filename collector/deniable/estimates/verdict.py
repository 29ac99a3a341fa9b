"""A verdict: on which side of a limit a figure lies, as far as its interval tells."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from deniable.documents import Document, Fact, level_text

if TYPE_CHECKING:
    from deniable.estimates.estimate import Estimate

_A_YEAR: Final = 52
_OFTENER: Final = 3
"""By the exact law 2.63 times at 95 %, of 2 to 50 answers; at other levels it is less."""


class Side(StrEnum):
    """Sides of a limit on which a whole interval can lie."""

    ABOVE = "above"
    BELOW = "below"
    NEITHER = "neither"
    """The limit is in the interval, or some of the reports are fake: nobody can tell."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to whether a figure is beyond a limit.

    Attributes:
        estimate: the figure, with its interval.
        limit: a share is in [0, 1], as the estimate is.
        beyond: the side that was in question, above or below.
    """

    estimate: "Estimate"
    limit: float
    beyond: Side

    @property
    def side(self) -> Side:
        """Return on which side the whole interval lies."""
        if any(sample.fewest_fakes for sample in self.estimate.samples):
            return Side.NEITHER
        if self.estimate.low > self.limit:
            return Side.ABOVE
        return Side.BELOW if self.estimate.high < self.limit else Side.NEITHER

    @property
    def holds(self) -> bool | None:
        """Return whether the figure is beyond the limit; None if that cannot be told."""
        return None if self.side is Side.NEITHER else self.side is self.beyond

    @property
    def sentence(self) -> str:
        """Return the figure and the side in words, as they can be published."""
        if self.side is Side.NEITHER:
            return self.estimate.worded(f"it may be above or below {self._limit}")
        return self.estimate.worded(f"{self.side} {self._limit}")

    @property
    def note(self) -> str:
        """Return how often chance alone gives the alarm, for who asks again and again."""
        chance = (1 - self.estimate.level) / 2
        return (
            f"Where the truth is just {self._limit}, chance alone says {self.beyond} in up to "
            f"about {level_text(chance)} of looks: {_A_YEAR * chance:.2g} times a year, of one a "
            f"week; and up to {_OFTENER} times as often where reports are few, or the limit is "
            "near an end of what is possible. With a higher level it does so more rarely."
        )

    @property
    def _limit(self) -> str:
        # Not rounded as figures are: nobody measured it.
        if not self.estimate.unit.of_shares:
            return f"{self.limit:.12g}"
        percent = level_text(self.limit)
        if self.estimate.unit.value == "share":
            return percent
        return percent.replace(" %", " percentage points")

    def document(self) -> Document:
        """Return the verdict as a document."""
        from deniable.estimates.fields import estimate_map  # which is made of estimates

        return Document(
            facts=[
                Fact(key="reports", value=sum(sample.tally.n for sample in self.estimate.samples)),
                Fact(key="sentence", value=self.sentence),
                Fact(key="limit", value=self.limit),
                Fact(key="side", value=str(self.side)),
                Fact(key="holds", value=self.holds),
            ],
            notes=[self.note],
            cautions=self.estimate.cautions,
            sentence=self.sentence,
            values=estimate_map(self.estimate),
        )
