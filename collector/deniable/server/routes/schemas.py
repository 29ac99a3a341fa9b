"""The JSON that the collector answers, as JSON Schemas for ``/openapi.json``."""

from collections.abc import Mapping
from typing import Final

from deniable.documents.schema import COUNT, DECIMAL, ID, TEXT, Json, array_of, one_of, or_null
from deniable.mechanisms import KINDS
from deniable.messages import RefusalCode
from deniable.reading import NOTES_SCHEMA
from deniable.reading.epochs import EpochState


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


_REPEAT: Final = _object(
    {"kind": one_of("fresh", "memoised")}, optional={"epochs": {"type": "integer", "minimum": 2}}
)
_OF_SURVEY: Final = {"survey": TEXT, "survey_id": ID}
_STATE: Final = one_of(*EpochState)
_RELAYED: Final = "if reports of this epoch were taken only by way of relays"
_WHOLE: Final = "if these are all the counts that the seal is over"
_SCHEMAS: Final[dict[str, Json]] = {
    "Health": _object({"status": one_of("ok")}),
    "Readiness": _object({"status": one_of("ready")}, _alike(COUNT, "workers", "workers_wanted")),
    "Problem": _object(
        _alike(TEXT, "type", "title"),
        {"status": {"type": "integer"}},
        optional={"detail": TEXT},
        description="RFC 9457; nothing of what was sent is repeated",
    ),
    "UploadAnswer": _object(
        _alike(COUNT, "accepted", "duplicates"),
        {"refused": array_of(_object({"index": COUNT, "code": one_of(*RefusalCode)}))},
        description="what became of each report; what is accepted or duplicate is durable",
    ),
    "Survey": _object(
        _alike(TEXT, "name", "question", "pure_epsilon"),
        _alike(COUNT, "sequence", "start", "epoch_seconds", "epochs", "grace_seconds"),
        _alike(DECIMAL, "epsilon", "delta"),
        {
            "survey_id": ID,
            "categories": array_of(TEXT, minItems=2),
            "mechanism": one_of(*KINDS),
            "repeat": _REPEAT,
            "enrolment": one_of("open", "certificate", "blind"),
            "minimum_reports": COUNT,
            "ended_at": or_null(COUNT),
        },
        optional={
            "distance": one_of("absolute", "circular", "table"),
            "ratio": TEXT,
            "kept": DECIMAL,
            **_alike(TEXT, "fresh", "questions", "widths"),
            **_alike({"type": "string", "pattern": "^[0-9]+$"}, "d", "q", "m", "s", "v"),
        },
        description="what is being asked, with its privacy terms",
    ),
    "Surveys": _object({"surveys": array_of(reference("Survey"))}),
    "Epochs": _object(
        {
            **_OF_SURVEY,
            "epochs": array_of(
                _object(
                    _alike(or_null({"type": "string", "format": "date-time"}), "start", "end"),
                    _alike(COUNT, "epoch", "n"),
                    _alike(or_null(COUNT), "sealed_at", "pruned_at"),
                    {
                        "state": _STATE,
                        "seal": or_null(ID),
                        "whole": {**or_null({"type": "boolean"}), "description": _WHOLE},
                    },
                )
            ),
            "distrusted_issuers": array_of(ID),
        },
        description="the epochs that have figures",
    ),
    "Notes": _object({"survey": TEXT, "notes": NOTES_SCHEMA}),
    "Counts": _object(
        {
            **_OF_SURVEY,
            "meaning": TEXT,
            "epochs": array_of(
                _object(
                    _alike(COUNT, "epoch", "n", "distrusted"),
                    {
                        "state": _STATE,
                        "seal": or_null(ID),
                        "whole": {"type": "boolean", "description": _WHOLE},
                        "relayed": {"type": "boolean", "description": _RELAYED},
                        "counts": array_of(
                            _object(
                                _alike(array_of(COUNT), "responses", "reports"),
                                {"issuer": or_null(ID)},
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
    # With numpy and scipy.
    from deniable.estimates import COMPARISON_SCHEMA, HISTOGRAM_SCHEMAS, SERIES_SCHEMA

    own = {"Series": SERIES_SCHEMA, "Comparison": COMPARISON_SCHEMA}
    return _SCHEMAS | HISTOGRAM_SCHEMAS | own
