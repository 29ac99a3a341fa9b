"""The collector as one handler: what is asked, answered, and what every answer carries."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web
from aiohttp.http import HttpVersion10, HttpVersion11

from deniable.messages import Refusal, RefusalCode
from deniable.server.catalogue import Catalogue
from deniable.server.collector_server import CollectorServer
from deniable.server.config import Config
from deniable.server.connections import Connection
from deniable.server.gauges import Gauges
from deniable.server.headers import answer_headers
from deniable.server.meters import Meters
from deniable.server.metrics import metrics_route
from deniable.server.openapi import openapi_route
from deniable.server.problems import answer_to, plain_problem
from deniable.server.reading import reading_routes
from deniable.server.room import Room
from deniable.server.routing import Route, Router
from deniable.server.seldom import Seldom
from deniable.server.uploads import upload_route
from deniable.stores import Store

__all__ = ["build_metrics_server", "build_server"]

_CONTINUE: Final = "100-continue"
_CHUNKED: Final = "chunked"
_SPOKEN: Final = (HttpVersion10, HttpVersion11)


async def build_server(
    config: Config,
    store: Store,
    clock: Callable[[], float] = time.time,
    meters: Meters | None = None,
    catalogue: Catalogue | None = None,
    gauges: Gauges | None = None,
) -> CollectorServer:
    """Return the server, to be run by aiohttp's ``ServerRunner``; the surveys are read.

    Args:
        config: the collector's settings.
        store: an open store, which the caller closes.
        clock: returns Unix seconds.
        meters: what is counted; by default, for this server alone.
        catalogue: the published surveys; by default, read for this server alone.
        gauges: what is measured; by default, for this server alone.

    Raises:
        StoreError: if the store cannot be read.
    """
    meters = meters or Meters()
    catalogue = catalogue or Catalogue(store, config.authority, clock)
    gauges = gauges or Gauges(config, store, catalogue, clock)
    await catalogue.read()
    routes = [
        upload_route(config, store, catalogue, clock, meters),
        *reading_routes(config, store, catalogue, clock),
        *_health_routes(gauges),
        metrics_route(meters, gauges, store),
    ]
    return _server(config, [*routes, openapi_route(routes, config)], meters)


def build_metrics_server(config: Config, meters: Meters, gauges: Gauges) -> CollectorServer:
    """Return the server of the own address of metrics, where anyone may read them.

    It tells that the process lives, too: no flood of devices fills it.

    Args:
        config: the collector's settings.
        meters: what is counted.
        gauges: what is measured.
    """
    return _server(config, [_ALIVE, metrics_route(meters, gauges)], meters)


def _server(config: Config, routes: Sequence[Route], meters: Meters) -> CollectorServer:
    router = Router(routes)
    headers = answer_headers(config)
    seldom = Seldom(time.monotonic)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.begin(request)
        path = ""
        try:
            answer = _unless_unexpected(request)
            if answer is None:
                route, name = router.find(request)
                path = route.path
                answer = await route.answering(request, name)
        except Exception as error:  # noqa: BLE001 - answer_to() logs what is unforeseen
            answer = answer_to(error, meters, seldom)
        meters.count_request(path, answer.status)
        return answer

    room = Room(config.limits, config.trusted_proxies, meters)
    return CollectorServer(handle, routes, room, meters, headers)


def _unless_unexpected(request: web.BaseRequest) -> web.Response | None:
    """Return the answer to what HTTP has and is not spoken here; None if it is nothing such."""
    if "#" in request.raw_path:
        raise Refusal(RefusalCode.MALFORMED, "a request's target has no fragment")
    if request.version not in _SPOKEN:
        return plain_problem(505, "HTTP Version Not Supported")
    headers = request.headers
    if headers.get("Expect", _CONTINUE).lower() != _CONTINUE:
        return plain_problem(417, "Expectation Failed")
    # Further codings, such as gzip, would have to be undone.
    if headers.get("Transfer-Encoding", _CHUNKED).lower() != _CHUNKED:
        return plain_problem(501, "Not Implemented")
    return None


async def _healthy(_: web.BaseRequest, __: str) -> web.Response:
    return web.json_response({"status": "ok"})


_ALIVE: Final = Route("GET", "/healthz", _healthy)


def _health_routes(gauges: Gauges) -> list[Route]:
    async def ready(_: web.BaseRequest, __: str) -> web.Response:
        await gauges.check()
        return web.json_response({"status": "ready"})

    return [_ALIVE, Route("GET", "/readyz", ready)]
