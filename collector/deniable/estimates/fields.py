"""The fields of a histogram, once: its JSON, that JSON's schema, its CSV and its tables follow."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np

from deniable.estimates.epochs import EpochState, iso_time
from deniable.mechanisms import KINDS

Json = dict[str, Any]

_TEXT: Final[Json] = {"type": "string"}
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Json] = {"type": "number"}
_BOOLEAN: Final[Json] = {"type": "boolean"}
_ID: Final[Json] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_DECIMAL: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}


class Field(NamedTuple):
    """One member of an object, or one column of a table; optional if left out where it is null.

    It shows the attribute of its name, or another, by its dotted path, or what the source makes.
    """

    name: str
    schema: Json
    source: str | Callable[[Any], object] = ""
    optional: bool = False

    def of(self, shown: Any) -> Any:
        """Return the plain value, for JSON."""
        if callable(self.source):
            return _plain(self.source(shown))
        for name in (self.source or self.name).split("."):
            shown = None if shown is None else getattr(shown, name)
        return _plain(shown)


Fields = tuple[Field, ...]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [None if each != each else each for each in value.tolist()]
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and math.isnan(value) else value


def plain(shown: object, fields: Fields) -> Json:
    """Return plain values for JSON."""
    values = ((field, field.of(shown)) for field in fields)
    return {field.name: value for field, value in values if value is not None or not field.optional}


def _object(*fields: Field) -> Json:
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields if not field.optional],
        "additionalProperties": False,
    }


def _list(items: Json, **more: object) -> Json:
    return {"type": "array", "items": items, **more}


def _or_null(schema: Json, **more: object) -> Json:
    return {"anyOf": [schema, {"type": "null"}], **more}


def _figures(summary: Any, figures: Sequence[Any], fields: Fields) -> list[Json]:
    return [plain(each, fields) | {"too_wide": summary.too_wide(each)} for each in figures]


_ESTIMATE: Final = (
    Field("estimate", _NUMBER, "value"),
    Field("standard_error", _or_null(_NUMBER)),
    Field("low", _NUMBER),
    Field("high", _NUMBER),
    Field("outside", _BOOLEAN),
)
_QUARTILE: Final = tuple(Field(name, _NUMBER) for name in ("probability", "value", "low", "high"))
_BIN: Final = (
    Field("bin", _TEXT, "label"),
    *(field._replace(source=f"share.{field.source or field.name}") for field in _ESTIMATE),
)
_TOO_WIDE: Final = Field(
    "too_wide",
    {**_BOOLEAN, "description": "the interval covers more than half of what is possible"},
)
_BLUR: Final = (
    "values to either side over which estimate and standard_error of a bin, and a quartile's "
    "value, are smoothed; low and high allow for it"
)
_NUMERIC: Final = (
    Field("mean", _object(*_ESTIMATE, _TOO_WIDE), lambda s: _figures(s, [s.mean], _ESTIMATE)[0]),
    Field("influence", _NUMBER),
    Field(
        "quartiles",
        _list(_object(*_QUARTILE, _TOO_WIDE)),
        lambda s: _figures(s, s.quartiles, _QUARTILE),
    ),
    Field("blur", {**_COUNT, "description": _BLUR}),
    Field("bins", _list(_object(*_BIN, _TOO_WIDE)), lambda s: _figures(s, s.bins, _BIN)),
)
_ANSWERS: Final = (Field("answer", _TEXT), *_ESTIMATE)
_MARGIN: Final = (
    Field("question", _TEXT),
    Field("n", {**_COUNT, "description": "reports that tell of the question"}),
    Field("answers", _list(_object(*_ANSWERS)), lambda margin: margin_rows(margin)),
)
_POISONING: Final = (
    Field("influence", _NUMBER),
    Field("set_influence", _NUMBER),
    Field("bias_at_1_percent", _NUMBER, lambda poisoning: poisoning.bias(0.01)),
    Field("bias_at_5_percent", _NUMBER, lambda poisoning: poisoning.bias(0.05)),
    Field("fakes_for_one_error", _or_null(_COUNT)),
    Field("detectable_share", _or_null(_NUMBER)),
    Field("false_alarm", _NUMBER),
    Field("fewest_fakes", _COUNT),
)
# Columns: each value is a list with one entry a category, or a response.
_CATEGORY: Final = (
    Field("category", _TEXT, "categories"),
    Field(
        "raw",
        _or_null(_COUNT, description="null where responses are not the categories"),
        lambda h: (None,) * len(h.categories) if h.responses else h.raw,
    ),
    Field("estimate", _NUMBER),
    Field("standard_error", _or_null(_NUMBER)),
    Field("low", _NUMBER),
    Field("high", _NUMBER),
    Field("method", _TEXT, "methods"),
    Field("outside", _BOOLEAN),
    Field("impossible", _BOOLEAN, "poisoning.impossible"),
)
_RESPONSE: Final = (
    Field("response", _TEXT, "responses"),
    Field("raw", _COUNT),
    Field("impossible", _BOOLEAN, "poisoning.impossible_responses"),
)


def estimate_map(estimate: object) -> Json:
    """Return an estimate and its interval."""
    return plain(estimate, _ESTIMATE)


def margin_rows(margin: Any) -> list[Json]:
    """Return what is told of each answer to one of several questions."""
    pairs = zip(margin.answers, margin.shares, strict=True)
    return [{"answer": answer, **estimate_map(share)} for answer, share in pairs]


def crossed_rows(histogram: Any) -> list[Json]:
    """Return what is told of single questions' answers, where categories are combinations."""
    rows = [
        {**row, "category": f"{each.question}: {row['answer']}"}
        for each in histogram.margins
        for row in margin_rows(each)
    ]
    return [] if [row["category"] for row in rows] == list(histogram.categories) else rows


