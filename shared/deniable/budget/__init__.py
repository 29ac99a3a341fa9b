"""Budget: what a device's reports cost in privacy, and what it may spend, in exact integers."""

from deniable.budget.cost import (
    NANO,
    Ceiling,
    epsilon_to_nano,
    format_nano,
    pure_cost,
)
from deniable.budget.repeated import RangeCost, changing_cost, constant_cost
from deniable.mechanisms import odds_text, percent_text, upper_text

__all__ = [
    "NANO",
    "Ceiling",
    "RangeCost",
    "changing_cost",
    "constant_cost",
    "epsilon_to_nano",
    "format_nano",
    "odds_text",
    "percent_text",
    "pure_cost",
    "upper_text",
]
