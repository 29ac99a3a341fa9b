"""Planning a survey: how many reports its figures take, and what they take of a device's budget."""

from deniable.planning.planned import Drafts, Plan, blind_devices_text, epsilon_for, plan
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
    "Drafts",
    "Plan",
    "Way",
    "Year",
    "best_specification",
    "blind_devices_text",
    "epsilon_for",
    "has_shares",
    "plan",
    "republished",
    "tells_distribution",
    "ways_to_ask",
    "year_of",
]
