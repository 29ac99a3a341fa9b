"""A survey as the app declares it: in code, before any answer exists (D1)."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, EnumType
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    SupportsFloat,
    SupportsIndex,
    TypedDict,
    TypeVar,
    Unpack,
    dataclass_transform,
)

from deniable.budget import epsilon_to_nano
from deniable.client.errors import UndeclaredAnswer
from deniable.mechanisms import KINDS, Number, exact_delta, exact_epsilon
from deniable.mechanisms.answering import (
    Dimensions,
    answer_labels,
    check_dimensions,
    combined,
    sizes_of,
    text_index,
)
from deniable.messages import InvalidManifest
from deniable.messages.manifest import check_name
from deniable.messages.texts import (
    alphabet_signs,
    check_categories,
    check_labels,
    check_text,
    exact_value,
    number_value,
    read_values,
    text_signs,
    value_range,
    value_text,
)

if TYPE_CHECKING:
    from deniable.messages.bundle import Bundle

_T = TypeVar("_T")

_ID: Final = re.compile("[0-9a-f]{64}", re.ASCII)

_OneAnswer = str | Enum | SupportsIndex | SupportsFloat
Answer = _OneAnswer | Mapping[str, _OneAnswer]
"""What an app reports: a category's text; a number of any type that equals a numeric category; or a
member of an Enum whose value is either. For several questions, a mapping with the answer to each.
"""

DAY: Final = 86_400
"""Seconds in a day."""
LONGEST_PERIOD: Final = 400
"""The longest period of a sliding ceiling, in days of use."""


class OtherCeilings(TypedDict, total=False):
    """The ceilings that an app sets in addition to a report's epsilon: keywords of ``Survey``."""

    max_delta: Number
    min_epoch_seconds: int
    max_total_epsilon: Number | None
    pinned_ids: Collection[str] | None
    max_kept_epsilon: Number | None
    max_epoch_seconds: int
    max_grace_seconds: int
    max_kept_epochs: int
    enrolment: Literal["blind"] | None


class Ceilings(OtherCeilings, total=False):
    """The keywords of ``Survey`` that an app may set in addition to a bundle: what it accepts."""

    max_epsilon: Number


if TYPE_CHECKING:

    class _Categories:
        """A field that holds a tuple, and accepts any sequence or an Enum class."""

        def __get__(self, survey: object, owner: object) -> tuple[str, ...]: ...
        def __set__(self, survey: object, given: Sequence[str] | type[Enum]) -> None: ...

else:
    _Categories = tuple[str, ...]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _declaration(cls: type[_T]) -> type[_T]:
    # With a plain dataclass, mypy would require the field's type as the argument's type.
    return dataclass(frozen=True)(cls)


