"""Mechanisms: solution matrices that a device can sample exactly, with integers only.

Each kind is a module, registered in ``kind``; the other modules are shared. Arguments outside their
domain raise TypeError, ValueError or InvalidPrivacyParameter; an answer that is not a category
raises IndexError before anything is drawn.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from deniable.mechanisms.exact import (
    InvalidPrivacyParameter as InvalidPrivacyParameter,
    Number as Number,
    ceil_div as ceil_div,
    exact_delta as exact_delta,
    exact_epsilon as exact_epsilon,
    exact_number as exact_number,
    exp_enclosure as exp_enclosure,
    is_vast as is_vast,
    log_ceiling as log_ceiling,
    odds_ceiling as odds_ceiling,
    odds_floor as odds_floor,
    odds_text as odds_text,
)
from deniable.mechanisms.kind import (
    KINDS as KINDS,
    Parameters as Parameters,
)
from deniable.mechanisms.mechanism import (
    MAX_DENSE as MAX_DENSE,
    Draw as Draw,
    Mechanism as Mechanism,
    SurveyMechanism as SurveyMechanism,
)
from deniable.mechanisms.privacy import (
    MatrixPrivacy as MatrixPrivacy,
    TwoValuedPrivacy as TwoValuedPrivacy,
    guess_within as guess_within,
)
from deniable.mechanisms.randomised_response import MAX_CATEGORIES as MAX_CATEGORIES


def on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a ``__getattr__`` for a package's ``__init__``, from the module of each name.

    A device starts with its app, and never needs most of the mathematics (PEP 562). A package also
    imports these modules under ``if TYPE_CHECKING``, for tools that freeze apps.
    """

    def load(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module}"), name)

    return load


ON_DEMAND: Final = {
    "Affine": "affine",
    "DifferenceSet": "difference_set",
    "DesignMechanism": "block_design",
    "Subset": "subset",
    "Levels": "levels",
    "MeanMatrix": "mean",
    "OneQuestion": "one_question",
    "RandomisedResponse": "randomised_response",
    "Strings": "strings",
    "SurveyMatrix": "matrix",
    "TwoRound": "two_round",
}
"""The module of each name, imported when the name is first used."""

if TYPE_CHECKING:
    from deniable.mechanisms.affine import Affine as Affine
    from deniable.mechanisms.block_design import DesignMechanism as DesignMechanism
    from deniable.mechanisms.difference_set import DifferenceSet as DifferenceSet
    from deniable.mechanisms.joint import KIND as _KIND  # noqa: F401 - seen by what freezes apps
    from deniable.mechanisms.levels import Levels as Levels
    from deniable.mechanisms.matrix import SurveyMatrix as SurveyMatrix
    from deniable.mechanisms.mean import MeanMatrix as MeanMatrix
    from deniable.mechanisms.one_question import OneQuestion as OneQuestion
    from deniable.mechanisms.randomised_response import RandomisedResponse as RandomisedResponse
    from deniable.mechanisms.strings import Strings as Strings
    from deniable.mechanisms.subset import Subset as Subset
    from deniable.mechanisms.two_round import TwoRound as TwoRound
else:
    __getattr__ = on_demand(__name__, ON_DEMAND)
