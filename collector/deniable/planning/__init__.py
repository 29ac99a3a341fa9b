"""Planning a survey: how many reports its figures take, and what they take of a device's budget."""

from deniable.planning.picture import users_by_epsilon, users_by_size
from deniable.planning.planned import MOST_EPSILON, Drafts, Plan, epsilon_for, plan
from deniable.planning.ways import (
    Way,
    best_specification,
    has_shares,
    republished,
    tells_distribution,
    ways_to_ask,
)
from deniable.planning.year import Year, year_of

__all__ = [
    "MOST_EPSILON",
    "Drafts",
    "Plan",
    "Way",
    "Year",
    "best_specification",
    "epsilon_for",
    "has_shares",
    "plan",
    "republished",
    "tells_distribution",
    "users_by_epsilon",
    "users_by_size",
    "ways_to_ask",
    "year_of",
]