@_declaration
class Survey:
    """A question that the app is willing to ask, and the privacy that it requires.

    Nothing is reported unless the collector's manifest matches the question and the categories
    exactly and stays within the ceilings.

    Attributes:
        question: the question as the user sees it.
        categories: every possible answer, in the manifest's order: a sequence of texts, or an Enum
            class whose members' values are texts; kept as a tuple of texts.
        max_epsilon: the highest epsilon of one report that the app accepts.
        max_total_epsilon: the most that all epochs of all manifests with this name may cost
            together; by default only the client's lifetime_epsilon limits it.
        max_kept_epsilon: the highest epsilon of a response that the device keeps and repeats for
            several epochs. By default it keeps none: manifests of memoised and two-round surveys
            are refused, since kept responses link epochs and can show that an answer changed.
        pinned_ids: ids of the only manifests that the app accepts, 64 hex digits each, as
            ``deniable survey publish`` shows them: not even the holder of the authority's key can
            then show a user a different one. By default any manifest that the authority signs.
        mechanisms: kinds that the app accepts although they do not treat all pairs of answers
            alike: "mean", "levels", "one-question", "matrix". At the same epsilon, these reveal
            more about which of two distant answers is true.
        max_epoch_seconds: the longest epoch that the app accepts, by default 400 days: an epoch
            that was decided blocks every other manifest with the name until it is over.
        max_grace_seconds: how long after an epoch, at most, the collector may accept its reports
            and the device keep them; by default 90 days.
        enrolment: "blind" if the app accepts only surveys with blind enrolment, where the issuer
            that vouches for a device never sees the key of its report: no manifest can then go back
            to certificates, which the issuer would see. By default any mode is accepted.
        dimensions: for several questions, a tuple of each question's name and answers; see
            ``Survey.several``, which creates the categories from them.
        texts: whether the answer is any text, and the categories are the characters of its
            alphabet; see ``Survey.strings``.
        bundle: the bundle that ``Survey.bundled`` read, whose manifests the client uses; None for a
            survey that was declared in code. ``dataclasses.replace(survey, bundle=None)`` is the
            same survey for a different collector, such as a test's.

    Raises:
        InvalidManifest: for texts, ids or kinds that no manifest may have.
        TypeError: for categories that are not texts or have no order.
        TypeError, InvalidPrivacyParameter: for a ceiling that is a float or out of its domain.
    """

    name: str
    question: str
    categories: _Categories
    max_epsilon: Number
    max_delta: Number = "0"
    min_epoch_seconds: int = DAY
    max_total_epsilon: Number | None = None
    pinned_ids: Collection[str] | None = None
    max_kept_epsilon: Number | None = None
    mechanisms: Collection[str] = field(default=(), kw_only=True)
    max_epoch_seconds: int = field(default=400 * DAY, kw_only=True)
    max_grace_seconds: int = field(default=90 * DAY, kw_only=True)
    max_kept_epochs: int = field(default=53, kw_only=True)
    dimensions: Dimensions = field(default=(), kw_only=True)
    texts: bool = field(default=False, kw_only=True)
    enrolment: Literal["blind"] | None = field(default=None, kw_only=True)
    bundle: "Bundle | None" = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", _texts(self.categories))
        check_name(self.name)
        check_text("question", self.question, 1024)
        check_categories(self.categories)
        if self.dimensions:
            check_labels("dimensions", tuple(name for name, *_ in self.dimensions))
            if self.categories != answer_labels(self.dimensions):
                raise InvalidManifest("categories", "follow from several questions")
        _ = self.epsilon_ceiling, self.delta_ceiling, self.total_ceiling, self.kept_ceiling
        if self.pinned_ids is not None:
            object.__setattr__(self, "pinned_ids", _checked_ids(self.pinned_ids))
        object.__setattr__(self, "mechanisms", _checked_kinds(self.mechanisms))
        if self.enrolment not in {None, "blind"}:
            raise InvalidManifest("enrolment", 'must be "blind", or None for any mode')
        seconds = self.min_epoch_seconds, self.max_epoch_seconds, self.max_grace_seconds
        if not all(type(bound) is int for bound in (*seconds, self.max_kept_epochs)):
            raise TypeError("bounds in seconds and epochs must be ints")

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
        mechanisms: Collection[str] = ("mean",),
        **ceilings: Unpack[OtherCeilings],
    ) -> "Survey":
        """Declare a survey whose answers are the numbers low, low + step, … high.

        The numbers are exact: ints, Decimals or strings such as "-0.5"; there may be up to 4,096.
        The mechanism "mean" estimates their mean, "levels" their distribution. The ceilings are
        those of ``Survey``.

        Raises:
            InvalidManifest: for texts or a range that no manifest may have.
            TypeError, InvalidPrivacyParameter: for a float, or a ceiling out of its domain.
        """
        values = value_range(
            exact_value("low", low), exact_value("high", high), exact_value("step", step)
        )
        _check_names(ceilings, "{} cannot be set for a numeric survey")
        return cls(name, question, values, max_epsilon, mechanisms=mechanisms, **ceilings)

    @classmethod
    def several(
        cls,
        name: str,
        question: str,
        *,
        dimensions: Mapping[str, Sequence[str] | type[Enum]],
        max_epsilon: Number,
        mechanisms: Collection[str] = ("one-question",),
        **ceilings: Unpack[OtherCeilings],
    ) -> "Survey":
        """Declare a survey of several questions, by their names with every possible answer to each.

        Report a mapping with the answer to each question: ``{"plan": "free", "theme": "dark"}``.
        The manifest states whether the device answers all questions or draws one; it answers all
        unless "one-question" is among the mechanisms.

        Raises:
            InvalidManifest: for questions or answers that no manifest may have.
            TypeError, InvalidPrivacyParameter: for an invalid ceiling, or non-text answers.
        """
        rows = tuple((label, *_texts(answers)) for label, answers in dimensions.items())
        check_dimensions(rows)
        _check_names(ceilings, "{} cannot be set for several questions")
        labels = answer_labels(rows)
        return cls(
            name, question, labels, max_epsilon, dimensions=rows, mechanisms=mechanisms, **ceilings
        )

    @classmethod
    def strings(
        cls,
        name: str,
        question: str,
        *,
        max_epsilon: Number,
        alphabet: str | Sequence[str] = "a-z0-9-",
        mechanisms: Collection[str] = ("strings",),
        **ceilings: Unpack[OtherCeilings],
    ) -> "Survey":
        """Declare a survey whose answer is any text: "Which search engine?", without a list.

        A text is folded to lower case and cut; spaces become one ␣ each, and all characters outside
        the alphabet the same one. So any text is taken: whether to report never depends on it. The
        alphabet is characters and ranges, or "text", with spaces and punctuation.
        """
        signs = alphabet_signs(alphabet) if isinstance(alphabet, str) else tuple(alphabet)
        _check_names(ceilings, "{} cannot be set for texts")
        return cls(
            name, question, signs, max_epsilon, texts=True, mechanisms=mechanisms, **ceilings
        )

    @classmethod
    def bundled(cls, file: bytes | str | PathLike[str], **ceilings: Unpack[Ceilings]) -> "Survey":
        """Declare the survey in a file that ``deniable survey export`` wrote, or in its bytes.

        The bundle has the signed manifests, so nothing is fetched before the first report. Set
        ceilings if the app accepts ceilings other than those in the file.

        Raises:
            InvalidBundle: a ValueError, for a bundle that its authority did not sign.
            OSError: if the file cannot be read.
            TypeError, InvalidPrivacyParameter: for an invalid ceiling.
        """
        from deniable.messages.bundle import read_bundle

        _check_names(ceilings, "the bundle already declares the survey, so {} cannot be set")
        bundle = read_bundle(file if isinstance(file, bytes) else Path(file).read_bytes())
        return replace(cls.declared({**bundle.declaration, **ceilings}), bundle=bundle)

    @classmethod
    def declared(cls, declaration: Mapping[str, Any]) -> "Survey":
        """Return the survey of a bundle's declaration."""
        if "low" in declaration:
            return cls.numeric(**declaration)
        if "alphabet" in declaration:
            return cls.strings(**declaration)
        return cls.several(**declaration) if "dimensions" in declaration else cls(**declaration)

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

    @cached_property
    def total_ceiling(self) -> int | None:
        """Return ``max_total_epsilon`` in units of 1e-9 epsilon; None if the survey has none."""
        if self.max_total_epsilon is None:
            return None
        return epsilon_to_nano("max_total_epsilon", self.max_total_epsilon)

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of the declaration, the same in every process: 64 hex digits."""
        return sha256(repr(self).encode()).hexdigest()

    def nearest(self, value: SupportsIndex | SupportsFloat) -> str:
        """Return the category of a numeric survey that is nearest to a number; of two, the upper.

        A number outside the range becomes its nearest end. NaN is an ``UndeclaredAnswer``.
        """
        values = self._values
        exact = number_value(value)
        if exact is None:
            raise UndeclaredAnswer(f"the answer to {self.name!r} is not a number")
        steps = (exact - values[0]) / (values[1] - values[0])
        return self.categories[min(max(math.floor(steps + Fraction(1, 2)), 0), len(values) - 1)]

    @cached_property
    def _values(self) -> tuple[Fraction, ...]:
        return read_values(self.categories)

    def index_of(self, answer: Answer) -> int:
        """Return the answer's index, or raise ``UndeclaredAnswer``, which does not repeat it.

        For several questions, it is the index of the combination of answers.
        """
        if self.dimensions:
            return self._combination(answer)
        if self.texts:
            return text_index(self._signs(answer), len(self.categories))
        if places := _places(answer, self.categories):
            return places[0]
        raise UndeclaredAnswer(
            f"the answer to {self.name!r} is not one of its {len(self.categories)} declared "
            "categories; map it to one of them before reporting"
            + (" (a number by Survey.nearest)" if "mean" in self.mechanisms else "")
        )

    def _signs(self, answer: Answer) -> list[int]:
        text = answer.value if isinstance(answer, Enum) else answer
        if not isinstance(text, str):
            raise UndeclaredAnswer(f"the answer to {self.name!r} is not a text")
        return text_signs(text, "".join(self.categories))

    def _combination(self, answer: Answer) -> int:
        names = [name for name, *_ in self.dimensions]
        given = dict(answer) if isinstance(answer, Mapping) else {}
        places = [_places(given.get(name), answers) for name, *answers in self.dimensions]
        if len(given) != len(names) or not all(places):
            raise UndeclaredAnswer(
                f"the answer to {self.name!r} must map each of its {len(names)} questions, and no "
                f"others, to one of that question's declared answers: {', '.join(names)}"
            )
        return combined((place for place, *_ in places), sizes_of(self.dimensions))


def _check_names(ceilings: Mapping[str, object], reason: str) -> None:
    if unknown := ceilings.keys() - Ceilings.__optional_keys__:
        raise TypeError(reason.format(sorted(unknown)))


def _places(answer: object, categories: Sequence[str]) -> list[int]:
    """Return the positions of an answer, or of an Enum member's value."""
    value = answer.value if isinstance(answer, Enum) else answer
    text = value if isinstance(value, str) else value_text(value)
    # Compared with every category, whichever matches: the time taken reveals nothing, and no
    # KeyError has the answer in its context.
    return [index for index, category in enumerate(categories) if category == text]


def _texts(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | EnumType):
        raise TypeError("categories must be a sequence of texts, or an Enum class")
    values = [category.value if isinstance(category, Enum) else category for category in given]
    if not all(isinstance(value, str) for value in values):
        raise TypeError("categories must be texts; use Survey.numeric for numbers")
    return tuple(values)


def _checked_ids(given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError("pinned_ids must be a sequence of ids, not a single id")
    ids = frozenset(given) if isinstance(given, Collection) else frozenset()
    if not ids or not all(
        isinstance(survey_id, str) and _ID.fullmatch(survey_id) for survey_id in ids
    ):
        raise InvalidManifest("pinned_ids", "must be survey ids, each of 64 lower-case hex digits")
    return tuple(sorted(ids))


def _checked_kinds(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise TypeError("mechanisms must be a collection of kinds")
    kinds = frozenset(given)
    if not kinds <= KINDS.keys():
        raise InvalidManifest("mechanisms", f"may hold {', '.join(sorted(KINDS))}")
    return tuple(sorted(kinds))
