"""``/openapi.json``: the routes and their JSON, described in OpenAPI 3.1."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from deniable.directory import Config
from deniable.documents.programs import COUNT, DECIMAL, ID, TEXT, Json, array_of, one_of, or_null
from deniable.mechanisms import KINDS
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    ERROR_TYPE_PREFIX,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    PROBLEM_JSON,
    RefusalCode,
)
from deniable.oblivious_http import REQUEST_TYPE, RESPONSE_TYPE
from deniable.reading import ACROSS, EPOCHS, ID_PREFIX, OLDER, PREVIOUS, VIEWS
from deniable.reading.epochs import EpochState
from deniable.reading.wire import NOTES_SCHEMA
from deniable.server.problems import STATUSES_TO_RETRY
from deniable.server.routes.routing import CSV, FORMATS, MSGPACK, ROUTES, Route


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
_RELAYED: Final = "whether reports of this epoch were accepted only through relays"
_WHOLE: Final = "whether these are all the counts that the seal covers"
_SCHEMAS: Final[dict[str, Json]] = {
    "Health": _object({"status": one_of("ok")}),
    "Readiness": _object({"status": one_of("ready")}, _alike(COUNT, "workers", "workers_wanted")),
    "Problem": _object(
        _alike(TEXT, "type", "title"),
        {"status": {"type": "integer"}},
        optional={"detail": TEXT},
        description="problem details (RFC 9457), which never repeat the request's content",
    ),
    "UploadAnswer": _object(
        _alike(COUNT, "accepted", "duplicates"),
        {"refused": array_of(_object({"index": COUNT, "code": one_of(*RefusalCode)}))},
        description="the outcome of each report; accepted and duplicate reports are durable",
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
            "published_at": or_null(COUNT),
            "ended_at": or_null(COUNT),
        },
        optional={
            "ratio": TEXT,
            "kept": DECIMAL,
            **_alike(TEXT, "fresh", "questions", "widths", "lengths"),
            **_alike({"type": "string", "pattern": "^[0-9]+$"}, "d", "q", "m", "s", "v"),
        },
        description="current surveys, with their privacy terms",
    ),
    "Surveys": _object({"surveys": array_of(reference("Survey"))}),
    "Epochs": _object(
        {
            **_OF_SURVEY,
            "epochs": array_of(
                _object(
                    _alike(or_null({"type": "string", "format": "date-time"}), "start", "end"),
                    _alike(COUNT, "epoch", "n"),
                    _alike(or_null(COUNT), "sealed_at", "pruned_at", "cut_at"),
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
        description="how often each response was counted; for a whole epoch, split by issuer",
    ),
}


def schemas() -> dict[str, Json]:
    """Return the schemas by name; each object has exactly its listed members."""
    # This imports numpy and scipy.
    from deniable.presenting.comparison import COMPARISON_SCHEMA
    from deniable.presenting.fields import HISTOGRAM_SCHEMAS
    from deniable.presenting.series import SERIES_SCHEMA

    own = {"Series": SERIES_SCHEMA, "Comparison": COMPARISON_SCHEMA}
    return _SCHEMAS | HISTOGRAM_SCHEMAS | own


_OWN: Final = frozenset(code for route in ROUTES for code in route.codes)
_ALWAYS: Final = tuple(code for code in RefusalCode if code.http_status and code not in _OWN)
"""Refusals that any request can get: not HTTP, too slow, a busy collector, a failing store."""

_PREFIX: Final = {"type": "string", "pattern": f"^{ID_PREFIX}$"}
_EPOCHS: Final = {"type": "string", "pattern": f"^{EPOCHS}$"}
_AGAINST: Final = {
    "type": "string",
    "examples": [PREVIOUS, "0-3", OLDER, "name:0-3", f"{ACROSS}2.0"],
}
_LEVEL: Final = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}


def _of(texts: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(texts), "default": texts[0]}


_PARAMETERS: Final = {
    name: {"name": name, "in": "query", "description": description, "schema": schema}
    for name, description, schema in (
        (
            "survey",
            "first hex digits of a survey's id, unique among the surveys of the name",
            _PREFIX,
        ),
        (
            "epoch",
            "epoch, range such as 0-5, last, yesterday, last-week, or days; the newest by default",
            _EPOCHS,
        ),
        (
            "against",
            "previous (the default); epochs; older, a survey's name or an id, optionally with "
            "epochs; or across and a note's text",
            _AGAINST,
        ),
        ("level", "confidence level of each interval; 0.95 by default", _LEVEL),
        (
            "quantile",
            "percentage such as 50 (the median); this quantile replaces the mean, if answers are "
            "numbers",
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
        ),
        ("group", "an answer; several answers are added up, and all others are left out", TEXT),
        ("view", "view of the categories besides the unbiased estimate", _of(VIEWS)),
        ("format", "JSON by default", _of(FORMATS)),
    )
}
_PLACEHOLDERS: Final = {
    f"{{{name}}}": {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "minLength": 1},
    }
    for name, description in (
        ("name", "the survey's name"),
        (
            "path",
            "tile/LEVEL/INDEX, tile/entries/INDEX, either optionally with .p/WIDTH, or large/ID",
        ),
    )
}
_TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token made with: deniable token new; an operator's token includes an "
    "analyst's rights",
}


def openapi_document(config: Config) -> dict[str, Any]:
    """Return the document for a collector with these settings."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": version("deniable"),
            "description": "A known path answers other methods with 405 and lists its own methods "
            "in Allow. It answers an Expect header other than 100-continue with 417.",
        },
        "servers": [{"url": config.origin}],
        "paths": {
            route.path: {
                **({"parameters": [_PLACEHOLDERS[part]]} if (part := route.placeholder) else {}),
                **{method.lower(): _described(route, method) for method in route.methods},
            }
            for route in ROUTES
        },
        "components": {"schemas": schemas(), "securitySchemes": {"token": _TOKEN}},
    }


