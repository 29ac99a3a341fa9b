"""Headers of every answer, and the common form of all errors: RFC 9457, without request data."""

import json
from collections.abc import Mapping, MutableMapping
from http import HTTPStatus
from typing import Final

from aiohttp import web

from deniable.counterparts.bodies import pack_problem
from deniable.directory import Config
from deniable.messages import PROBLEM_JSON, RefusalCode
from deniable.messages.refusals import Remedy

_RETRY_SECONDS: Final = "60"
"""Temporary refusals state when to ask again."""
_YEAR_SECONDS: Final = 365 * 86_400
_HEADERS: Final = {
    "Server": "deniable",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def answer_headers(config: Config) -> dict[str, str]:
    """Return the headers of every answer of a collector."""
    headers = dict(_HEADERS)
    # Also if a proxy terminates TLS. Browsers ignore it over plain HTTP.
    if config.origin.startswith("https://") or config.tls_certificate is not None:
        headers["Strict-Transport-Security"] = f"max-age={_YEAR_SECONDS}"
    return headers


def code_of_request(code: RefusalCode) -> RefusalCode:
    """Return the code, or malformed instead of a code that only applies to a report."""
    return RefusalCode.MALFORMED if code.http_status is None else code


def problem(code: RefusalCode, detail: str) -> web.Response:
    """Return a refusal of the whole request."""
    code = code_of_request(code)
    status = code.http_status or 400
    headers = {"Content-Type": PROBLEM_JSON}
    if code.remedy is Remedy.WAIT:
        headers["Retry-After"] = _RETRY_SECONDS
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(status=status, body=pack_problem(code, detail), headers=headers)


def plain_problem(status: int, title: str, kind: str = "about:blank") -> web.Response:
    """Return a problem without a code of the protocol; by RFC 9457, its type may be about:blank."""
    body = json.dumps({"type": kind, "title": title, "status": status}).encode()
    return web.Response(status=status, body=body, headers={"Content-Type": PROBLEM_JSON})


def complete(headers: MutableMapping[str, str], common: Mapping[str, str]) -> None:
    """Add the headers of every answer, unless the answer has its own."""
    for name, value in common.items():
        headers.setdefault(name, value)


def bare_answer(answer: web.Response, headers: Mapping[str, str]) -> bytes:
    """Return an answer as bytes with these headers, for a connection that is closed after it."""
    assert isinstance(answer.body, bytes)
    complete(answer.headers, headers)
    fields = dict(answer.headers) | {"Content-Length": str(len(answer.body)), "Connection": "close"}
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode() + answer.body
