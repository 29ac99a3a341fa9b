"""A histogram for spreadsheets."""

import csv
import io
import math

from deniable.estimates import Estimate, Histogram, NumericSummary, Quantile, iso_time

__all__ = ["histogram_csv"]

_FORMULA_SIGNS = tuple("=+-@\t\r")
_WHOLE_COLUMNS = (
    "start",
    "end",
    "state",
    "epsilon",
    "delta",
    "enrolment",
    "distrusted",
    "fewest_fakes",
    "kept_first",
    "kept_last",
)
"""What is told of the figures as a whole, in every row."""
_CSV_COLUMNS = (
    "survey",
    "survey_id",
    "epoch",
    "n",
    "category",
    "raw",
    "estimate",
    "standard_error",
    "low",
    "high",
    "level",
    "method",
    "outside",
    "impossible",
    "bias_at_1_percent",
    *_WHOLE_COLUMNS,
)
_STATISTICS_COLUMNS = (
    "survey",
    "survey_id",
    "epoch",
    "n",
    "statistic",
    "estimate",
    "standard_error",
    "low",
    "high",
    "level",
    "outside",
    "bias_at_1_percent",
    *_WHOLE_COLUMNS,
    "too_wide",
    "blur",
    "reports_for_shares",
)


def histogram_csv(histogram: Histogram) -> str:
    """Return a histogram as CSV, one row a category; a number that does not exist is empty.

    Of a numeric survey, whose single values are noise, one row a statistic.
    """
    if histogram.numeric is not None:
        return _numeric_csv(histogram, histogram.numeric)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    whole = dict(zip(_WHOLE_COLUMNS, _whole(histogram), strict=True))
    for i, category in enumerate(histogram.categories):
        error = float(histogram.standard_error[i])
        writer.writerow(
            {
                "survey": histogram.survey,
                "survey_id": histogram.survey_id,
                "epoch": histogram.epochs[0],
                "n": histogram.n,
                # A spreadsheet would run a cell that looks like a formula.
                "category": f"'{category}" if category.startswith(_FORMULA_SIGNS) else category,
                "raw": int(histogram.raw[i]),
                "estimate": float(histogram.estimate[i]),
                "standard_error": "" if math.isnan(error) else error,
                "low": float(histogram.low[i]),
                "high": float(histogram.high[i]),
                "level": histogram.level,
                "method": histogram.methods[i].value,
                "outside": int(histogram.outside[i]),
                "impossible": int(histogram.poisoning.impossible[i]),
                "bias_at_1_percent": histogram.poisoning.bias(0.01),
                **whole,
            }
        )
    return stream.getvalue()


def _numeric_csv(histogram: Histogram, numeric: NumericSummary) -> str:
    rows: list[tuple[str, Estimate | Quantile, bool]] = [
        ("mean", numeric.mean, numeric.too_wide(numeric.mean)),
        *(
            (f"quantile {each.probability}", each, numeric.too_wide(each))
            for each in numeric.quartiles
        ),
        *((f"share of {each.label}", each.share, numeric.too_wide(each)) for each in numeric.bins),
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_STATISTICS_COLUMNS)
    fixed = (histogram.survey, histogram.survey_id, histogram.epochs[0], histogram.n)
    for statistic, figure, too_wide in rows:
        blur, bias = (numeric.blur, "") if statistic != "mean" else (0, 0.01 * numeric.influence)
        last = (int(too_wide), blur, histogram.reports_for_shares)
        writer.writerow([*fixed, statistic, *_parts(figure), bias, *_whole(histogram), *last])
    return stream.getvalue()


def _whole(histogram: Histogram) -> tuple[object, ...]:
    """Return the cells of the columns that are alike in every row."""
    return (
        iso_time(histogram.start),
        iso_time(histogram.end),
        "" if histogram.standing is None else histogram.standing.state.value,
        histogram.epsilon,
        histogram.delta,
        histogram.enrolment,
        histogram.distrusted,
        histogram.poisoning.fewest_fakes,
        *(("", "") if histogram.kept_range is None else histogram.kept_range),
    )


def _parts(figure: Estimate | Quantile) -> tuple[float | str, ...]:
    """Return value, standard error if it has one, ends, level, and whether these lay outside."""
    error, outside = math.nan, False
    if isinstance(figure, Estimate):
        error, outside = figure.standard_error, figure.outside
    shown = "" if math.isnan(error) else error
    return figure.value, shown, figure.low, figure.high, figure.level, int(outside)