def _described(route: Route, method: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": route.summary,
        "responses": _answers(route, method),
        "security": [
            *([{"token": [route.role]}] if route.role else []),
            *([{}] if route.public or not route.role else []),
        ],
    }
    if route.parameters:
        described["parameters"] = [_PARAMETERS[name] for name in route.parameters]
    if method == "POST" and route.relayed:
        described["requestBody"] = {
            "required": True,
            "description": f"an encapsulated request of {ENCAPSULATED_REQUEST_BYTES} bytes (RFC "
            "9458), for requests from devices; see docs/protocol.md",
            "content": {REQUEST_TYPE: {}},
        }
    elif method == "POST":
        described["requestBody"] = {
            "required": True,
            "description": f"an array of 1 to {MAX_UPLOAD_REPORTS} envelopes, at most "
            f"{MAX_UPLOAD_BYTES} bytes, without Content-Encoding; see docs/protocol.md",
            "content": {MSGPACK: {}},
        }
    return described


def _answers(route: Route, method: str) -> dict[str, Any]:
    bodiless, opened = method == "HEAD", method == "POST" and route.relayed
    answers: dict[str, Any] = {"200": {"description": route.summary}}
    if not bodiless:
        schema: Json = {"schema": reference(route.schema)} if route.schema else {}
        if "view" in (route.parameters or ()):  # groups are compared with nothing
            schema = {"schema": {"oneOf": [*schema.values(), reference("Comparison")]}}
        answers["200"]["content"] = {RESPONSE_TYPE if opened else route.media: schema}
        if "format" in (route.parameters or ()):
            answers["200"]["content"][CSV] = {}
    if route.tagged:
        tag = {"ETag": {"required": True, "schema": {"type": "string"}}}
        answers["200"]["headers"] = tag
        answers["304"] = {"description": "unchanged since If-None-Match", "headers": tag}
    by_status: dict[int, list[RefusalCode]] = {}
    for code in (*_ALWAYS, *route.codes):
        assert code.http_status is not None
        by_status.setdefault(code.http_status, []).append(code)
    for status, codes in sorted(by_status.items()):
        answers[str(status)] = _refusal(status, codes, bodiless=bodiless)
    if opened:
        answers["400"]["description"] += (
            ", or the request cannot be decrypted (RFC 9458, section 5.3)"
        )
        answers["400"]["content"] = {PROBLEM_JSON: {}}
    return answers


def _refusal(status: int, codes: Sequence[RefusalCode], *, bodiless: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"description": " or ".join(code.value for code in codes)}
    if status in STATUSES_TO_RETRY:
        retry = {"required": True, "schema": {"type": "integer", "minimum": 1}}
        described["headers"] = {"Retry-After": retry}
    if not bodiless:
        types = [ERROR_TYPE_PREFIX + code.value for code in codes]
        own = {"properties": {"type": {"enum": types}, "status": {"const": status}}}
        described["content"] = {PROBLEM_JSON: {"schema": {"allOf": [reference("Problem"), own]}}}
    return described