def numeric_map(summary: object) -> Json:
    """Return the summary of a numeric survey."""
    return plain(summary, _NUMERIC)


def _rows(histogram: object, columns: Fields) -> list[Json]:
    names, values = [c.name for c in columns], [c.of(histogram) for c in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def category_rows(histogram: object) -> list[Json]:
    """Return what is told of each category."""
    return _rows(histogram, _CATEGORY)


def response_rows(histogram: Any) -> list[Json] | None:
    """Return what is told of each response that was seen; None if responses are categories."""
    if not histogram.responses:
        return None
    return [row for row in _rows(histogram, _RESPONSE) if row["raw"] or row["impossible"]]


_TIME: Final = _or_null({"type": "string", "format": "date-time"})
_SHARES: Final = "give all bins ± 10 percentage points, if answers are spread evenly; "
_OF_SEVERAL: Final = "each question's shares, of a survey of several"
_SEEN: Final = "those that were seen, of a survey whose responses are not its categories"
_HISTOGRAM: Final = (
    Field("survey", _TEXT),
    Field("survey_id", _ID),
    Field("question", _TEXT),
    Field("epochs", _list(_COUNT)),
    Field("start", _TIME, lambda h: iso_time(h.start)),
    Field("end", _TIME, lambda h: iso_time(h.end)),
    Field("state", _or_null({"type": "string", "enum": [*map(str, EpochState)]}), "standing.state"),
    Field("seal", _or_null(_ID), "standing.seal"),
    Field("n", _COUNT),
    Field("level", _NUMBER),
    Field("model", _TEXT),
    Field("mechanism", {"type": "string", "enum": [*KINDS]}),
    Field("epsilon", _DECIMAL),
    Field("delta", _DECIMAL),
    Field("pure_epsilon", _TEXT),
    Field("enrolment", _TEXT),
    Field("poisoning", _object(*_POISONING), lambda h: plain(h.poisoning, _POISONING)),
    Field("reports_for_five_points", _COUNT),
    Field("reports_for_shares", _or_null(_COUNT, description=f"{_SHARES}null unless numeric")),
    Field("distrusted", _COUNT),
    Field("kept_range", _or_null(_list(_COUNT, minItems=2, maxItems=2))),
    Field(
        "numeric",
        _or_null({"$ref": "#/components/schemas/Numeric"}),
        lambda h: h.numeric and numeric_map(h.numeric),
    ),
    Field(
        "margins",
        _list(_object(*_MARGIN), description=_OF_SEVERAL),
        lambda h: [plain(each, _MARGIN) for each in h.margins] or None,
        optional=True,
    ),
    Field("categories", _list(_object(*_CATEGORY)), category_rows),
    Field("responses", _list(_object(*_RESPONSE), description=_SEEN), response_rows, optional=True),
)
HISTOGRAM_SCHEMAS: Final[dict[str, Json]] = {
    "Histogram": {
        **_object(*_HISTOGRAM),
        "description": "debiased frequencies of one epoch; operations.md says what each means",
    },
    "Numeric": _object(*_NUMERIC),
}
"""JSON Schemas by the names under which they refer to each other."""


def histogram_map(histogram: object) -> Json:
    """Return a histogram as plain values for JSON; a number that does not exist is None."""
    return plain(histogram, _HISTOGRAM)


_FORMULA_SIGNS: Final = tuple("=+-@\t\r")
_FIRST: Final = ("survey", "survey_id", "epoch", "n")
_NUMBERS: Final = ("estimate", "standard_error", "low", "high", "level")
_WHOLE: Final = (
    *("bias_at_1_percent", "start", "end", "state", "epsilon", "delta", "enrolment"),
    *("distrusted", "fewest_fakes", "kept_first", "kept_last"),
)
_MARKS: Final = ("method", "outside", "impossible")
_OF_STATISTICS: Final = ("too_wide", "blur", "reports_for_shares")


def histogram_csv(histogram: object) -> str:
    """Return a histogram as CSV, one row a category; a number that does not exist is empty.

    Of a numeric survey, whose single values are noise, one row a statistic. If responses are not
    the categories, a row for each that was seen comes after those of the categories; if these are
    combinations of answers to several questions, a row for each answer.
    """
    whole = histogram_map(histogram)
    first, last = whole["kept_range"] or (None, None)
    shared = whole | whole["poisoning"]
    shared |= {"epoch": whole["epochs"][0], "kept_first": first, "kept_last": last}
    if whole["numeric"] is not None:
        return _written(
            (*_FIRST, "statistic", *_NUMBERS, "outside", *_WHOLE, *_OF_STATISTICS),
            shared,
            _statistics(whole["numeric"]),
        )
    rows, labels = whole["categories"], ["category"]
    if "responses" in whole:
        labels.append("response")
        rows = rows + [{"level": None, **row} for row in whole["responses"]]
    rows = rows + crossed_rows(histogram)
    return _written((*_FIRST, *labels, "raw", *_NUMBERS, *_MARKS, *_WHOLE), shared, rows)


def _statistics(numeric: Json) -> list[Json]:
    mean = {"statistic": "mean", "blur": 0, "bias_at_1_percent": 0.01 * numeric["influence"]}
    other = {"blur": numeric["blur"], "bias_at_1_percent": None, "outside": False}
    rows = [numeric["mean"] | mean]
    for each in numeric["quartiles"]:
        name = f"quantile {each['probability']}"
        rows.append(other | each | {"statistic": name, "estimate": each["value"]})
    return rows + [
        other | each | {"statistic": f"share of {each['bin']}"} for each in numeric["bins"]
    ]


def _written(columns: Sequence[str], shared: Json, rows: Iterable[Mapping[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_cell(row.get(column, shared.get(column))) for column in columns)
    return stream.getvalue()


def _cell(value: object) -> object:
    # A spreadsheet would run a text that looks like a formula.
    if isinstance(value, str) and value.startswith(_FORMULA_SIGNS):
        return f"'{value}"
    return int(value) if isinstance(value, bool) else value
