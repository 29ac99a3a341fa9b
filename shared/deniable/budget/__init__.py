"""Budget: what reports cost in privacy, singly and together, in exact integers."""

from deniable.budget.composition import (
    Guarantee,
    advanced_composition,
    basic_composition,
    closed_composition,
    optimal_composition,
    optimal_guarantees,
)
from deniable.budget.cost import NANO, Ceiling, epsilon_to_nano, format_nano, pure_cost
from deniable.budget.groups import group_delta, group_guarantee, group_loss
from deniable.budget.privacy_loss import (
    DEFAULT_STEPS,
    MAX_TOTAL_EPSILON,
    PrivacyLoss,
    total_epsilon,
)
from deniable.budget.repeated import RangeCost
from deniable.budget.two_layers import TwoLayers

__all__ = [
    "DEFAULT_STEPS",
    "MAX_TOTAL_EPSILON",
    "NANO",
    "Ceiling",
    "Guarantee",
    "PrivacyLoss",
    "RangeCost",
    "TwoLayers",
    "advanced_composition",
    "basic_composition",
    "closed_composition",
    "epsilon_to_nano",
    "format_nano",
    "group_delta",
    "group_guarantee",
    "group_loss",
    "optimal_composition",
    "optimal_guarantees",
    "pure_cost",
    "total_epsilon",
]
