"""Planning a survey: the most accurate mechanism, and how many reports its figures take.

The mechanism that is the most accurate for so many categories is :func:`best`: for one report
beside what is proved to be the least in the worst case; for many by a search.
"""

from deniable.planning.candidates import DESIGNS, PLAIN, Candidate, candidates, lower_bound
from deniable.planning.choice import (
    COMPOSED_DELTA,
    Alternative,
    Choice,
    best,
    compared,
    composed,
    unlikely_level,
)
from deniable.planning.plans import (
    Drafts,
    Plan,
    Way,
    Year,
    best_specification,
    blind_devices_text,
    epsilon_for,
    has_shares,
    plan,
    republished,
    tells_distribution,
    ways_to_ask,
    year_of,
)
from deniable.planning.specification import best_fresh

__all__ = [
    "COMPOSED_DELTA",
    "DESIGNS",
    "PLAIN",
    "Alternative",
    "Candidate",
    "Choice",
    "Drafts",
    "Plan",
    "Way",
    "Year",
    "best",
    "best_fresh",
    "best_specification",
    "blind_devices_text",
    "candidates",
    "compared",
    "composed",
    "epsilon_for",
    "has_shares",
    "lower_bound",
    "plan",
    "republished",
    "tells_distribution",
    "unlikely_level",
    "ways_to_ask",
    "year_of",
]
