"""Presenting: a collector's surveys for analysts, and figures in words, tables and drawings.

:mod:`deniable.estimates` has the numbers, and does not depend on this package: each module
registers the words for a kind of result.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.presenting.pictures import plot_differences as plot_differences
    from deniable.presenting.surveys import SurveyFigures as SurveyFigures
    from deniable.presenting.surveys import Surveys as Surveys
    from deniable.presenting.surveys import connect as connect
    from deniable.presenting.surveys import headline_of as headline_of
    from deniable.presenting.surveys import histogram_of as histogram_of
    from deniable.presenting.surveys import series_of as series_of
else:  # a share needs no chart, and publishing no numpy
    _SURVEYS = ("SurveyFigures", "Surveys", "connect", "headline_of", "histogram_of", "series_of")
    _ON_DEMAND = {"plot_differences": "pictures", **dict.fromkeys(_SURVEYS, "surveys")}
    __getattr__ = on_demand(__name__, _ON_DEMAND)
