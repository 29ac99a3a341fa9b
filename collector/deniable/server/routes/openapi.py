"""``/openapi.json``: the table of routes as OpenAPI 3.1 describes them."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from deniable.directory import Config
from deniable.messages import (
    ENCAPSULATED_REQUEST_BYTES,
    ERROR_TYPE_PREFIX,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    PROBLEM_JSON,
    RefusalCode,
)
from deniable.oblivious_http import REQUEST_TYPE, RESPONSE_TYPE
from deniable.reading import EPOCHS, ID_PREFIX, OLDER, PREVIOUS, VIEWS
from deniable.server.routes.routing import CSV, FORMATS, MSGPACK, ROUTES, Route
from deniable.server.routes.schemas import reference, schemas
from deniable.server.transport.answers import STATUSES_TO_RETRY

_OWN: Final = frozenset(code for route in ROUTES for code in route.codes)
_ALWAYS: Final = tuple(code for code in RefusalCode if code.http_status and code not in _OWN)
"""What any request can meet: being no HTTP or too slow, a busy collector, a store that fails."""

_PREFIX: Final = {"type": "string", "pattern": f"^{ID_PREFIX}$"}
_EPOCHS: Final = {"type": "string", "pattern": f"^{EPOCHS}$"}
_AGAINST: Final = {"type": "string", "examples": [PREVIOUS, "0-3", OLDER, "another-survey:0-3"]}
_LEVEL: Final = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}


def _of(texts: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(texts), "default": texts[0]}


_PARAMETERS: Final = {
    name: {"name": name, "in": "query", "description": description, "schema": schema}
    for name, description, schema in (
        ("survey", "how the id of an older survey of the name begins, and no other", _PREFIX),
        ("epoch", "one, or a range such as 0-5; by default the newest with figures", _EPOCHS),
        (
            "against",
            "previous, the default; epochs; older, a survey, or an id, perhaps with them",
            _AGAINST,
        ),
        ("level", "confidence of each interval; by default 0.95", _LEVEL),
        ("view", "what categories show besides the unbiased estimate", _of(VIEWS)),
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
        ("path", "tile/LEVEL/INDEX, tile/entries/INDEX, both perhaps with .p/WIDTH, or large/ID"),
    )
}
_TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token made with: deniable token new; an operator's allows whatever an "
    "analyst's does",
}


def openapi_document(config: Config) -> dict[str, Any]:
    """Return the document of a collector with these settings."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": version("deniable"),
            "description": "A known path answers 405 to other methods, and says in Allow which "
            "it takes; an Expect other than 100-continue gets 417.",
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
            "9458), for what devices ask; see docs/protocol.md",
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
        schema = {"schema": reference(route.schema)} if route.schema else {}
        answers["200"]["content"] = {RESPONSE_TYPE if opened else route.media: schema}
        if "format" in (route.parameters or ()):
            answers["200"]["content"][CSV] = {}
    if route.tagged:
        tag = {"ETag": {"required": True, "schema": {"type": "string"}}}
        answers["200"]["headers"] = tag
        answers["304"] = {"description": "it is what If-None-Match names", "headers": tag}
    by_status: dict[int, list[RefusalCode]] = {}
    for code in (*_ALWAYS, *route.codes):
        assert code.http_status is not None
        by_status.setdefault(code.http_status, []).append(code)
    for status, codes in sorted(by_status.items()):
        answers[str(status)] = _refusal(status, codes, bodiless=bodiless)
    if opened:
        answers["400"]["description"] += ", or it does not open: RFC 9458, section 5.3"
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
