"""Headers of every answer; errors in one form (RFC 9457, no request data), and their log lines."""

import json
import logging
from collections.abc import Mapping, MutableMapping
from http import HTTPStatus
from typing import Final

from aiohttp import web

from deniable.counterparts.bodies import pack_problem
from deniable.directory import Config
from deniable.messages import PROBLEM_JSON, Refusal, RefusalCode
from deniable.messages.refusals import Remedy
from deniable.server.logging_setup import LogThrottle
from deniable.server.metrics import Meters
from deniable.server.routes.routing import MethodNotAllowed
from deniable.stores import Overloaded, StoreError, StoreFull, StoreLocked, Unreachable

_LOG = logging.getLogger("deniable.collector")
_TooLarge: Final = web.HTTPRequestEntityTooLarge
_STORE_FULL: Final = "the store is full: reports are refused until there is space"
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


def answer_to(error: Exception, meters: Meters, throttle: LogThrottle) -> web.Response:
    """Return the answer to a handler's error; count it.

    Errors of interest to an operator are logged, but rarely: any number of requests can cause them.
    """
    if isinstance(error, StoreError) and throttle(type(error).__name__):
        busy, full = isinstance(error, Overloaded), isinstance(error, StoreFull)
        _LOG.log(logging.WARNING if busy else logging.ERROR, "%s", _STORE_FULL if full else error)
    for kind, code, reason in _REFUSALS:
        if isinstance(error, kind):
            error = Refusal(code, reason)
            break
    match error:
        case Refusal():
            meters.requests_refused[code_of_request(error.code)].inc()
            return problem(error.code, error.reason)
        case MethodNotAllowed():
            answer = plain_problem(405, "Method Not Allowed")
            answer.headers["Allow"] = str(error)
            return answer
        case ConnectionError():
            # The device is gone, and nobody reads this. Raised, aiohttp would log the address.
            return plain_problem(400, "connection lost")
        case _:
            # The last resort: no stack trace reaches the network.
            meters.requests_failed.inc()
            if throttle(type(error).__name__):
                _LOG.error("a request failed unexpectedly", exc_info=error)
            return plain_problem(500, "internal error")


_REFUSALS: Final = (
    (TimeoutError, RefusalCode.TIMEOUT, "the body took too long to arrive"),
    (StoreFull, RefusalCode.STORAGE_FULL, "the collector's disk is full; try again later"),
    (Overloaded, RefusalCode.OVERLOADED, "the collector is overloaded; try again later"),
    (
        StoreLocked,
        RefusalCode.STORE_FAILED,
        "another program has locked the store; try again later",
    ),
    (Unreachable, RefusalCode.STORE_FAILED, "the store does not respond; try again later"),
    (StoreError, RefusalCode.STORE_FAILED, "the store is failing; try again later"),
    (web.RequestPayloadError, RefusalCode.MALFORMED, "the body is not valid HTTP"),
    (_TooLarge, RefusalCode.TOO_LARGE, "the body is too large; send fewer reports per request"),
)
"""The answers to other errors; the first match applies."""


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
