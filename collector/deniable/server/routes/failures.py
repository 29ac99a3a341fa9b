"""Errors: their answers to the client, and their log lines for the operator."""

import logging
from typing import Final

from aiohttp import web

from deniable.messages import Refusal, RefusalCode
from deniable.server.logging_setup import LogThrottle
from deniable.server.metrics import Meters
from deniable.server.problems import code_of_request, plain_problem, problem
from deniable.server.routes.routing import MethodNotAllowed
from deniable.stores import Overloaded, StoreError, StoreFull, StoreLocked, Unreachable

_LOG = logging.getLogger("deniable.collector")
_TooLarge: Final = web.HTTPRequestEntityTooLarge
_STORE_FULL: Final = "the store is full: reports are refused until there is space"


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
