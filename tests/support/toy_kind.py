"""A kind of mechanism as CONTRIBUTING's recipe makes it: three categories, five responses.

An answer is named ``own`` sixteenths of the time, each other answer two sixteenths; "no idea" and
"declined" share the rest.
"""

from fractions import Fraction
from typing import ClassVar, Final

from deniable.mechanisms import Parameters, SurveyMechanism
from deniable.mechanisms.kind import InvalidManifest, Kind, at_fault
from deniable.mechanisms.matrix import SurveyMatrix
from deniable.planning.calibration import Settings, setting
from deniable.planning.words import KindWords

_UNIT: Final = 1 << 60


class _Toy(Kind):
    name = "toy"
    fields = ("own",)
    answers = False

    def check(self, parameters: Parameters) -> None:
        if type(parameters["own"]) is not int or not 3 <= parameters["own"] <= 8:
            raise InvalidManifest("mechanism", "own is 3 to 8")

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> SurveyMechanism:
        if categories != 3:
            raise InvalidManifest("categories", "of a toy are three")
        self.check_pure(delta)
        own = parameters["own"]
        # Sixteenths: own, two for each other answer, and the rest by halves.
        rest = (12 - own) * _UNIT // 2
        weights = tuple(
            (*((own if x == y else 2) * _UNIT for y in range(3)), rest, rest) for x in range(3)
        )
        mechanism = SurveyMatrix(weights, truthful=False)
        if not mechanism.privacy.satisfies(epsilon, delta):
            raise InvalidManifest("mechanism", "the probabilities exceed the stated epsilon")
        return mechanism

    def responses(self, parameters: Parameters, categories: tuple[str, ...]) -> tuple[str, ...]:
        return (*categories, "no idea", "declined")


KIND: Final = _Toy()


def calibrated_toy(settings: Settings, _categories: int, _epsilon: str) -> Parameters:
    parameters = {"own": setting(settings, "own")}
    with at_fault("own"):
        KIND.check(parameters)
    return parameters


class ToyWords(KindWords):
    """The words that operators are told."""

    summary = "a toy of three categories and five responses"
    keys: ClassVar = {"own": "of a toy survey: how many sixteenths of the time an answer is named"}
    wanted = ("own",)

    def terms(self, parameters: Parameters, categories: int) -> str:
        return f"toy: {Fraction(parameters['own'], 16)} own"
