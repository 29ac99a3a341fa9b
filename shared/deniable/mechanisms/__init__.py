"""Mechanisms: solution matrices that a device can sample exactly, with integers only.

Each kind is a module, registered in ``kind``; the rest is what they share. Arguments outside their
domain raise TypeError, ValueError or InvalidPrivacyParameter; an answer that is no category raises
IndexError before anything is drawn.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from deniable.mechanisms.exact import (
    MAX_EPSILON,
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    ceil_div,
    exact_delta,
    exact_epsilon,
    exact_number,
    exp_enclosure,
    is_vast,
    log_ceiling,
    odds_ceiling,
    odds_floor,
    odds_text,
    percent_text,
    promise_text,
    times_likelier,
)
from deniable.mechanisms.kind import KINDS, InvalidParameter, Kind, Parameters
from deniable.mechanisms.mechanism import (
    MAX_DENSE,
    Draw,
    Mechanism,
    Rounds,
    SurveyMechanism,
    os_random_word,
)
from deniable.mechanisms.privacy import (
    MatrixPrivacy,
    Privacy,
    Rows,
    TwoValuedPrivacy,
    column_extremes,
    epsilon_of_odds,
)
from deniable.mechanisms.randomised_response import MAX_CATEGORIES, TwoValuedMechanism


def on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a ``__getattr__`` for a package's ``__init__``, by the module that has each name.

    A device starts with the app that embeds it, and never needs most of the mathematics (PEP 562).
    A package names the same modules under ``if TYPE_CHECKING``: what freezes apps reads those.
    """

    def load(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module}"), name)

    return load


if TYPE_CHECKING:
    from deniable.mechanisms.affine import Affine
    from deniable.mechanisms.block_design import DesignMechanism
    from deniable.mechanisms.difference_set import DifferenceSet
    from deniable.mechanisms.joint import KIND as _KIND  # noqa: F401 - seen by what freezes apps
    from deniable.mechanisms.levels import Levels
    from deniable.mechanisms.matrix import SurveyMatrix
    from deniable.mechanisms.numeric import ClampedGeometric
    from deniable.mechanisms.one_question import OneQuestion
    from deniable.mechanisms.randomised_response import RandomisedResponse
    from deniable.mechanisms.subset import Subset
    from deniable.mechanisms.two_round import TwoRound
else:
    __getattr__ = on_demand(
        __name__,
        {
            "Affine": "affine",
            "DifferenceSet": "difference_set",
            "DesignMechanism": "block_design",
            "Subset": "subset",
            "ClampedGeometric": "numeric",
            "Levels": "levels",
            "OneQuestion": "one_question",
            "RandomisedResponse": "randomised_response",
            "SurveyMatrix": "matrix",
            "TwoRound": "two_round",
        },
    )

__all__ = [
    "KINDS",
    "MAX_CATEGORIES",
    "MAX_DENSE",
    "MAX_EPSILON",
    "Affine",
    "ClampedGeometric",
    "DesignMechanism",
    "DifferenceSet",
    "Draw",
    "GridTooCoarse",
    "InvalidParameter",
    "InvalidPrivacyParameter",
    "Kind",
    "Levels",
    "MatrixPrivacy",
    "Mechanism",
    "Number",
    "OneQuestion",
    "Parameters",
    "Privacy",
    "RandomisedResponse",
    "Rounds",
    "Rows",
    "Subset",
    "SurveyMatrix",
    "SurveyMechanism",
    "TwoRound",
    "TwoValuedMechanism",
    "TwoValuedPrivacy",
    "ceil_div",
    "column_extremes",
    "epsilon_of_odds",
    "exact_delta",
    "exact_epsilon",
    "exact_number",
    "exp_enclosure",
    "is_vast",
    "log_ceiling",
    "odds_ceiling",
    "odds_floor",
    "odds_text",
    "os_random_word",
    "percent_text",
    "promise_text",
    "times_likelier",
]
