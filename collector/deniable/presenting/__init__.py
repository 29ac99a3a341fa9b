"""Presenting: a collector's surveys for analysts, and figures in words, tables and drawings.

:mod:`deniable.estimates` has the numbers, and asks a module here by its name for the words of a
result: ``presenting.leaders`` has those of ``estimates.leaders``.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand

if TYPE_CHECKING:
    from deniable.presenting.comparison import COMPARISON_SCHEMA as COMPARISON_SCHEMA
    from deniable.presenting.fields import HISTOGRAM_SCHEMAS as HISTOGRAM_SCHEMAS
    from deniable.presenting.fields import covariance_map as covariance_map
    from deniable.presenting.fields import histogram_csv as histogram_csv
    from deniable.presenting.pictures import plot_differences as plot_differences
    from deniable.presenting.series import SERIES_SCHEMA as SERIES_SCHEMA
    from deniable.presenting.surveys import SurveyFigures as SurveyFigures
    from deniable.presenting.surveys import Surveys as Surveys
    from deniable.presenting.surveys import connect as connect
    from deniable.presenting.surveys import histogram_of as histogram_of
    from deniable.presenting.surveys import series_of as series_of
else:  # who asks for a share needs no chart, and who publishes no numpy
    _ON_DEMAND = {
        "COMPARISON_SCHEMA": "comparison",
        "HISTOGRAM_SCHEMAS": "fields",
        "SERIES_SCHEMA": "series",
        "covariance_map": "fields",
        "histogram_csv": "fields",
        "plot_differences": "pictures",
        **dict.fromkeys(
            ("SurveyFigures", "Surveys", "connect", "histogram_of", "series_of"), "surveys"
        ),
    }
    __getattr__ = on_demand(__name__, _ON_DEMAND)
