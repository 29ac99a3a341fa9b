"""The JSON that the collector answers, as JSON Schemas for ``/openapi.json``."""

from collections.abc import Mapping
from typing import Any, Final

from deniable.mechanisms import KINDS
from deniable.messages import RefusalCode
from deniable.reading.epochs import EpochState

Json = dict[str, Any]

_TEXT: Final[Json] = {"type": "string"}
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_ID: Final[Json] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_DECIMAL: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}


def reference(name: str) -> Json:
    """Return a reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(
    *members: Mapping[str, Json], optional: Mapping[str, Json] | None = None, description: str = ""
) -> Json:
    """Return the schema of an object that has these members and no others."""
    required = {name: schema for part in members for name, schema in part.items()}
    return {
        "type": "object",
        "properties": required | dict(optional or {}),
        "required": list(required),
        "additionalProperties": False,
        **({"description": description} if description else {}),
    }


def _alike(schema: Json, *names: str) -> Mapping[str, Json]:
    return dict.fromkeys(names, schema)


def _list(items: Json, **more: object) -> Json:
    return {"type": "array", "items": items, **more}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(*texts: str) -> Json:
    return {"type": "string", "enum": list(texts)}


_REPEAT: Final = _object(
    {"kind": _one_of("fresh", "memoised")}, optional={"epochs": {"type": "integer", "minimum": 2}}
)
_OF_SURVEY: Final = {"survey": _TEXT, "survey_id": _ID}
_STATE: Final = _one_of(*EpochState)
_WHOLE: Final = "if these are all the counts that the seal is over"
_SCHEMAS: Final[dict[str, Json]] = {
    "Health": _object({"status": _one_of("ok")}),
    "Readiness": _object({"status": _one_of("ready")}, _alike(_COUNT, "workers", "workers_wanted")),
    "Problem": _object(
        _alike(_TEXT, "type", "title"),
        {"status": {"type": "integer"}},
        optional={"detail": _TEXT},
        description="RFC 9457; nothing of what was sent is repeated",
    ),
    "UploadAnswer": _object(
        _alike(_COUNT, "accepted", "duplicates"),
        {"refused": _list(_object({"index": _COUNT, "code": _one_of(*RefusalCode)}))},
        description="what became of each report; what is accepted or duplicate is durable",
    ),
    "Survey": _object(
        _alike(_TEXT, "name", "question", "pure_epsilon"),
        _alike(_COUNT, "sequence", "start", "epoch_seconds", "epochs", "grace_seconds"),
        _alike(_DECIMAL, "epsilon", "delta"),
        {
            "survey_id": _ID,
            "categories": _list(_TEXT, minItems=2),
            "mechanism": _one_of(*KINDS),
            "repeat": _REPEAT,
            "enrolment": _one_of("open", "certificate"),
            "minimum_reports": _COUNT,
            "ended_at": _or_null(_COUNT),
        },
        optional={
            "distance": _one_of("absolute", "circular", "table"),
            "ratio": _TEXT,
            "kept_epsilon": _DECIMAL,
            "questions": _TEXT,
            **_alike({"type": "string", "pattern": "^[0-9]+$"}, "d", "q", "m", "s"),
        },
        description="what is being asked, with its privacy terms",
    ),
    "Surveys": _object({"surveys": _list(reference("Survey"))}),
    "Epochs": _object(
        {
            **_OF_SURVEY,
            "epochs": _list(
                _object(
                    _alike(_or_null({"type": "string", "format": "date-time"}), "start", "end"),
                    _alike(_COUNT, "epoch", "n"),
                    _alike(_or_null(_COUNT), "sealed_at", "pruned_at"),
                    {
                        "state": _STATE,
                        "seal": _or_null(_ID),
                        "whole": {**_or_null({"type": "boolean"}), "description": _WHOLE},
                    },
                )
            ),
            "distrusted_issuers": _list(_ID),
        },
        description="the epochs that have figures",
    ),
    "Counts": _object(
        {
            **_OF_SURVEY,
            "meaning": _TEXT,
            "epochs": _list(
                _object(
                    _alike(_COUNT, "epoch", "n", "distrusted"),
                    {
                        "state": _STATE,
                        "seal": _or_null(_ID),
                        "whole": {"type": "boolean", "description": _WHOLE},
                        "counts": _list(
                            _object(
                                _alike(_list(_COUNT), "responses", "reports"),
                                {"issuer": _or_null(_ID)},
                            )
                        ),
                    },
                ),
                minItems=1,
            ),
        },
        description="how often each response was counted; with a whole one, apart by issuer",
    ),
}


def schemas() -> dict[str, Json]:
    """Return the schemas by name; each object has exactly the members that it lists."""
    from deniable.estimates import HISTOGRAM_SCHEMAS, SERIES_SCHEMA  # with numpy and scipy

    return _SCHEMAS | HISTOGRAM_SCHEMAS | {"Series": SERIES_SCHEMA}
