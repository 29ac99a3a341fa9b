"""One shape for every error: RFC 9457 problems that never repeat what was sent."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web

from deniable.messages import PROBLEM_JSON, Refusal, RefusalCode, pack_problem
from deniable.server.headers import complete
from deniable.server.meters import Meters
from deniable.server.routing import MethodNotAllowed
from deniable.server.seldom import Seldom
from deniable.stores import Overloaded, StoreError, StoreFull

__all__ = ["answer_to", "bare_problem", "plain_problem", "problem"]

_LOG = logging.getLogger("deniable.collector")
_RETRY_SECONDS: Final = "60"
_STORE_FULL: Final = "the store is full: reports are refused until there is room"
_TO_RETRY: Final = frozenset({408, 429, 503, 507})


def answer_to(error: Exception, meters: Meters, seldom: Seldom) -> web.Response:
    """Return the answer to whatever a handler raised; count it.

    Args:
        error: what was raised.
        meters: what is counted.
        seldom: says if an error of this kind is to be logged now: an operator should know, and any
            number of requests can meet with it.
    """
    if isinstance(error, StoreError) and seldom(type(error).__name__):
        busy, full = isinstance(error, Overloaded), isinstance(error, StoreFull)
        _LOG.log(logging.WARNING if busy else logging.ERROR, "%s", _STORE_FULL if full else error)
    refusal = _refusal(error)
    if refusal is not None:
        answer = problem(refusal.code, refusal.reason)
        meters.count_code("requests_refused", _code_of_request(refusal.code))
        return answer
    match error:
        case MethodNotAllowed():
            answer = plain_problem(405, "Method Not Allowed")
            answer.headers["Allow"] = error.allowed
            return answer
        case ConnectionError():
            # The device is gone, and nobody reads this. Raised on, aiohttp would log who it was.
            return plain_problem(400, "connection lost")
        case _:
            # The last resort: no stack trace reaches the network.
            meters.count("requests_failed")
            if seldom(type(error).__name__):
                _LOG.error("a request failed in an unforeseen way", exc_info=error)
            return plain_problem(500, "internal error")


def _refusal(error: Exception) -> Refusal | None:
    """Return the refusal that an error amounts to, if any."""
    match error:
        case Refusal():
            return error
        case TimeoutError():
            return Refusal(RefusalCode.TIMEOUT, "the body took too long to arrive")
        case StoreFull():
            return Refusal(RefusalCode.STORAGE_FULL, "the collector's disk is full; send it later")
        case Overloaded():
            return Refusal(
                RefusalCode.OVERLOADED, "the collector cannot take it now; send it later"
            )
        case StoreError():
            return Refusal(RefusalCode.STORE_FAILED, "the collector's store fails; send it later")
        case web.RequestPayloadError():
            return Refusal(RefusalCode.MALFORMED, "the body's chunks are no HTTP")
        case web.HTTPRequestEntityTooLarge():
            return Refusal(RefusalCode.TOO_LARGE, "the body is too large; send fewer at once")
        case _:
            return None


def _code_of_request(code: RefusalCode) -> RefusalCode:
    """Return the code itself; a report's own code never speaks of a request."""
    return RefusalCode.MALFORMED if code.http_status is None else code


def problem(code: RefusalCode, detail: str) -> web.Response:
    """Return a refusal of the whole request."""
    code = _code_of_request(code)
    status = code.http_status or 400
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


def bare_problem(code: RefusalCode, detail: str, headers: Mapping[str, str]) -> bytes:
    """Return the same as bytes with these headers, for a connection that is closed behind it."""
    answer = problem(code, detail)
    assert isinstance(answer.body, bytes)
    complete(answer.headers, headers)
    fields = dict(answer.headers) | {
        "Content-Length": str(len(answer.body)),
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode() + answer.body
