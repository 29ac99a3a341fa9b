"""Mechanisms: solution matrices that a device can sample exactly, with integers only."""

from deniable.mechanisms.exact import (
    DECIMAL_PATTERN,
    MAX_EPSILON,
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
    exact_number,
)
from deniable.mechanisms.exponential import exp_enclosure, log_ceiling
from deniable.mechanisms.mechanism import Mechanism
from deniable.mechanisms.privacy import Privacy
from deniable.mechanisms.randomised_response import (
    MAX_CATEGORIES,
    GridTooCoarse,
    RandomisedResponse,
)
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = [
    "DECIMAL_PATTERN",
    "MAX_CATEGORIES",
    "MAX_EPSILON",
    "Draw",
    "GridTooCoarse",
    "InvalidPrivacyParameter",
    "Mechanism",
    "Number",
    "Privacy",
    "RandomisedResponse",
    "exact_delta",
    "exact_epsilon",
    "exact_number",
    "exp_enclosure",
    "log_ceiling",
    "os_random_word",
]
