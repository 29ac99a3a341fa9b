"""Accounting: what reports reveal together, by exact composition and privacy-loss distributions.

And what their histogram reveals of each, by the privacy blanket.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter; less
than one report or row raises ValueError.
"""

from typing import TYPE_CHECKING

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
from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.accounting.shuffled import shuffled_delta, shuffled_epsilon, shuffled_level
else:  # numpy: whoever publishes does not wait for it
    names = dict.fromkeys(("shuffled_delta", "shuffled_epsilon", "shuffled_level"), "shuffled")
    __getattr__ = on_demand(__name__, names)

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
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_level",
    "total_epsilon",
]
