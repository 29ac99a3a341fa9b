"""Estimates: from counts of responses to frequencies of true categories, with their uncertainty."""

from deniable.estimates.covariance import Model, covariance, estimated_covariance, standard_errors
from deniable.estimates.epochs import EpochStanding, EpochState, epoch_standing, iso_time
from deniable.estimates.histogram import Histogram, estimate_histogram
from deniable.estimates.influence import (
    fakes_needed,
    influence,
    lying_shifts,
    query_influence,
    query_shifts,
    worst_distance,
    worst_shifts,
)
from deniable.estimates.intervals import (
    IntervalMethod,
    Intervals,
    clopper_pearson,
    frequency_intervals,
    wilson,
)
from deniable.estimates.inverse import NotInvertible, debias, left_inverse, solution_matrix
from deniable.estimates.numeric import Bin, NumericSummary
from deniable.estimates.planning import (
    reports_for_half_width,
    reports_for_mean,
    reports_for_shares,
)
from deniable.estimates.poisoning import (
    FALSE_ALARM,
    Poisoning,
    detectable_share,
    fewest_fakes,
    impossible_counts,
)
from deniable.estimates.quantiles import Quantile, quantiles
from deniable.estimates.queries import Estimate, linear_query, mean

__all__ = [
    "FALSE_ALARM",
    "Bin",
    "EpochStanding",
    "EpochState",
    "Estimate",
    "Histogram",
    "IntervalMethod",
    "Intervals",
    "Model",
    "NotInvertible",
    "NumericSummary",
    "Poisoning",
    "Quantile",
    "clopper_pearson",
    "covariance",
    "debias",
    "detectable_share",
    "epoch_standing",
    "estimate_histogram",
    "estimated_covariance",
    "fakes_needed",
    "fewest_fakes",
    "frequency_intervals",
    "impossible_counts",
    "influence",
    "iso_time",
    "left_inverse",
    "linear_query",
    "lying_shifts",
    "mean",
    "quantiles",
    "query_influence",
    "query_shifts",
    "reports_for_half_width",
    "reports_for_mean",
    "reports_for_shares",
    "solution_matrix",
    "standard_errors",
    "wilson",
    "worst_distance",
    "worst_shifts",
]
