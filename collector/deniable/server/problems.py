"""One shape for every error: RFC 9457 problems that never repeat what was sent."""

import json
import logging
from http import HTTPStatus
from typing import Final

from aiohttp import web

from deniable.messages import PROBLEM_JSON, Refusal, RefusalCode, pack_problem
from deniable.server.routing import MethodNotAllowed
from deniable.stores import Overloaded, StoreError, StoreFull

__all__ = ["answer_to", "bare_problem", "plain_problem", "problem"]

_LOG = logging.getLogger("deniable.collector")
_RETRY_SECONDS: Final = "60"
_TO_RETRY: Final = frozenset({408, 429, 503, 507})


def answer_to(error: Exception) -> web.Response:
    """Return the answer to whatever a handler raised, and log what an operator should know."""
    match error:
        case Refusal():
            return problem(error.code, error.reason)
        case MethodNotAllowed():
            answer = plain_problem(405, "Method Not Allowed")
            answer.headers["Allow"] = error.allowed
            return answer
        case TimeoutError():
            return problem(RefusalCode.TIMEOUT, "the request took too long to arrive")
        case StoreFull():
            _LOG.error("the store is full: reports are refused until there is room")
            return problem(RefusalCode.STORAGE_FULL, "the collector's disk is full; send it later")
        case Overloaded() | StoreError():
            _LOG.warning("%s", error)
            return problem(
                RefusalCode.OVERLOADED, "the collector cannot take it now; send it later"
            )
        case web.HTTPRequestEntityTooLarge():
            return problem(RefusalCode.TOO_LARGE, "the body is too large; send fewer at once")
        case ConnectionError() | web.RequestPayloadError():
            # The device is gone, and nobody reads this. Raised on, aiohttp would log who it was.
            return plain_problem(400, "connection lost")
        case _:
            # The last resort: no stack trace reaches the network.
            _LOG.error("a request failed in an unforeseen way", exc_info=error)
            return plain_problem(500, "internal error")


def problem(code: RefusalCode, detail: str) -> web.Response:
    """Return a refusal of the whole request."""
    status = code.http_status
    if status is None:  # a report's own code never speaks of a request
        status, code = 400, RefusalCode.MALFORMED
    headers = {"Content-Type": PROBLEM_JSON}
    if status in _TO_RETRY:
        headers["Retry-After"] = _RETRY_SECONDS
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(status=status, body=pack_problem(code, detail), headers=headers)


def plain_problem(status: int, title: str) -> web.Response:
    """Return a problem without a code of ours: by RFC 9457, its type is about:blank."""
    body = json.dumps({"type": "about:blank", "title": title, "status": status}).encode()
    return web.Response(status=status, body=body, headers={"Content-Type": PROBLEM_JSON})


def bare_problem(code: RefusalCode, detail: str) -> bytes:
    """Return the same as bytes, for a connection that is closed behind it."""
    status = code.http_status or 400
    body = pack_problem(code, detail)
    retry = f"Retry-After: {_RETRY_SECONDS}\r\n" if status in _TO_RETRY else ""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nServer: deniable\r\n"
        f"Content-Type: {PROBLEM_JSON}\r\nContent-Length: {len(body)}\r\n{retry}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
