"""The JSON that the collector answers, as JSON Schemas for ``/openapi.json``."""

from collections.abc import Mapping
from typing import Any, Final

from deniable.messages import RefusalCode

__all__ = ["SCHEMAS", "Json"]

Json = dict[str, Any]

_TEXT: Final[Json] = {"type": "string"}
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Json] = {"type": "number"}
_ID: Final[Json] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_DECIMAL: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}
_MECHANISM: Final[Json] = {
    "type": "string",
    "enum": ["randomised-response", "two-round", "ordinal", "numeric"],
}
_ENROLMENT: Final[Json] = {"type": "string", "enum": ["open", "certificate"]}


def _object(properties: Mapping[str, Json], optional: Mapping[str, Json] | None = None) -> Json:
    """Return the schema of an object that has these members and no others."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Json, **more: object) -> Json:
    return {"type": "array", "items": items, **more}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_ESTIMATE: Final[Json] = {
    "estimate": _NUMBER,
    "standard_error": _or_null(_NUMBER),
    "low": _NUMBER,
    "high": _NUMBER,
    "outside": {"type": "boolean"},
}
_TOO_WIDE: Final[Json] = {
    "too_wide": {
        "type": "boolean",
        "description": "the interval covers more than half of what is possible",
    }
}

SCHEMAS: Final[dict[str, Json]] = {
    "Status": _object({"status": {"type": "string", "enum": ["ok", "ready"]}}),
    "Problem": {
        **_object(
            {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}}, {"detail": _TEXT}
        ),
        "description": "RFC 9457; nothing of what was sent is repeated",
    },
    "UploadAnswer": {
        **_object(
            {
                "accepted": _COUNT,
                "duplicates": _COUNT,
                "refused": _list(
                    _object(
                        {
                            "index": _COUNT,
                            "code": {"type": "string", "enum": [*map(str, RefusalCode)]},
                        }
                    )
                ),
            }
        ),
        "description": "what became of each report; what is accepted or duplicate is durable",
    },
    "Survey": {
        **_object(
            {
                "name": _TEXT,
                "survey_id": _ID,
                "sequence": _COUNT,
                "question": _TEXT,
                "categories": _list(_TEXT, minItems=2),
                "mechanism": _MECHANISM,
                "repeat": _object(
                    {"kind": {"type": "string", "enum": ["fresh", "memoised"]}},
                    {"epochs": {"type": "integer", "minimum": 2}},
                ),
                "epsilon": _DECIMAL,
                "delta": _DECIMAL,
                "pure_epsilon": _TEXT,
                "start": _COUNT,
                "epoch_seconds": _COUNT,
                "epochs": _COUNT,
                "grace_seconds": _COUNT,
                "enrolment": _ENROLMENT,
                "minimum_reports": _COUNT,
            },
            {
                "distance": {"type": "string", "enum": ["absolute", "circular", "table"]},
                "ratio": _TEXT,
                "kept_epsilon": _DECIMAL,
            },
        ),
        "description": "what is being asked, with its privacy terms",
    },
    "Surveys": _object({"surveys": _list(_ref("Survey"))}),
    "Histogram": {
        **_object(
            {
                "survey": _TEXT,
                "survey_id": _ID,
                "question": _TEXT,
                "epochs": _list(_COUNT),
                "start": _or_null({"type": "string", "format": "date-time"}),
                "end": _or_null({"type": "string", "format": "date-time"}),
                "state": _or_null(
                    {"type": "string", "enum": ["open", "grace", "closed", "sealed"]}
                ),
                "seal": _or_null(_ID),
                "n": _COUNT,
                "level": _NUMBER,
                "model": _TEXT,
                "mechanism": _MECHANISM,
                "epsilon": _DECIMAL,
                "delta": _DECIMAL,
                "pure_epsilon": _TEXT,
                "enrolment": _TEXT,
                "distrusted": _COUNT,
                "poisoning": _object(
                    {
                        "influence": _NUMBER,
                        "bias_at_1_percent": _NUMBER,
                        "bias_at_5_percent": _NUMBER,
                        "fakes_for_one_error": _or_null(_COUNT),
                        "detectable_share": _or_null(_NUMBER),
                        "false_alarm": _NUMBER,
                        "fewest_fakes": _COUNT,
                    }
                ),
                "reports_for_five_points": _COUNT,
                "reports_for_shares": {
                    **_or_null(_COUNT),
                    "description": "give all bins ± 10 percentage points, if answers are spread "
                    "evenly; null unless numeric",
                },
                "kept_range": _or_null(_list(_COUNT, minItems=2, maxItems=2)),
                "numeric": _or_null(_ref("Numeric")),
                "categories": _list(
                    _object(
                        {
                            "category": _TEXT,
                            "raw": _COUNT,
                            **_ESTIMATE,
                            "method": _TEXT,
                            "impossible": {"type": "boolean"},
                        }
                    )
                ),
            }
        ),
        "description": "debiased frequencies of one epoch; operations.md says what each means",
    },
    "Numeric": _object(
        {
            "mean": _object({**_ESTIMATE, **_TOO_WIDE}),
            "influence": _NUMBER,
            "quartiles": _list(
                _object(
                    {
                        "probability": _NUMBER,
                        "value": _NUMBER,
                        "low": _NUMBER,
                        "high": _NUMBER,
                        **_TOO_WIDE,
                    }
                )
            ),
            "blur": {
                **_COUNT,
                "description": "values to either side over which estimate and standard_error of a "
                "bin, and a quartile's value, are smoothed; low and high allow for it",
            },
            "bins": _list(_object({"bin": _TEXT, **_ESTIMATE, **_TOO_WIDE})),
        }
    ),
}
"""By name; each object has exactly the members that it lists."""
