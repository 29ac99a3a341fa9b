"""The fields of a histogram, defined once for its JSON, its CSV and its tables."""

from collections.abc import Sequence
from typing import Any, Final

from deniable.documents import caution_maps
from deniable.documents.programs import (
    Field,
    Fields,
    Json,
    plain,
    plain_value,
    rows_csv,
)
from deniable.estimates.curve import QUARTILES
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import presents
from deniable.presenting.cautions import histogram_cautions
from deniable.presenting.estimate import curve_rows
from deniable.presenting.revealed import REVEALED
from deniable.presenting.rows import (
    ESTIMATE,
    at_once,
    category_rows,
    crossed_rows,
    enrolment_text,
    margin_rows,
    response_rows,
)
from deniable.reading.epochs import iso_time


def _figures(summary: Any, figures: Sequence[Any], fields: Fields) -> list[Json]:
    return [plain(figure, fields) | {"too_wide": summary.too_wide(figure)} for figure in figures]


_QUARTILE: Final = tuple(Field(name) for name in ("probability", "value", "low", "high"))
_BIN: Final = (
    Field("bin", "label"),
    *(field._replace(source=f"share.{field.source or field.name}") for field in ESTIMATE),
)
_NUMERIC: Final = (
    Field("mean", lambda s: _figures(s, [s.mean], ESTIMATE)[0]),
    Field("influence", "mean.influence"),
    Field("quartiles", lambda s: _figures(s, s.quartiles, _QUARTILE)),
    Field("blur"),
    Field("bins", lambda s: _figures(s, s.bins, _BIN)),
)
_DISTRIBUTION: Final = (
    Field("quartiles", lambda d: [plain(quartile, _QUARTILE) for quartile in d.quartiles]),
    Field("curve", lambda d: curve_rows(d)),
    Field("deviations", "curve.deviations"),
    Field("blur", "curve.blur"),
    Field("withheld", "withheld"),
)
_MARGIN: Final = (
    Field("question"),
    Field("n"),
    Field("answers", lambda margin: margin_rows(margin)),
)
_POISONING: Final = (
    Field("influence"),
    Field("bias_at_1_percent", lambda poisoning: poisoning.bias(0.01)),
    Field("detectable_share"),
    Field("false_alarm"),
    Field("fewest_fakes"),
)


def numeric_map(summary: object) -> Json:
    """Return the summary of a numeric survey."""
    return plain(summary, _NUMERIC)


_STAGE: Final = (
    Field("length"),
    Field("reports"),
    Field("tested"),
    Field("standing", lambda one: len(one.texts)),
    Field("rarest"),
)
_TEXTS: Final = (
    Field("reports"),
    Field("least"),
    Field("rarest"),
    Field("fakes"),
    Field("whole"),
    Field("of_list"),
    Field("hidden", lambda t: len(t.hidden)),
    Field("stages", lambda t: [plain(s, _STAGE) for s in t.stages]),
)


_HISTOGRAM: Final = (
    Field("survey"),
    Field("survey_id"),
    Field("question"),
    Field("epochs"),
    Field("start", lambda h: (h.start is not None and iso_time(h.start)) or None),
    Field("end", lambda h: (h.end is not None and iso_time(h.end)) or None),
    Field("state", "standing.state"),
    Field("seal", "standing.seal"),
    Field("n"),
    Field("level"),
    Field("mechanism"),
    Field("epsilon"),
    Field("delta"),
    Field("pure_epsilon"),
    Field("enrolment", enrolment_text),
    Field("anonymity_set"),
    Field("poisoning", lambda h: plain(h.poisoning, _POISONING)),
    Field("distrusted"),
    Field("revealed", lambda h: plain(h.revealed(), REVEALED)),
    Field("kept_range"),
    Field("numeric", lambda h: h.numeric and numeric_map(h.numeric)),
    Field("distribution", lambda h: plain(h.distribution(), _DISTRIBUTION) if h.ordered else None),
    Field(
        "margins", lambda h: [plain(margin, _MARGIN) for margin in h.margins] or None, optional=True
    ),
    Field("texts", lambda h: h.texts and plain(h.texts, _TEXTS), optional=True),
    Field("view", lambda _: None, optional=True),
    Field("categories", category_rows),
    Field("responses", response_rows, optional=True),
    Field("cautions", lambda h: caution_maps(histogram_cautions(h))),
)


def histogram_map(histogram: Histogram, view: View = View.UNBIASED) -> Json:
    """Return a histogram as plain values for JSON; a missing number is None.

    With a view other than the unbiased one, categories also have that view's values.
    """
    fields = plain(histogram, _HISTOGRAM)
    if view is View.UNBIASED:
        return fields
    pairs = zip(fields["categories"], plain_value(histogram.view(view)), strict=True)
    return fields | {
        "cautions": caution_maps(histogram_cautions(histogram, view=view)),
        "view": str(view),
        "categories": [{**row, "shown": value} for row, value in pairs],
    }


