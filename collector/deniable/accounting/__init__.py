"""Accounting: what reports reveal together, by exact composition and privacy-loss distributions.

Also what their histogram reveals about each, by the privacy blanket.

A parameter that is a float raises TypeError, one outside its domain InvalidPrivacyParameter. Fewer
than one report raises ValueError.
"""

from typing import TYPE_CHECKING

from deniable.accounting.privacy_loss import Guarantee as Guarantee
from deniable.accounting.privacy_loss import PrivacyLoss as PrivacyLoss
from deniable.accounting.privacy_loss import basic_composition as basic_composition
from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.accounting.shuffled import shuffled_delta as shuffled_delta
    from deniable.accounting.shuffled import shuffled_epsilon as shuffled_epsilon
    from deniable.accounting.shuffled import shuffled_level as shuffled_level
else:  # numpy: publishing does not wait for it
    names = dict.fromkeys(("shuffled_delta", "shuffled_epsilon", "shuffled_level"), "shuffled")
    __getattr__ = on_demand(__name__, names)
