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
from deniable.estimates.comparison import Comparison, compare
from deniable.estimates.decoders import (
    Counts,
    Model,
    NotInvertible,
    decoder_of,
    left_inverse,
    solution_matrix,
)
from deniable.estimates.estimate import (
    Estimate,
    Form,
    Sample,
    Side,
    Unit,
    Verdict,
    combined,
    linear_query,
    mean,
)
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
from deniable.estimates.quantiles import CumulativeCurve, Quantile, cumulative_curve, quantiles
from deniable.estimates.results import MissingPackage
from deniable.estimates.revealed import Revealed
from deniable.estimates.series import Point, Series
from deniable.estimates.views import View

__all__ = [
    "FALSE_ALARM",
    "Accuracy",
    "Answers",
    "Bin",
    "Comparison",
    "Counts",
    "CumulativeCurve",
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
    "Test",
    "Unit",
    "Verdict",
    "View",
    "clopper_pearson",
    "combined",
    "compare",
    "conditional",
    "covariance",
    "cumulative_curve",
    "cumulative_variance",
    "debias",
    "decoder_of",
    "detectable_share",
    "estimate_histogram",
    "estimated_covariance",
    "fakes_needed",
    "fewest_fakes",
    "frequency_intervals",
    "impossible_counts",
    "influence",
    "left_inverse",
    "linear_query",
    "margin",
    "margins",
    "mean",
    "mean_variance",
    "quantiles",
    "quartiles_reach",
    "query_influence",
    "query_shifts",
    "reports_for_half_width",
    "reports_for_mean",
    "reports_for_quartiles",
    "reports_for_share",
    "reports_for_shares",
    "set_influence",
    "share_variance",
    "solution_matrix",
    "standard_errors",
    "wilson",
    "worst_shifts",
]
