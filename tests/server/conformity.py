"""Whether an answer is one that ``/openapi.json`` announces: asked of all that the tests cause."""

import json
import re
from functools import cache
from types import SimpleNamespace
from typing import Any

from aiohttp import ClientSession, TraceConfig, TraceRequestEndParams
from openapi_schema_validator import OAS31Validator, validate

from deniable.directory import Config
from deniable.server.routes.openapi import openapi_document

_UNDOCUMENTED = {405, 417, 500}
"""Answers of any path, of none, and of the tests' own sabotage."""


@cache
def _document(origin: str) -> dict[str, Any]:
    return openapi_document(Config(origin, bytes(32)))


def conformity(config: Config) -> TraceConfig:
    """Return what makes a client fail on an answer whose status, code or form is not documented."""
    document = _document(config.origin)
    patterns = {
        re.compile(path.replace("{name}", "[^/]+")): described
        for path, described in document["paths"].items()
    }

    async def ended(_: ClientSession, __: SimpleNamespace, params: TraceRequestEndParams) -> None:
        answer = params.response
        found = [each for pattern, each in patterns.items() if pattern.fullmatch(params.url.path)]
        operation = found[0].get(params.method.lower()) if found else None
        if operation is None or answer.status in _UNDOCUMENTED:
            return
        described = operation["responses"][str(answer.status)]
        assert all(name in answer.headers for name in described.get("headers", {}))
        if "content" in described:
            told = described["content"][answer.content_type].get("schema")
            if told:
                body = json.loads(await answer.read())
                validate(body, {**told, "components": document["components"]}, OAS31Validator)

    trace = TraceConfig()
    trace.on_request_end.append(ended)
    trace.freeze()
    return trace
