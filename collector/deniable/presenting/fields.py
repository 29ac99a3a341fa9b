"""The fields of a histogram, defined once for its JSON, the schema, its CSV and its tables."""

from collections.abc import Sequence
from typing import Any, Final

from deniable.documents import caution_maps
from deniable.documents.programs import (
    BOOLEAN,
    COUNT,
    DECIMAL,
    ID,
    NUMBER,
    TEXT,
    Field,
    Fields,
    Json,
    array_of,
    object_of,
    one_of,
    or_null,
    plain,
    plain_value,
    rows_csv,
)
from deniable.estimates.curve import QUARTILES
from deniable.estimates.frequencies import View
from deniable.estimates.histogram import Histogram
from deniable.estimates.results import presents
from deniable.mechanisms import KINDS
from deniable.presenting.cautions import CAUTIONS_SCHEMA, histogram_cautions
from deniable.presenting.estimate import curve_rows
from deniable.presenting.revealed import REVEALED
from deniable.presenting.rows import (
    CATEGORY,
    COUNTED,
    ESTIMATE,
    RESPONSE,
    TIME,
    at_once,
    category_rows,
    crossed_rows,
    enrolment_text,
    margin_rows,
    response_rows,
)
from deniable.reading.epochs import EpochState, iso_time


def _figures(summary: Any, figures: Sequence[Any], fields: Fields) -> list[Json]:
    return [plain(figure, fields) | {"too_wide": summary.too_wide(figure)} for figure in figures]


_QUARTILE: Final = tuple(Field(name, NUMBER) for name in ("probability", "value", "low", "high"))
_BIN: Final = (
    Field("bin", TEXT, "label"),
    *(field._replace(source=f"share.{field.source or field.name}") for field in ESTIMATE),
)
_TOO_WIDE: Final = Field(
    "too_wide",
    {**BOOLEAN, "description": "the interval covers more than half of the possible range"},
)
_BLUR: Final = (
    "number of values to either side over which a bin's estimate and standard_error and a "
    "quartile's value are smoothed; low and high allow for this"
)
_NUMERIC: Final = (
    Field("mean", object_of(*ESTIMATE, _TOO_WIDE), lambda s: _figures(s, [s.mean], ESTIMATE)[0]),
    Field("influence", NUMBER, "mean.influence"),
    Field(
        "quartiles",
        array_of(object_of(*_QUARTILE, _TOO_WIDE)),
        lambda s: _figures(s, s.quartiles, _QUARTILE),
    ),
    Field("blur", {**COUNT, "description": _BLUR}),
    Field("bins", array_of(object_of(*_BIN, _TOO_WIDE)), lambda s: _figures(s, s.bins, _BIN)),
)
_CURVE: Final = (
    Field("category", TEXT),
    Field("estimate", NUMBER),
    Field(
        "rising",
        {**NUMBER, "description": "the nearest values that stay in [0, 1] and do not fall"},
    ),
    Field("low", NUMBER),
    Field("high", NUMBER),
)
_OF_ANSWERS: Final = (
    Field("probability", NUMBER),
    *(Field(name, TEXT) for name in ("value", "low", "high")),
)
_DISTRIBUTION: Final = (
    Field(
        "quartiles",
        array_of(object_of(*_OF_ANSWERS)),
        lambda d: [plain(quartile, _OF_ANSWERS) for quartile in d.quartiles],
    ),
    Field(
        "curve",
        array_of(
            object_of(*_CURVE),
            description="share of all answers up to this one; low and high hold for all at once",
        ),
        lambda d: curve_rows(d),
    ),
    Field(
        "deviations",
        {**NUMBER, "description": "half-width of the band in standard errors"},
        "curve.deviations",
    ),
    Field("blur", {**COUNT, "description": _BLUR}, "curve.blur"),
    Field(
        "withheld",
        {
            "type": "boolean",
            "description": "whether there are too few reports for the band, which pages and "
            "commands then hide",
        },
        "withheld",
    ),
)
_ANSWERS: Final = (Field("answer", TEXT), *ESTIMATE)
_MARGIN: Final = (
    Field("question", TEXT),
    Field("n", {**COUNT, "description": "reports about the question"}),
    Field("answers", array_of(object_of(*_ANSWERS)), lambda margin: margin_rows(margin)),
)
_POISONING: Final = (
    Field("influence", NUMBER),
    Field("set_influence", NUMBER),
    Field("bias_at_1_percent", NUMBER, lambda poisoning: poisoning.bias(0.01)),
    Field("bias_at_5_percent", NUMBER, lambda poisoning: poisoning.bias(0.05)),
    Field("fakes_for_one_error", or_null(COUNT)),
    Field("detectable_share", or_null(NUMBER)),
    Field("false_alarm", NUMBER),
    Field("fewest_fakes", COUNT),
)
_VIEWS: Final = [str(view) for view in View if view is not View.UNBIASED]
_SHOWN: Final = Field(
    "shown",
    {**NUMBER, "description": "the share in the view, unless the view is unbiased"},
    optional=True,
)


def numeric_map(summary: object) -> Json:
    """Return the summary of a numeric survey."""
    return plain(summary, _NUMERIC)


