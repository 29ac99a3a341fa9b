"""A survey as the app declares it: in code, before any answer exists (D1)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable.client.errors import UndeclaredAnswer
from deniable.mechanisms import Number, exact_delta, exact_epsilon
from deniable.messages import check_categories, check_name, check_text

__all__ = ["DAY", "Survey"]

DAY: Final = 86_400
"""Seconds in a day."""


@dataclass(frozen=True)
class Survey:
    """What the app is willing to ask, and at what privacy.

    The collector's manifest must match the question and the categories to the letter and stay
    within the ceilings, or nothing is reported.

    Attributes:
        name: the survey's lasting name.
        question: what the user is told is being asked.
        categories: every possible answer, in the manifest's order.
        max_epsilon: the highest epsilon of one report that the app accepts.
        max_delta: the highest delta, by default none.
        min_epoch_seconds: the shortest epoch that the app accepts, by default one day.

    Raises:
        InvalidManifest: for texts that no manifest could hold.
        TypeError, InvalidPrivacyParameter: for a ceiling that is a float or out of its domain.
    """

    name: str
    question: str
    categories: tuple[str, ...]
    max_epsilon: Number
    max_delta: Number = "0"
    min_epoch_seconds: int = DAY

    def __post_init__(self) -> None:
        given: object = self.categories
        if isinstance(given, str):
            raise TypeError("categories must be several texts, not one")
        object.__setattr__(self, "categories", tuple(self.categories))
        check_name(self.name)
        check_text("question", self.question, 1024)
        check_categories(self.categories)
        _ = self.epsilon_ceiling, self.delta_ceiling

    @property
    def epsilon_ceiling(self) -> Fraction:
        """Return ``max_epsilon``, exactly."""
        return exact_epsilon(self.max_epsilon)

    @property
    def delta_ceiling(self) -> Fraction:
        """Return ``max_delta``, exactly."""
        return exact_delta(self.max_delta)

    def index_of(self, answer: str) -> int:
        """Return the answer's index.

        Raises:
            UndeclaredAnswer: if it is not one of the categories. The message does not repeat it.
        """
        # Compared with every category, whichever matches: the time taken says nothing, and no
        # KeyError carries the answer along as its context.
        found = [index for index, category in enumerate(self.categories) if category == answer]
        if not found:
            raise UndeclaredAnswer(
                f"the answer to {self.name!r} is none of its {len(self.categories)} declared "
                "categories; map it to one before reporting"
            )
        return found[0]
