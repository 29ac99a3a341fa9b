"""Estimates: frequencies of true categories from counts of responses, with their uncertainty.

Throughout, ``mechanism`` is the one from which honest devices sample, with its implemented
integers; ``counts`` are the counts of each response; ``frequencies`` f are the true ones, shape
(categories,); ``weights`` w are those of a query w.f; ``level`` is the confidence level of each
interval by itself; ``share`` is that of the fake reports; the chance that honest devices alone
cause any flag is at most ``false_alarm``, for every number of them and every population, drawn or
fixed. All functions raise ValueError for counts that allow no estimate and for numbers outside
their domain, TypeError for counts that are not integers, and NotInvertible if no estimate can
distinguish the categories.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.estimates.accuracy import Accuracy as Accuracy
    from deniable.estimates.accuracy import reports_for_half_width as reports_for_half_width
    from deniable.estimates.accuracy import share_variance as share_variance
    from deniable.estimates.answers import Answers as Answers
    from deniable.estimates.binomial import IntervalMethod as IntervalMethod
    from deniable.estimates.binomial import NotInvertible as NotInvertible
    from deniable.estimates.change import Test as Test
    from deniable.estimates.comparison import Comparison as Comparison
    from deniable.estimates.comparison import compare as compare
    from deniable.estimates.curve import CumulativeCurve as CumulativeCurve
    from deniable.estimates.curve import Quantile as Quantile
    from deniable.estimates.decoders import Model as Model
    from deniable.estimates.decoders import decoder_of as decoder_of
    from deniable.estimates.estimate import Estimate as Estimate
    from deniable.estimates.estimate import Side as Side
    from deniable.estimates.estimate import Verdict as Verdict
    from deniable.estimates.forms import Unit as Unit
    from deniable.estimates.frequencies import Intervals as Intervals
    from deniable.estimates.frequencies import View as View
    from deniable.estimates.frequencies import covariance as covariance
    from deniable.estimates.histogram import Histogram as Histogram
    from deniable.estimates.histogram import estimate_histogram as estimate_histogram
    from deniable.estimates.means import Margin as Margin
    from deniable.estimates.numeric import Bin as Bin
    from deniable.estimates.numeric import NumericSummary as NumericSummary
    from deniable.estimates.planning import cumulative_variance as cumulative_variance
    from deniable.estimates.planning import mean_variance as mean_variance
    from deniable.estimates.planning import reports_for_mean as reports_for_mean
    from deniable.estimates.planning import reports_for_quartiles as reports_for_quartiles
    from deniable.estimates.poisoning import Poisoning as Poisoning
    from deniable.estimates.results import MissingPackage as MissingPackage
    from deniable.estimates.revealed import Revealed as Revealed
    from deniable.estimates.series import Point as Point
    from deniable.estimates.series import Series as Series
    from deniable.estimates.series import Trend as Trend
else:  # numpy and scipy: planning or publishing does not wait for them
    _MODULES = {
        "accuracy": "Accuracy reports_for_half_width share_variance",
        "answers": "Answers",
        "binomial": "NotInvertible IntervalMethod",
        "change": "Test",
        "comparison": "Comparison compare",
        "curve": "CumulativeCurve Quantile",
        "decoders": "Model decoder_of",
        "estimate": "Estimate Side Verdict",
        "forms": "Unit",
        "frequencies": "Intervals View covariance",
        "histogram": "Histogram estimate_histogram",
        "means": "Margin",
        "numeric": "Bin NumericSummary",
        "planning": "cumulative_variance mean_variance reports_for_mean reports_for_quartiles",
        "poisoning": "Poisoning",
        "results": "MissingPackage",
        "revealed": "Revealed",
        "series": "Point Series Trend",
    }
    _NAMES = {name: module for module, names in _MODULES.items() for name in names.split()}
    __all__ = sorted(_NAMES)
    __getattr__ = on_demand(__name__, _NAMES)
