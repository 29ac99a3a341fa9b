"""A survey as the app declares it: in code, before any answer exists (D1)."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final

from deniable.budget import Ceiling, epsilon_to_nano
from deniable.client.errors import UndeclaredAnswer
from deniable.mechanisms import Number, exact_delta, exact_epsilon
from deniable.messages import (
    InvalidManifest,
    check_categories,
    check_name,
    check_text,
    exact_value,
    format_value,
    read_values,
    value_range,
)

__all__ = ["DAY", "Answer", "Survey"]

_ID: Final = re.compile("[0-9a-f]{64}", re.ASCII)
_BEYOND: Final = 10**30
_BEYOND_PLACES: Final = 30

Answer = str | int | Decimal
"""What an app reports: a category's text, or the number that a numeric category is."""

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
        max_total_epsilon: what all epochs of all manifests of this name may cost together; by
            default only the client's lifetime_epsilon bounds it.
        max_kept_epsilon: the highest epsilon of a response that the device keeps and repeats for
            several epochs. By default it keeps none: manifests of memoised and two-round surveys
            are refused, since kept responses link epochs and can show that an answer changed.
        pinned_ids: ids of the only manifests that the app accepts, 64 hex digits each, as
            ``deniable survey publish`` shows them: whoever holds the authority's key can then show
            no user another. By default any manifest that the authority signs.

    Raises:
        InvalidManifest: for texts, or ids, that no manifest could have.
        TypeError, InvalidPrivacyParameter: for a ceiling that is a float or out of its domain.
    """

    name: str
    question: str
    categories: tuple[str, ...]
    max_epsilon: Number
    max_delta: Number = "0"
    min_epoch_seconds: int = DAY
    max_total_epsilon: Number | None = None
    pinned_ids: Collection[str] | None = None
    max_kept_epsilon: Number | None = None

    def __post_init__(self) -> None:
        given: object = self.categories
        if isinstance(given, str):
            raise TypeError("categories must be several texts, not one")
        object.__setattr__(self, "categories", tuple(self.categories))
        each: tuple[object, ...] = self.categories
        if not all(isinstance(category, str) for category in each):
            raise TypeError("categories must be texts; numbers are declared by Survey.numeric")
        check_name(self.name)
        check_text("question", self.question, 1024)
        check_categories(self.categories)
        _ = self.epsilon_ceiling, self.delta_ceiling, self.total_ceiling, self.kept_ceiling
        if self.pinned_ids is not None:
            object.__setattr__(self, "pinned_ids", _checked_ids(self.pinned_ids))

    @classmethod
    def numeric(
        cls,
        name: str,
        question: str,
        *,
        low: Number,
        high: Number,
        max_epsilon: Number,
        step: Number = 1,
        max_delta: Number = "0",
        min_epoch_seconds: int = DAY,
        max_total_epsilon: Number | None = None,
        pinned_ids: Collection[str] | None = None,
        max_kept_epsilon: Number | None = None,
    ) -> "Survey":
        """Declare a survey whose answers are the numbers low, low + step, … high.

        Args:
            name: the survey's lasting name.
            question: what the user is told is being asked.
            low: the least value, exact: an int, a Decimal or a string such as "-0.5".
            high: the greatest value.
            step: between two values, of which there are at most 4,096.
            max_epsilon: the highest epsilon of one report that the app accepts, over the range.
            max_delta: the highest delta, by default none.
            min_epoch_seconds: the shortest epoch that the app accepts, by default one day.
            max_total_epsilon: what all epochs together may cost, by default whatever the client's
                lifetime_epsilon allows.
            pinned_ids: ids of the only manifests that the app accepts, by default any.
            max_kept_epsilon: the highest epsilon of a response that is kept for several epochs; by
                default none is kept.

        Raises:
            InvalidManifest: for texts, or a range, that no manifest could hold.
            TypeError, InvalidPrivacyParameter: for a float, or a ceiling out of its domain.
        """
        values = value_range(
            exact_value("low", low), exact_value("high", high), exact_value("step", step)
        )
        return cls(
            name,
            question,
            values,
            max_epsilon,
            max_delta,
            min_epoch_seconds,
            max_total_epsilon,
            pinned_ids,
            max_kept_epsilon,
        )

    @property
    def epsilon_ceiling(self) -> Fraction:
        """Return ``max_epsilon``, exactly."""
        return exact_epsilon(self.max_epsilon)

    @property
    def delta_ceiling(self) -> Fraction:
        """Return ``max_delta``, exactly."""
        return exact_delta(self.max_delta)

    @property
    def kept_ceiling(self) -> Fraction | None:
        """Return ``max_kept_epsilon``, exactly; None if no response may be kept."""
        return None if self.max_kept_epsilon is None else exact_epsilon(self.max_kept_epsilon)

    @property
    def total_ceiling(self) -> Ceiling | None:
        """Return ``max_total_epsilon`` as a ceiling, None if there is none of the survey's own."""
        if self.max_total_epsilon is None:
            return None
        return Ceiling(epsilon_to_nano("max_total_epsilon", self.max_total_epsilon))

    def nearest(self, value: float | Decimal | Fraction) -> str:
        """Return the category nearest to a number, the upper of two; of a numeric survey only.

        What lies outside the range becomes its nearest end.

        Raises:
            InvalidManifest: if the categories are not numbers at equal steps.
            UndeclaredAnswer: if the value is not a number.
            TypeError: for anything but a float, int, Decimal or Fraction.
        """
        values = self._values
        exact = _exact(value)
        if exact is None:
            raise UndeclaredAnswer(f"the answer to {self.name!r} is not a number")
        steps = (exact - values[0]) / (values[1] - values[0])
        return self.categories[min(max(math.floor(steps + Fraction(1, 2)), 0), len(values) - 1)]

    @cached_property
    def _values(self) -> tuple[Fraction, ...]:
        return read_values(self.categories)

    def index_of(self, answer: Answer) -> int:
        """Return the answer's index.

        Raises:
            UndeclaredAnswer: if it is not one of the categories. The message does not repeat it.
        """
        text = answer if isinstance(answer, str) else _number_text(answer)
        # Compared with every category, whichever matches: the time taken says nothing, and no
        # KeyError carries the answer along as its context.
        found = [index for index, category in enumerate(self.categories) if category == text]
        if not found:
            raise UndeclaredAnswer(
                f"the answer to {self.name!r} is none of its {len(self.categories)} declared "
                "categories; map it to one before reporting (a number by Survey.nearest)"
            )
        return found[0]


