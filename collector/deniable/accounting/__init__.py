"""Accounting: what reports reveal together, by exact composition and privacy-loss distributions.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter; less
than one report or row raises ValueError.
"""

from deniable.accounting.composition import (
    Guarantee,
    advanced_composition,
    basic_composition,
    epsilon_each,
    group_delta,
    group_guarantee,
    group_loss,
    kairouz_oh_viswanath_composition,
    optimal_composition,
    optimal_guarantees,
)
from deniable.accounting.privacy_loss import (
    DEFAULT_STEPS,
    MAX_TOTAL_EPSILON,
    PrivacyLoss,
    total_epsilon,
)

__all__ = [
    "DEFAULT_STEPS",
    "MAX_TOTAL_EPSILON",
    "Guarantee",
    "PrivacyLoss",
    "advanced_composition",
    "basic_composition",
    "epsilon_each",
    "group_delta",
    "group_guarantee",
    "group_loss",
    "kairouz_oh_viswanath_composition",
    "optimal_composition",
    "optimal_guarantees",
    "total_epsilon",
]
