"""Mechanisms: solution matrices that a device can sample exactly, with integers only."""

from typing import TYPE_CHECKING

from deniable.mechanisms.circular import Circular
from deniable.mechanisms.decay import RATIO_LIMIT, DistanceMechanism
from deniable.mechanisms.exact import (
    DECIMAL_PATTERN,
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
from deniable.mechanisms.geometric import ClampedGeometric
from deniable.mechanisms.mechanism import MAX_DENSE, Mechanism, SurveyMechanism
from deniable.mechanisms.metric import MAX_DISTANCE, MAX_METRIC, Metric
from deniable.mechanisms.on_demand import on_demand
from deniable.mechanisms.ordinal import Ordinal
from deniable.mechanisms.privacy import (
    MatrixPrivacy,
    Privacy,
    Rows,
    TwoValuedPrivacy,
    column_extremes,
    epsilon_of_odds,
)
from deniable.mechanisms.randomised_response import RandomisedResponse
from deniable.mechanisms.randomness import Draw, os_random_word
from deniable.mechanisms.two_round import TwoRound
from deniable.mechanisms.two_valued import MAX_CATEGORIES, TwoValuedMechanism

if TYPE_CHECKING:
    from deniable.mechanisms.laplace import DiscreteLaplace, LaplaceRelease, Neighbours, Query
    from deniable.mechanisms.selection import MAX_OUTCOMES, ExponentialMechanism, Movement
    from deniable.mechanisms.solution_matrix import InvalidMatrix, NotOnGrid, SolutionMatrix
else:
    __getattr__ = on_demand(
        __name__,
        {
            "DiscreteLaplace": "laplace",
            "LaplaceRelease": "laplace",
            "Neighbours": "laplace",
            "Query": "laplace",
            "MAX_OUTCOMES": "selection",
            "ExponentialMechanism": "selection",
            "Movement": "selection",
            "InvalidMatrix": "solution_matrix",
            "NotOnGrid": "solution_matrix",
            "SolutionMatrix": "solution_matrix",
        },
    )

__all__ = [
    "DECIMAL_PATTERN",
    "MAX_CATEGORIES",
    "MAX_DENSE",
    "MAX_DISTANCE",
    "MAX_EPSILON",
    "MAX_METRIC",
    "MAX_OUTCOMES",
    "RATIO_LIMIT",
    "Circular",
    "ClampedGeometric",
    "DiscreteLaplace",
    "DistanceMechanism",
    "Draw",
    "ExponentialMechanism",
    "GridTooCoarse",
    "InvalidMatrix",
    "InvalidPrivacyParameter",
    "LaplaceRelease",
    "MatrixPrivacy",
    "Mechanism",
    "Metric",
    "Movement",
    "Neighbours",
    "NotOnGrid",
    "Number",
    "Ordinal",
    "Privacy",
    "Query",
    "RandomisedResponse",
    "Rows",
    "SolutionMatrix",
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
    "log_ceiling",
    "odds_ceiling",
    "odds_floor",
    "os_random_word",
]
