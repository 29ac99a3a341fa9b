"""``GET /openapi.json``: every route as OpenAPI 3.1 describes it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from aiohttp import web

from deniable.messages import (
    ERROR_TYPE_PREFIX,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    PROBLEM_JSON,
    RefusalCode,
)
from deniable.server.config import Config
from deniable.server.routing import Route
from deniable.server.schemas import SCHEMAS, Json

__all__ = ["PATHS", "openapi_document", "openapi_route"]

_JSON: Final = "application/json"
_MSGPACK: Final = "application/msgpack"
_ALWAYS: Final = (
    RefusalCode.MALFORMED,
    RefusalCode.TIMEOUT,
    RefusalCode.OVERLOADED,
    RefusalCode.STORE_FAILED,
    RefusalCode.STORAGE_FULL,
)
"""What any request can meet: being no HTTP or too slow, a busy collector, a store that fails."""
_QUERY: Final = (RefusalCode.BAD_QUERY,)
_SURVEY: Final = (RefusalCode.NOT_FOUND, RefusalCode.BAD_QUERY)
_ROLE: Final = (RefusalCode.UNAUTHORISED, RefusalCode.FORBIDDEN)


@dataclass(frozen=True, slots=True)
class _Operation:
    """What is documented of a route.

    Attributes:
        summary: one line for people.
        media: the type of its answer.
        schema: name of its answer's schema; empty if it is no JSON.
        codes: refusals of a whole request, besides those of any.
        parameters: names of its query.
        role: the least role that a token needs; empty for anyone.
        public: whether that holds for some surveys only.
        tagged: whether it answers with an ETag, and 304 to whoever sends it back.
    """

    summary: str
    media: str = _JSON
    schema: str = ""
    codes: tuple[RefusalCode, ...] = ()
    parameters: tuple[str, ...] = ()
    role: str = ""
    public: bool = False
    tagged: bool = False


_PARAMETERS: Final[dict[str, Json]] = {
    "name": {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "the survey's name",
        "schema": {"type": "string", "minLength": 1},
    },
    "survey": {
        "name": "survey",
        "in": "query",
        "description": "id of an older survey of the name",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "epoch": {
        "name": "epoch",
        "in": "query",
        "description": "which epoch; by default, the newest that has figures",
        "schema": {"type": "integer", "minimum": 0, "maximum": 9_999},
    },
    "level": {
        "name": "level",
        "in": "query",
        "description": "confidence of each interval; by default 0.95",
        "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    },
}

_OPERATIONS: Final = {
    ("POST", "/v1/reports"): _Operation(
        "what became of each report, once it is durable",
        schema="UploadAnswer",
        codes=(
            RefusalCode.TOO_LARGE,
            RefusalCode.UNSUPPORTED_MEDIA_TYPE,
            RefusalCode.RATE_LIMITED,
        ),
    ),
    ("GET", "/v1/surveys"): _Operation(
        "what is being asked, with its privacy terms", schema="Surveys", codes=_QUERY
    ),
    ("GET", "/v1/surveys/{name}"): _Operation(
        "the newest survey of a name, or an older one",
        schema="Survey",
        codes=_SURVEY,
        parameters=("survey",),
    ),
    ("GET", "/v1/surveys/{name}/manifest"): _Operation(
        "its signed manifest",
        media=_MSGPACK,
        codes=_SURVEY,
        parameters=("survey",),
        tagged=True,
    ),
    ("GET", "/v1/surveys/{name}/manifests"): _Operation(
        "all signed manifests of a name that have not ended, newest first",
        media=_MSGPACK,
        codes=_SURVEY,
    ),
    ("GET", "/v1/surveys/{name}/histogram"): _Operation(
        "its debiased histogram",
        schema="Histogram",
        codes=(*_SURVEY, *_ROLE, RefusalCode.TOO_FEW_REPORTS),
        parameters=("survey", "epoch", "level"),
        role="analyst",
        public=True,
    ),
    ("GET", "/v1/authority"): _Operation(
        "the rotations of the authority's key, oldest first",
        media=_MSGPACK,
        codes=_QUERY,
        tagged=True,
    ),
    ("GET", "/healthz"): _Operation("the process is up", schema="Status"),
    ("GET", "/readyz"): _Operation("the store takes durable writes", schema="Status"),
    ("GET", "/metrics"): _Operation(
        "counts and times for Prometheus", media="text/plain", codes=_ROLE, role="operator"
    ),
    ("GET", "/openapi.json"): _Operation("this document"),
}
PATHS: Final = tuple(path for _, path in _OPERATIONS)
"""The paths of all routes."""


def openapi_route(routes: Sequence[Route], config: Config) -> Route:
    """Return the route, which documents itself too."""

    async def answer(_: web.BaseRequest, __: str) -> web.Response:
        return web.Response(body=body, headers={"Content-Type": _JSON})

    route = Route("GET", "/openapi.json", answer)
    body = json.dumps(openapi_document([*routes, route], config)).encode()
    return route


def openapi_document(routes: Sequence[Route], config: Config) -> Json:
    """Return the document.

    Args:
        routes: all of them.
        config: says where they are reached.

    Raises:
        KeyError: for a route that is not documented here.
    """
    paths: dict[str, Json] = {}
    for route in routes:
        operation = _OPERATIONS[route.method, route.path]
        path = paths.setdefault(route.path, {})
        if "{name}" in route.path:
            path["parameters"] = [_PARAMETERS["name"]]
        for method in route.methods:
            path[method.lower()] = _described(operation, method)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": version("deniable"),
            "description": "A known path answers 405 to other methods, and says in Allow which "
            "it takes; an Expect other than 100-continue gets 417.",
        },
        "servers": [{"url": config.origin}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "a token made with: deniable token new; an operator's allows "
                    "whatever an analyst's does",
                }
            },
        },
    }


def _described(operation: _Operation, method: str) -> Json:
    bodiless = method == "HEAD"
    described: Json = {
        "summary": operation.summary,
        "responses": _answers(operation, bodiless=bodiless),
        "security": [],
    }
    if operation.parameters:
        described["parameters"] = [_PARAMETERS[name] for name in operation.parameters]
    if operation.role:
        described["security"].append({"token": [operation.role]})
    if operation.public or not operation.role:
        described["security"].append({})
    if method == "POST":
        described["requestBody"] = {
            "required": True,
            "description": f"an array of 1 to {MAX_UPLOAD_REPORTS} envelopes, at most "
            f"{MAX_UPLOAD_BYTES} bytes, without Content-Encoding; see docs/protocol.md",
            "content": {_MSGPACK: {}},
        }
    return described


def _answers(operation: _Operation, *, bodiless: bool) -> Json:
    answers: Json = {"200": {"description": operation.summary}}
    if not bodiless:
        schema = {"$ref": f"#/components/schemas/{operation.schema}"} if operation.schema else {}
        answers["200"]["content"] = {operation.media: {"schema": schema} if schema else {}}
    if operation.tagged:
        tag = {"ETag": {"required": True, "schema": {"type": "string"}}}
        answers["200"]["headers"] = tag
        answers["304"] = {"description": "it is what If-None-Match names", "headers": tag}
    by_status: dict[int, list[RefusalCode]] = {}
    for code in (*_ALWAYS, *operation.codes):
        assert code.http_status is not None
        by_status.setdefault(code.http_status, []).append(code)
    for status, codes in sorted(by_status.items()):
        answers[str(status)] = _refusal(status, codes, bodiless=bodiless)
    return answers


def _refusal(status: int, codes: Sequence[RefusalCode], *, bodiless: bool) -> Json:
    described: Json = {"description": " or ".join(code.value for code in codes)}
    if status in {408, 429, 503, 507}:
        described["headers"] = {
            "Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}
        }
    if not bodiless:
        types = [ERROR_TYPE_PREFIX + code.value for code in codes]
        schema = {
            "allOf": [
                {"$ref": "#/components/schemas/Problem"},
                {"properties": {"type": {"enum": types}, "status": {"const": status}}},
            ]
        }
        described["content"] = {PROBLEM_JSON: {"schema": schema}}
    return described
