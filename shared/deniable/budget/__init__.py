"""Budget: what reports cost in privacy, singly and together, in exact integers."""

from typing import TYPE_CHECKING

from deniable.budget.cost import NANO, Ceiling, epsilon_to_nano, format_nano, pure_cost
from deniable.budget.repeated import RangeCost, changing_cost, constant_cost
from deniable.mechanisms.on_demand import on_demand

if TYPE_CHECKING:
    from deniable.budget.composition import (
        Guarantee,
        advanced_composition,
        basic_composition,
        kairouz_oh_viswanath_composition,
        optimal_composition,
        optimal_guarantees,
    )
    from deniable.budget.groups import group_delta, group_guarantee, group_loss
    from deniable.budget.privacy_loss import (
        DEFAULT_STEPS,
        MAX_TOTAL_EPSILON,
        PrivacyLoss,
        total_epsilon,
    )
else:
    __getattr__ = on_demand(
        __name__,
        {
            "Guarantee": "composition",
            "advanced_composition": "composition",
            "basic_composition": "composition",
            "kairouz_oh_viswanath_composition": "composition",
            "optimal_composition": "composition",
            "optimal_guarantees": "composition",
            "group_delta": "groups",
            "group_guarantee": "groups",
            "group_loss": "groups",
            "DEFAULT_STEPS": "privacy_loss",
            "MAX_TOTAL_EPSILON": "privacy_loss",
            "PrivacyLoss": "privacy_loss",
            "total_epsilon": "privacy_loss",
        },
    )

__all__ = [
    "DEFAULT_STEPS",
    "MAX_TOTAL_EPSILON",
    "NANO",
    "Ceiling",
    "Guarantee",
    "PrivacyLoss",
    "RangeCost",
    "advanced_composition",
    "basic_composition",
    "changing_cost",
    "constant_cost",
    "epsilon_to_nano",
    "format_nano",
    "group_delta",
    "group_guarantee",
    "group_loss",
    "kairouz_oh_viswanath_composition",
    "optimal_composition",
    "optimal_guarantees",
    "pure_cost",
    "total_epsilon",
]