def histogram_columns(histogram: Histogram) -> dict[str, Any]:
    """Return the columns of a table: a row per category, or per statistic of a numeric survey."""
    if histogram.numeric is not None:
        rows = statistic_rows(numeric_map(histogram.numeric))
        names = ["statistic", *_STATISTIC]
    else:
        rows = category_rows(histogram)
        names = [name for name in rows[0] if name != "raw" or not histogram.responses]
    return {name: [row.get(name) for row in rows] for name in names}


def histogram_metadata(histogram: Histogram) -> dict[str, str]:
    """Return the fields that all rows share, as texts."""
    fields = plain(histogram, tuple(field for field in _HISTOGRAM if field.name in _METADATA))
    texts = {name: str(fields[name]) for name in _METADATA if fields[name] is not None}
    fakes = str(histogram.poisoning.fewest_fakes)
    return {**texts, "epochs": " ".join(map(str, histogram.epochs)), "fewest_fakes": fakes}


_METADATA: Final = (
    *("survey", "survey_id", "question", "start", "end", "state", "seal", "n", "level"),
    *("mechanism", "epsilon", "delta", "enrolment"),
)
_STATISTIC: Final = (
    *("estimate", "standard_error", "low", "high", "influence", "blur", "too_wide"),
)
_NUMBERS: Final = ("estimate", "low", "high")
_WHOLE: Final = (
    *("n", "start", "end", "survey", "epoch", "standard_error", "level", "bias_at_1_percent"),
    *("state", "epsilon", "delta", "enrolment", "distrusted", "fewest_fakes"),
    *("kept_first", "kept_last", "cautions", "survey_id"),
)
_MARKS: Final = (
    *("count", "count_low", "count_high", "answered", "own_low", "own_high"),
    *("raw", "method", "outside", "impossible"),
)
_OF_STATISTICS: Final = ("too_wide", "blur")


def histogram_csv(histogram: Histogram, view: View = View.UNBIASED) -> str:
    """Return a histogram as CSV, one row per category; a missing number is empty.

    A numeric survey, whose single values are noise, has one row per statistic. If responses are not
    the categories, a row for each observed one follows those of the categories; if the categories
    are combinations of answers to several questions, a row for each answer.
    """
    whole = histogram_map(histogram, view)
    first, last = whole["kept_range"] or (None, None)
    shared = whole | whole["poisoning"]
    epochs = " ".join(map(str, whole["epochs"]))
    codes = " ".join(caution["code"] for caution in whole["cautions"])
    shared |= {"epoch": epochs, "kept_first": first, "kept_last": last, "cautions": codes}
    if whole["numeric"] is not None:
        return rows_csv(
            ("statistic", *_NUMBERS, "outside", *_WHOLE, *_OF_STATISTICS),
            map(_with_bias, statistic_rows(whole["numeric"])),
            shared,
        )
    rows, labels = whole["categories"], ["category"]
    if "responses" in whole:
        labels.append("response")
        rows = rows + [{"level": None, **row} for row in whole["responses"]]
    rows = rows + crossed_rows(histogram)
    seen = () if view is View.UNBIASED else ("view", "shown")
    columns = (*labels, *_NUMBERS, *seen, *_MARKS, *_WHOLE)
    return rows_csv(columns, map(_as_on_page, map(_with_bias, rows)), shared)


def _as_on_page(row: Json) -> Json:
    """Return a row with the interval that pages show, beside its own; raw counts have none."""
    if "simultaneous_low" not in row:
        return row
    return at_once(row) | {"own_low": row["low"], "own_high": row["high"]}


def _with_bias(row: Json) -> Json:
    """Return a row with its own bias from 1 % of fakes; raw counts have no bias."""
    influence = row.get("influence")
    return row | {"bias_at_1_percent": None if influence is None else 0.01 * influence}


def statistic_rows(numeric: Json) -> list[Json]:
    """Return a row for each statistic of a numeric survey's map."""
    mean = {"statistic": "mean", "blur": 0}
    other = {"blur": numeric["blur"], "outside": False}
    rows = [numeric["mean"] | mean]
    for quartile in numeric["quartiles"]:
        name = QUARTILES[quartile["probability"]]
        rows.append(other | quartile | {"statistic": name, "estimate": quartile["value"]})
    return rows + [
        other | group | {"statistic": f"share of {group['bin']}"} for group in numeric["bins"]
    ]


presents(Histogram, map=histogram_map, columns=histogram_columns, metadata=histogram_metadata)
