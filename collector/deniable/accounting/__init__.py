"""Accounting: what reports reveal together, by exact composition and privacy-loss distributions.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter; less
than one report or row raises ValueError.
"""

from deniable.accounting.composition import Guarantee as Guarantee
from deniable.accounting.composition import advanced_composition as advanced_composition
from deniable.accounting.composition import basic_composition as basic_composition
from deniable.accounting.composition import epsilon_each as epsilon_each
from deniable.accounting.composition import group_delta as group_delta
from deniable.accounting.composition import group_guarantee as group_guarantee
from deniable.accounting.composition import group_loss as group_loss
from deniable.accounting.composition import (
    kairouz_oh_viswanath_composition as kairouz_oh_viswanath_composition,
)
from deniable.accounting.composition import optimal_composition as optimal_composition
from deniable.accounting.composition import optimal_guarantees as optimal_guarantees
from deniable.accounting.privacy_loss import DEFAULT_STEPS as DEFAULT_STEPS
from deniable.accounting.privacy_loss import MAX_TOTAL_EPSILON as MAX_TOTAL_EPSILON
from deniable.accounting.privacy_loss import PrivacyLoss as PrivacyLoss
from deniable.accounting.privacy_loss import total_epsilon as total_epsilon