def _checked_ids(given: object) -> frozenset[str]:
    if isinstance(given, str):
        raise TypeError("pinned_ids must be several ids, not one text")
    ids = frozenset(given) if isinstance(given, Collection) else frozenset()
    if not ids or not all(isinstance(each, str) and _ID.fullmatch(each) for each in ids):
        raise InvalidManifest("pinned_ids", "must be survey ids of 64 lower-case hex digits each")
    return ids


def _number_text(answer: object) -> str | None:
    """Return a number as the category that it would be, or None if it can be none."""
    if isinstance(answer, bool) or not isinstance(answer, int | Decimal):
        return None
    if isinstance(answer, Decimal) and answer.is_finite() and answer and _vanishes(answer):
        return None
    exact = _exact(answer)
    try:
        return None if exact is None else format_value(exact)
    except InvalidManifest:
        return None


def _exact(value: float | Decimal | Fraction) -> Fraction | None:
    """Return a number exactly, or as near as its nearest value could depend on; None for NaN."""
    if isinstance(value, bool) or not isinstance(value, float | int | Decimal | Fraction):
        raise TypeError("a number is expected: a float, int, Decimal or Fraction")
    if not isinstance(value, float | Decimal):
        return Fraction(value)
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return None
    # No value has more than 15 digits before or 6 after the point, and Decimal("1e-999999999")
    # would fill the memory.
    if value > _BEYOND:
        return Fraction(_BEYOND)
    if value < -_BEYOND:
        return Fraction(-_BEYOND)
    return Fraction(0) if isinstance(value, Decimal) and _vanishes(value) else Fraction(value)


def _vanishes(value: Decimal) -> bool:
    return not value or value.adjusted() < -_BEYOND_PLACES