_STAGE: Final = (
    Field("length", {**COUNT, "description": "length of the prefixes, in characters"}),
    Field("reports", COUNT),
    Field("tested", COUNT),
    Field(
        "standing",
        {**COUNT, "description": "number of texts that stand out"},
        lambda one: len(one.texts),
    ),
    Field("rarest", or_null(NUMBER, description="smallest share that stands out")),
)
_TEXTS: Final = (
    Field("reports", {**COUNT, "description": "number of reports about all lengths"}),
    Field(
        "least", {**COUNT, "description": "each text that is shown is on more devices than this"}
    ),
    Field("rarest", or_null(NUMBER, description="smallest share of a text that can stand out")),
    Field(
        "fakes", {**COUNT, "description": "about this many fake reports put any text in the list"}
    ),
    Field("whole", {**BOOLEAN, "description": "whether categories are texts, not prefixes"}),
    Field("of_list", {**BOOLEAN, "description": "whether a list was tested"}),
    Field(
        "hidden", {**COUNT, "description": "texts that the operator hides"}, lambda t: len(t.hidden)
    ),
    Field("stages", array_of(object_of(*_STAGE)), lambda t: [plain(s, _STAGE) for s in t.stages]),
)


_OF_SEVERAL: Final = "each question's shares, if a survey has several questions"
_SEEN: Final = "observed responses, if these are not the categories"
_HISTOGRAM: Final = (
    Field("survey", TEXT),
    Field("survey_id", ID),
    Field("question", TEXT),
    Field("epochs", array_of(COUNT)),
    Field("start", TIME, lambda h: (h.start is not None and iso_time(h.start)) or None),
    Field("end", TIME, lambda h: (h.end is not None and iso_time(h.end)) or None),
    Field("state", or_null(one_of(*EpochState)), "standing.state"),
    Field("seal", or_null(ID), "standing.seal"),
    Field("n", COUNT),
    Field("level", NUMBER),
    Field("model", TEXT),
    Field("mechanism", one_of(*KINDS)),
    Field("epsilon", DECIMAL),
    Field("delta", DECIMAL),
    Field("pure_epsilon", TEXT),
    Field("enrolment", TEXT, enrolment_text),
    Field(
        "anonymity_set",
        or_null(COUNT, description="reports of one survey id and epoch; null unless blind"),
    ),
    Field("poisoning", object_of(*_POISONING), lambda h: plain(h.poisoning, _POISONING)),
    Field("reports_for_five_points", COUNT),
    Field("distrusted", COUNT),
    Field(
        "revealed",
        {**object_of(*REVEALED), "description": "what figures alone reveal about one device"},
        lambda h: plain(h.revealed(), REVEALED),
    ),
    Field("kept_range", or_null(array_of(COUNT, minItems=2, maxItems=2))),
    Field(
        "numeric",
        or_null({"$ref": "#/components/schemas/Numeric"}),
        lambda h: h.numeric and numeric_map(h.numeric),
    ),
    Field(
        "distribution",
        or_null({"$ref": "#/components/schemas/Distribution"}),
        lambda h: plain(h.distribution(), _DISTRIBUTION) if h.ordered else None,
    ),
    Field(
        "margins",
        array_of(object_of(*_MARGIN), description=_OF_SEVERAL),
        lambda h: [plain(margin, _MARGIN) for margin in h.margins] or None,
        optional=True,
    ),
    Field(
        "texts",
        {**object_of(*_TEXTS), "description": "what was found, if answers are texts"},
        lambda h: h.texts and plain(h.texts, _TEXTS),
        optional=True,
    ),
    Field("view", one_of(*_VIEWS), lambda _: None, optional=True),
    Field("categories", array_of(object_of(*CATEGORY, *COUNTED, _SHOWN)), category_rows),
    Field(
        "responses",
        array_of(object_of(*RESPONSE), description=_SEEN),
        response_rows,
        optional=True,
    ),
    Field("cautions", CAUTIONS_SCHEMA, lambda h: caution_maps(histogram_cautions(h))),
)
_COVARIANCE: Final = (
    Field("survey", TEXT),
    Field("survey_id", ID),
    Field("epochs", array_of(COUNT)),
    Field("n", COUNT),
    Field("model", TEXT),
    Field("categories", array_of(TEXT)),
    Field("covariance", array_of(array_of(NUMBER)), lambda h: h.covariance.tolist()),
)
HISTOGRAM_SCHEMAS: Final[dict[str, Json]] = {
    "Covariance": {
        **object_of(*_COVARIANCE),
        "description": "covariance C of the unbiased frequencies, with a row per category: w C w "
        "is the variance of the sum of all frequencies, each multiplied by its "
        "weight in w",
    },
    "Distribution": {
        **object_of(*_DISTRIBUTION),
        "description": "distribution of ordered answers, by name; null if answers have no order",
    },
    "Histogram": {
        **object_of(*_HISTOGRAM),
        "description": "debiased frequencies of one epoch; routes.md explains each field",
    },
    "Numeric": object_of(*_NUMERIC),
}
"""JSON Schemas by the names with which they refer to each other."""


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
        "categories": [{**row, _SHOWN.name: value} for row, value in pairs],
    }


def covariance_map(histogram: Histogram) -> Json:
    """Return the covariance of a histogram's frequencies as plain values for JSON."""
    return plain(histogram, _COVARIANCE)


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
    *("survey", "survey_id", "question", "start", "end", "state", "seal", "n", "level", "model"),
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
    seen = () if view is View.UNBIASED else ("view", _SHOWN.name)
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
