"""Mechanisms: solution matrices that a device can sample exactly, with integers only.

Each kind is a module or package, registered in ``registry``; the rest is what they share. Arguments
outside their domain raise TypeError, ValueError or InvalidPrivacyParameter; an answer that is no
category raises IndexError before anything is drawn.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms.bounds import (
    epsilon_ceiling,
    is_vast,
    odds_text,
    percent_text,
    promise_text,
    times_likelier,
    upper_text,
)
from deniable.mechanisms.exact import (
    MAX_EPSILON,
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
    exact_number,
)
from deniable.mechanisms.exponential import (
    ceil_div,
    exp_enclosure,
    log_ceiling,
    odds_ceiling,
    odds_floor,
)
from deniable.mechanisms.kind import RATIO_LIMIT, InvalidParameter, Kind, Parameters, Settings
from deniable.mechanisms.mechanism import MAX_DENSE, Mechanism, Rounds, SurveyMechanism
from deniable.mechanisms.on_demand import on_demand
from deniable.mechanisms.privacy import (
    MatrixPrivacy,
    Privacy,
    Rows,
    TwoValuedPrivacy,
    column_extremes,
    epsilon_of_odds,
)
from deniable.mechanisms.randomness import Draw, os_random_word
from deniable.mechanisms.registry import KINDS
from deniable.mechanisms.two_valued import MAX_CATEGORIES, TwoValuedMechanism

if TYPE_CHECKING:
    from deniable.mechanisms.affine import Affine
    from deniable.mechanisms.design import MAX_RESPONSES, Design, DesignMechanism
    from deniable.mechanisms.difference_set import DifferenceSet
    from deniable.mechanisms.distance import DistanceMechanism
    from deniable.mechanisms.joint import KIND as _KIND  # noqa: F401 - seen by what freezes apps
    from deniable.mechanisms.levels import Levels
    from deniable.mechanisms.matrix import SurveyMatrix
    from deniable.mechanisms.numeric import ClampedGeometric
    from deniable.mechanisms.one_question import OneQuestion
    from deniable.mechanisms.ordinal import MAX_DISTANCE, MAX_METRIC, Circular, Metric, Ordinal
    from deniable.mechanisms.randomised_response import RandomisedResponse
    from deniable.mechanisms.solution_matrix import InvalidMatrix, NotOnGrid, SolutionMatrix
    from deniable.mechanisms.subset import Subset
    from deniable.mechanisms.two_round import TwoRound
else:
    __getattr__ = on_demand(
        __name__,
        {
            "MAX_DISTANCE": "ordinal",
            "MAX_RESPONSES": "design",
            "Affine": "affine",
            "Design": "design",
            "DifferenceSet": "difference_set",
            "DesignMechanism": "design",
            "Subset": "subset",
            "MAX_METRIC": "ordinal",
            "Circular": "ordinal",
            "ClampedGeometric": "numeric",
            "DistanceMechanism": "distance",
            "InvalidMatrix": "solution_matrix",
            "Levels": "levels",
            "Metric": "ordinal",
            "NotOnGrid": "solution_matrix",
            "OneQuestion": "one_question",
            "Ordinal": "ordinal",
            "RandomisedResponse": "randomised_response",
            "SolutionMatrix": "solution_matrix",
            "SurveyMatrix": "matrix",
            "TwoRound": "two_round",
        },
    )

__all__ = [
    "KINDS",
    "MAX_CATEGORIES",
    "MAX_DENSE",
    "MAX_DISTANCE",
    "MAX_EPSILON",
    "MAX_METRIC",
    "MAX_RESPONSES",
    "RATIO_LIMIT",
    "Affine",
    "Circular",
    "ClampedGeometric",
    "Design",
    "DesignMechanism",
    "DifferenceSet",
    "DistanceMechanism",
    "Draw",
    "GridTooCoarse",
    "InvalidMatrix",
    "InvalidParameter",
    "InvalidPrivacyParameter",
    "Kind",
    "Levels",
    "MatrixPrivacy",
    "Mechanism",
    "Metric",
    "NotOnGrid",
    "Number",
    "OneQuestion",
    "Ordinal",
    "Parameters",
    "Privacy",
    "RandomisedResponse",
    "Rounds",
    "Rows",
    "Settings",
    "SolutionMatrix",
    "Subset",
    "SurveyMatrix",
    "SurveyMechanism",
    "TwoRound",
    "TwoValuedMechanism",
    "TwoValuedPrivacy",
    "ceil_div",
    "column_extremes",
    "epsilon_ceiling",
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
    "upper_text",
]
