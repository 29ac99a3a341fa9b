"""A kind of mechanism: all that it says about itself, so that nobody else needs to know the kinds.

A manifest carries a kind's name and its parameters, plain values from which device and collector
derive the same matrix by fixed integer rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import gcd
from typing import Any, ClassVar, Final, Protocol

from deniable.mechanisms.mechanism import SurveyMechanism

Parameters = Mapping[str, Any]
"""By the name of the manifest's field: texts, integers, or tuples (of tuples) of these."""

Settings = Mapping[str, Any]
"""By the key of a survey file: what an operator wrote, lists as tuples."""

RATIO_LIMIT: Final = 1 << 63
"""Numerator and denominator of a ratio are below this, as every integer of the protocol is."""


class InvalidParameter(ValueError):
    """Parameters that make no mechanism of the kind: the field or key at fault, and the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


@contextmanager
def at_fault(
    name: str, errors: type[Exception] | tuple[type[Exception], ...] = ValueError
) -> Iterator[None]:
    """Blame errors that are raised within on a field or key."""
    try:
        yield
    except errors as error:
        reason = error.reason if isinstance(error, InvalidParameter) else str(error)
        raise InvalidParameter(name, reason) from error


class Kind(Protocol):
    """A kind of mechanism. Every module of :data:`deniable.mechanisms.KINDS` has one as ``KIND``.

    Attributes:
        name: on the wire, and in survey files.
        summary: what it is, behind its name in the help for survey files.
        fields: names of its parameters in a manifest, in their order.
        keys: keys of a survey file that belong to it, with their help.
        symmetric: whether it treats any two answers to a question alike, so that
            :attr:`Privacy.apart` tells how their rows differ; only then do apps accept it
            undeclared.
        first_round_kept: whether each response adds fresh noise to one that the device keeps; then
            surveys of it are memoised.
        numeric: whether its categories are numbers at equal steps; None if they are where they are
            written as such.
        several: whether it is about several questions, each with its own answers.
        answers: whether each response is one of the answers, the categories, in every survey.
        likeness: which of the other responses are sent how often, for people; ends "Your true
            answer is sent …, else one of the others, …", which is said if these are the categories.
        sent: what a response stands for, where that is more than one answer, for people.

    An InvalidParameter names the key of the survey file where :meth:`calibrated` raises it. Where
    :meth:`check` or :meth:`mechanism` does, it names the manifest's field, as a rule "mechanism":
    ``with at_fault(key)`` turns it into the former.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[Mapping[str, str]] = {}
    symmetric: ClassVar[bool] = False
    first_round_kept: ClassVar[bool] = False
    numeric: ClassVar[bool | None] = False
    several: ClassVar[bool] = False
    answers: ClassVar[bool] = True
    likeness: ClassVar[str] = "all alike"
    sent: ClassVar[str] = "a set of answers"

    def check(self, parameters: Parameters) -> None:
        """Check the types and domains of the parameters, whose names are :attr:`fields`."""
        return

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        """Return the parameters of the best mechanism for what an operator wrote."""
        return {}

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> SurveyMechanism:
        """Return the solution matrix, certified to be as private as is stated."""
        ...

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        """Return the label of each response; by default the categories are the responses.

        A tuple, if each has a name of its own.
        """
        return categories

    def dimensions(self, parameters: Parameters) -> tuple[tuple[str, ...], ...]:
        """Return several questions: of each the name, and then the answers. Else nothing."""
        return ()

    def labels(self, dimensions: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """Return the categories of a manifest that follow from several questions."""
        raise InvalidParameter("dimensions", f"are not for a mechanism of kind {self.name}")

    def ordered(self, parameters: Parameters) -> bool:
        """Return whether its categories go from a least to a greatest: they have quantiles."""
        return bool(self.numeric)

    def kept_epsilon(self, parameters: Parameters) -> str | None:
        """Return the epsilon of a kept response, where it is not the one of a report."""
        return None

    def described(self, parameters: Parameters) -> dict[str, str]:
        """Return the parameters as texts, for programs that list surveys."""
        return {}

    def named(self, parameters: Parameters) -> str:
        """Return its name with the parameters: "affine (q = 5, m = 2, s = 1)"."""
        values = ", ".join(f"{name} = {text}" for name, text in self.described(parameters).items())
        return f"{self.name} ({values})" if values else self.name

    def terms(self, parameters: Parameters, categories: int) -> str | None:
        """Return the parameters in words, for operators; None if epsilon says it all."""
        return None

    def setting(self, settings: Settings, key: str) -> Any:
        """Return one setting."""
        if key not in settings:
            raise InvalidParameter(key, f"is missing: {self.keys[key]}")
        return settings[key]

    def check_pure(self, delta: str) -> None:
        """Check that no delta is stated."""
        if delta != "0":
            raise InvalidParameter("delta", f'must be "0": a mechanism of kind {self.name} is pure')


def as_tuples(value: object) -> object:
    """Return lists, and lists of lists, as tuples; no kind takes deeper ones."""
    if type(value) is not list:
        return value
    return tuple(tuple(item) if type(item) is list else item for item in value)


def read_ratio(value: object) -> Fraction:
    """Return the ratio that a numerator and a denominator make."""
    if type(value) is tuple and [type(part) for part in value] == [int, int]:
        numerator, denominator = value
        if 0 < numerator < denominator < RATIO_LIMIT and gcd(numerator, denominator) == 1:
            return Fraction(numerator, denominator)
    raise InvalidParameter("mechanism", "a ratio in (0, 1) in lowest terms is expected")
