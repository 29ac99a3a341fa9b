"""Estimates: from counts of responses to frequencies of true categories, with their uncertainty.

Throughout, ``mechanism`` is what honest devices sample from, whose implemented integers are used;
``counts`` are how often each response was seen; ``frequencies`` f are the true ones, shape
(categories,); ``weights`` w are those of a query w.f; ``level`` is the confidence level of each
interval by itself; ``share`` is that of the fake reports; the
chance that honest devices alone cause any flag is at most ``false_alarm``, for every number of them
and every population, drawn or fixed. All functions raise ValueError for counts
that allow no estimate and for numbers outside their domain, TypeError for counts that are no
integers, and NotInvertible if no estimate can tell the categories apart.
"""

from deniable.estimates.answers import Answers
from deniable.estimates.binomial import IntervalMethod, clopper_pearson, wilson
from deniable.estimates.change import Test
from deniable.estimates.comparison import COMPARISON_SCHEMA, Comparison, compare
from deniable.estimates.curves import CumulativeCurve, cumulative_curve
from deniable.estimates.decoders import (
    Counts,
    Model,
    NotInvertible,
    decoder_of,
    left_inverse,
    solution_matrix,
)
from deniable.estimates.estimate import Estimate, Form, Sample, Unit, combined, linear_query, mean
from deniable.estimates.fields import HISTOGRAM_SCHEMAS, covariance_map, histogram_csv
from deniable.estimates.frames import MissingPackage
from deniable.estimates.frequencies import (
    Intervals,
    covariance,
    debias,
    estimated_covariance,
    frequency_intervals,
    standard_errors,
)
from deniable.estimates.histogram import Histogram, estimate_histogram
from deniable.estimates.influence import (
    fakes_needed,
    influence,
    query_influence,
    query_shifts,
    set_influence,
    worst_shifts,
)
from deniable.estimates.margins import Margin, conditional, margin, margins
from deniable.estimates.numeric import Bin, NumericSummary
from deniable.estimates.pictures import plot_differences
from deniable.estimates.planning import (
    Accuracy,
    cumulative_variance,
    mean_variance,
    quartiles_reach,
    reports_for_half_width,
    reports_for_mean,
    reports_for_quartiles,
    reports_for_share,
    reports_for_shares,
    share_variance,
)
from deniable.estimates.poisoning import (
    FALSE_ALARM,
    Poisoning,
    detectable_share,
    fewest_fakes,
    impossible_counts,
)
from deniable.estimates.quantiles import Quantile, quantiles
from deniable.estimates.revealed import Revealed
from deniable.estimates.series import SERIES_SCHEMA, Point, Series
from deniable.estimates.surveys import SurveyFigures, Surveys, connect, histogram_of, series_of
from deniable.estimates.verdict import Side, Verdict
from deniable.estimates.views import View
from deniable.reading import EpochStanding, EpochState, epoch_standing, iso_time

__all__ = [
    "COMPARISON_SCHEMA",
    "FALSE_ALARM",
    "HISTOGRAM_SCHEMAS",
    "SERIES_SCHEMA",
    "Accuracy",
    "Answers",
    "Bin",
    "Comparison",
    "Counts",
    "CumulativeCurve",
    "EpochStanding",
    "EpochState",
    "Estimate",
    "Form",
    "Histogram",
    "IntervalMethod",
    "Intervals",
    "Margin",
    "MissingPackage",
    "Model",
    "NotInvertible",
    "NumericSummary",
    "Point",
    "Poisoning",
    "Quantile",
    "Revealed",
    "Sample",
    "Series",
    "Side",
    "SurveyFigures",
    "Surveys",
    "Test",
    "Unit",
    "Verdict",
    "View",
    "clopper_pearson",
    "combined",
    "compare",
    "conditional",
    "connect",
    "covariance",
    "covariance_map",
    "cumulative_curve",
    "cumulative_variance",
    "debias",
    "decoder_of",
    "detectable_share",
    "epoch_standing",
    "estimate_histogram",
    "estimated_covariance",
    "fakes_needed",
    "fewest_fakes",
    "frequency_intervals",
    "histogram_csv",
    "histogram_of",
    "impossible_counts",
    "influence",
    "iso_time",
    "left_inverse",
    "linear_query",
    "margin",
    "margins",
    "mean",
    "mean_variance",
    "plot_differences",
    "quantiles",
    "quartiles_reach",
    "query_influence",
    "query_shifts",
    "reports_for_half_width",
    "reports_for_mean",
    "reports_for_quartiles",
    "reports_for_share",
    "reports_for_shares",
    "series_of",
    "set_influence",
    "share_variance",
    "solution_matrix",
    "standard_errors",
    "wilson",
    "worst_shifts",
]
