"""A kind of mechanism: all that a device needs to know about the kind; other code knows no kinds.

A manifest carries a kind's name and its parameters, plain values. From them device and collector
derive the same matrix by fixed integer rules. Each kind is a module, registered here; the words for
operators are in :mod:`deniable.planning.words`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, Final, Protocol

from deniable.mechanisms.mechanism import SurveyMechanism

MAX_SIGNS: Final = 255
"""The most signs of an alphabet of texts: a sign is a byte."""
MAX_LENGTH: Final = 64
"""The most signs of a text."""

Parameters = Mapping[str, Any]
"""The values by the manifest's field names: texts, integers, or (nested) tuples of these."""

_MODULES: Final = {
    "randomised-response": "deniable.mechanisms.randomised_response",
    "two-round": "deniable.mechanisms.two_round",
    "mean": "deniable.mechanisms.mean",
    "matrix": "deniable.mechanisms.matrix",
    "subset": "deniable.mechanisms.subset",
    "affine": "deniable.mechanisms.affine",
    "difference-set": "deniable.mechanisms.difference_set",
    "one-question": "deniable.mechanisms.one_question",
    "joint": "deniable.mechanisms.joint",
    "levels": "deniable.mechanisms.levels",
    "strings": "deniable.mechanisms.strings",
}
"""The module with the ``KIND`` of each name on the wire.

Tools that freeze apps find these modules by the package's imports under ``if TYPE_CHECKING``.
"""


class InvalidManifest(ValueError):
    """A survey definition that the protocol does not allow, with the field at fault."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


@contextmanager
def at_fault(
    name: str, errors: type[Exception] | tuple[type[Exception], ...] = ValueError
) -> Iterator[None]:
    """Attribute errors raised in the block to a field or key."""
    try:
        yield
    except errors as error:
        reason = error.reason if isinstance(error, InvalidManifest) else str(error)
        raise InvalidManifest(name, reason) from error


class Kind(Protocol):
    """A kind of mechanism. Every module of :data:`deniable.mechanisms.KINDS` has one as ``KIND``.

    Attributes:
        name: the kind's name on the wire and in survey files.
        fields: names of the kind's parameters in a manifest, in order.
        first_round_kept: whether each response adds fresh noise to a response that the device
            keeps; surveys with it are then memoised.
        numeric: whether its categories are numbers in equal steps; None if their texts decide.
        ordered: whether its categories are ordered from least to greatest, and so have quantiles.
        several: whether there are several questions, each with its own answers.
        texts: whether an answer is any text, and the categories are the signs of its alphabet.
        likeness: how often each of the other responses is sent, for people. It ends the sentence on
            other answers, if the responses are the categories.
        sent: what a response represents, for people, if that is more than one answer.

    For an InvalidManifest of :meth:`check` or :meth:`mechanism`, the manifest's field is usually
    "mechanism"; ``with at_fault(key)`` names another.
    """

    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()
    first_round_kept: ClassVar[bool] = False
    numeric: ClassVar[bool | None] = False
    ordered: ClassVar[bool] = False
    several: ClassVar[bool] = False
    texts: ClassVar[bool] = False
    likeness: ClassVar[str] = "each equally likely"
    sent: ClassVar[str] = "a set of answers"

    def check(self, parameters: Parameters) -> None:
        """Check the types and domains of the parameters, whose names are :attr:`fields`."""
        return

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> SurveyMechanism:
        """Return the solution matrix, certified to be as private as stated."""
        ...

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> Sequence[str]:
        """Return the label of each response; by default the categories are the responses.

        The result is a tuple if each response has its own name.
        """
        return categories

    def dimensions(self, parameters: Parameters) -> tuple[tuple[str, ...], ...]:
        """Return the name and the answers of each of several questions; otherwise nothing."""
        return ()

    def labels(self, dimensions: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """Return a manifest's categories, derived from several questions."""
        raise InvalidManifest("dimensions", f"must be absent for a mechanism of kind {self.name}")

    def kept_epsilon(self, parameters: Parameters) -> str | None:
        """Return the epsilon of a kept response if it differs from a report's."""
        return None

    def check_pure(self, delta: str) -> None:
        """Check that no delta is stated."""
        if delta != "0":
            raise InvalidManifest("delta", f'must be "0": a mechanism of kind {self.name} is pure')


def as_tuples(value: object) -> object:
    """Return lists, and lists of lists, as tuples; no kind accepts deeper ones."""
    if type(value) is not list:
        return value
    return tuple(tuple(item) if type(item) is list else item for item in value)


class _Kinds(Mapping[str, Kind]):
    # A device never needs most kinds, and starts with the app that embeds it, so a module is
    # imported when its kind is first looked up.
    def __getitem__(self, name: str) -> Kind:
        kind: Kind = import_module(_MODULES[name]).KIND
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


KINDS: Final[Mapping[str, Kind]] = _Kinds()
"""Every kind of mechanism by its name."""
