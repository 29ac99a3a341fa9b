"""One shape for every error: RFC 9457 problems that never repeat what was sent."""

import json
import logging
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from deniable.messages import PROBLEM_JSON, Refusal, RefusalCode, pack_problem
from deniable.stores import Overloaded, StoreError, StoreFull

__all__ = ["answer_problems"]

_LOG = logging.getLogger("deniable.collector")
_RETRY_SECONDS: Final = "60"


@web.middleware
async def answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever a handler raises into a problem document."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return _problem(refusal.code, refusal.reason)
    except TimeoutError:
        return _problem(RefusalCode.TIMEOUT, "the request took too long to arrive")
    except StoreFull:
        _LOG.error("the store is full: reports are refused until there is room")
        return _problem(RefusalCode.STORAGE_FULL, "the collector's disk is full; send it later")
    except (Overloaded, StoreError) as error:
        _LOG.warning("%s", error)
        return _problem(RefusalCode.OVERLOADED, "the collector cannot take it now; send it later")
    except web.HTTPNotFound:
        return _problem(RefusalCode.NOT_FOUND, "there is nothing at this path; see GET /v1/surveys")
    except web.HTTPRequestEntityTooLarge:
        return _problem(RefusalCode.TOO_LARGE, "the body is too large; send fewer reports at once")
    except web.HTTPException as error:
        return _plain(error.status, error.reason, error.headers.get("Allow"))
    except ConnectionError:
        # The device is gone, and nobody reads this. Raised on, aiohttp would log who it was.
        return _plain(400, "connection lost", None)
    except Exception:  # noqa: BLE001 - the last resort: no stack trace reaches the network
        _LOG.exception("a request failed in an unforeseen way")
        return _plain(500, "internal error", None)


def _problem(code: RefusalCode, detail: str) -> web.Response:
    status = code.http_status
    if status is None:  # a report's own code never speaks of a request
        status, code = 400, RefusalCode.MALFORMED
    headers = {"Retry-After": _RETRY_SECONDS} if status in {408, 429, 503, 507} else {}
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    return web.Response(
        status=status, body=pack_problem(code, detail), content_type=PROBLEM_JSON, headers=headers
    )


def _plain(status: int, title: str, allow: str | None) -> web.Response:
    # A problem without a code of ours: by RFC 9457, its type is about:blank.
    body = json.dumps({"type": "about:blank", "title": title, "status": status}).encode()
    headers = {"Allow": allow} if allow else {}
    return web.Response(status=status, body=body, content_type=PROBLEM_JSON, headers=headers)
