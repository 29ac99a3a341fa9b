"""Kinds that are about several questions: they answer by a kind for one question."""

from collections.abc import Sequence
from typing import ClassVar, Final

from deniable.mechanisms.design import DesignMechanism
from deniable.mechanisms.dimensions import Dimensions, check_dimensions
from deniable.mechanisms.kind import InvalidParameter, Kind, Parameters, Settings
from deniable.mechanisms.registry import KINDS
from deniable.mechanisms.two_valued import TwoValuedMechanism

Answering = tuple[str | int, ...]
"""A mechanism for one question: the name of its kind, and then its parameters."""

Answered = TwoValuedMechanism | DesignMechanism
"""What it is: any two answers are alike to it."""

RANDOMISED_RESPONSE: Final[Answering] = ("randomised-response",)

_BY: Final = ("randomised-response", "subset", "affine", "difference-set")


class SeveralQuestions(Kind):
    """A kind that is about several questions."""

    keys: ClassVar = {"dimensions": "several questions: a table with the answers to each"}
    several = True
    symmetric = True
    answers = False

    def dimensions(self, parameters: Parameters) -> Dimensions:
        """Return the questions with their answers."""
        dimensions: Dimensions = parameters["dimensions"]
        return dimensions

    def described(self, parameters: Parameters) -> dict[str, str]:
        """Return the names of the questions."""
        return {"questions": ", ".join(name for name, *_ in parameters["dimensions"])}

    def set_dimensions(self, settings: Settings) -> Dimensions:
        """Return the questions that an operator wrote."""
        dimensions: Dimensions = self.setting(settings, "dimensions")
        check_dimensions(dimensions)
        return dimensions


def check_answering(answering: object) -> None:
    """Check the types and domains of a mechanism's parameters."""
    if type(answering) is not tuple or not answering or answering[0] not in _BY:
        raise InvalidParameter("mechanism", f"answers by one of {', '.join(_BY)}")
    kind = KINDS[answering[0]]
    if len(answering) != 1 + len(kind.fields):
        raise InvalidParameter("mechanism", f"of kind {kind.name} has other parameters")
    kind.check(answering_parameters(answering))


def check_answerings(answerings: object, count: int) -> None:
    """Check the mechanisms of so many questions, or levels."""
    if type(answerings) is not tuple or len(answerings) != count:
        raise InvalidParameter("mechanism", "needs a mechanism for each")
    for answering in answerings:
        check_answering(answering)


def answering_mechanism(
    answering: Answering, categories: int, epsilon: str, delta: str
) -> Answered:
    """Return the mechanism for so many answers."""
    made = answering_kind(answering).mechanism(
        answering_parameters(answering), categories, epsilon, delta
    )
    assert isinstance(made, TwoValuedMechanism | DesignMechanism)
    return made


def answering_labels(answering: Answering, answers: tuple[str, ...]) -> Sequence[str]:
    """Return the labels of its responses."""
    return answering_kind(answering).responses(answering_parameters(answering), answers)


def answering_text(answering: Answering) -> str:
    """Return the mechanism in a few words."""
    return answering_kind(answering).named(answering_parameters(answering))


def answering_kind(answering: Answering) -> Kind:
    """Return its kind."""
    return KINDS[str(answering[0])]


def answering_parameters(answering: Answering) -> Parameters:
    """Return its parameters by their names."""
    return dict(zip(answering_kind(answering).fields, answering[1:], strict=True))
