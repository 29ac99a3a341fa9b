"""Estimates: from counts of responses to frequencies of true categories, with their uncertainty."""

from deniable.estimates.covariance import Model, covariance, estimated_covariance, standard_errors
from deniable.estimates.histogram import Histogram, estimate_histogram
from deniable.estimates.intervals import (
    IntervalMethod,
    Intervals,
    clopper_pearson,
    frequency_intervals,
    wilson,
)
from deniable.estimates.inverse import NotInvertible, debias, left_inverse, solution_matrix
from deniable.estimates.planning import reports_for_half_width

__all__ = [
    "Histogram",
    "IntervalMethod",
    "Intervals",
    "Model",
    "NotInvertible",
    "clopper_pearson",
    "covariance",
    "debias",
    "estimate_histogram",
    "estimated_covariance",
    "frequency_intervals",
    "left_inverse",
    "reports_for_half_width",
    "solution_matrix",
    "standard_errors",
    "wilson",
]
