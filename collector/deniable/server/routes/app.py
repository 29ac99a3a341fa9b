"""The collector as one handler: it finds the route, calls its handler, and answers errors."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from deniable.directory import Config
from deniable.messages import Refusal, RefusalCode
from deniable.messages.gateway import GATEWAY_KEYS_PATH, GATEWAY_PATH
from deniable.server.connections import CollectorServer
from deniable.server.gauges import Gauges
from deniable.server.logging_setup import LogThrottle
from deniable.server.metrics import Meters
from deniable.server.pages.entrance import failure_page
from deniable.server.pages.handlers import Site
from deniable.server.pages.page_table import PAGES, Page
from deniable.server.problems import answer_to, plain_problem
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.figures import FigureService
from deniable.server.routes.gateway import Gateway, GatewayKeyring
from deniable.server.routes.published import Published
from deniable.server.routes.requests import require_role
from deniable.server.routes.routing import (
    CSV,
    HTML,
    JSON,
    LOG_PATH,
    ROUTES,
    DeviceHandler,
    Handler,
    MethodNotAllowed,
    Route,
    Router,
    check_query,
)
from deniable.server.routes.uploads import Uploads
from deniable.server.sender_limits import SenderLimits
from deniable.stores import Role, Store

_DAY_SECONDS = "86400"


class CrossOrigin:
    """The other origins whose pages may report in a browser (CORS); none by default.

    Pages of ``upload_origins`` may be devices: they may upload a report, and send devices'
    requests, at the paths ``of_devices``, but never a token or a cookie. This does not stop clients
    other than browsers; it lists the pages that may use their visitors' browsers for this.
    """

    def __init__(self, config: Config, of_devices: Collection[str]) -> None:
        self._origins = config.upload_origins
        self._of_devices = of_devices if self._origins else ()

    def allow(self, request: web.BaseRequest, route: Route | None, answer: web.Response) -> None:
        """Let an allowed origin read the answer."""
        if route is None or route.path not in self._of_devices:
            return
        if {"Authorization", "Cookie"} & {*request.headers}:
            return
        answer.headers["Vary"] = "Origin"
        origin = request.headers.get("Origin", "")
        if origin in self._origins:
            # A device without a state needs the date; one that must wait needs the duration.
            answer.headers["Access-Control-Expose-Headers"] = "Date, Retry-After"
            # A page cannot request a new connection, and a browser automatically resends requests
            # lost on a reused one.
            answer.force_close()
            answer.headers["Access-Control-Allow-Origin"] = origin

    def preflight(self, request: web.BaseRequest, route: Route) -> web.Response | None:
        """Answer a browser's preflight request; None if nothing is allowed."""
        if request.method != "OPTIONS" or route.path not in self._of_devices:
            return None
        headers = {
            "Access-Control-Allow-Methods": ", ".join(route.methods),
            "Access-Control-Max-Age": _DAY_SECONDS,
        }
        if route.method == "POST":
            headers["Access-Control-Allow-Headers"] = "Content-Type"  # for an upload
        return web.Response(status=204, headers=headers)


_CONTINUE: Final = "100-continue"


async def build_server(
    config: Config,
    store: Store,
    clock: Callable[[], float] = time.time,
    meters: Meters | None = None,
    catalogue: Catalogue | None = None,
    gauges: Gauges | None = None,
) -> CollectorServer:
    """Return the server, not listening yet; the surveys have been read.

    The caller closes the store. By default, meters, catalogue and gauges are this server's own.
    """
    meters = meters or Meters()
    catalogue = catalogue or Catalogue(store, config.authority, clock, config.public)
    gauges = gauges or Gauges(config, store, catalogue, clock)
    await catalogue.read()
    figures, throttle = FigureService(store, catalogue, clock, config), LogThrottle()
    limits, keyring = SenderLimits(config), GatewayKeyring(config, catalogue)
    with suppress(Refusal):  # faulty keys are logged at the start
        keyring.read()
    published = Published(catalogue, clock, keyring)
    of_devices: dict[str, DeviceHandler] = {
        "/v1/reports": Uploads(store, catalogue, clock, meters, limits).answer,
        "/v1/surveys/{name}/manifests": published.manifests,
        "/v1/authority": published.authority,
        GATEWAY_KEYS_PATH: published.gateway,
    }
    gateway = Gateway(config, keyring, of_devices, limits, clock, meters, throttle)

    async def ready(_: web.BaseRequest, __: str) -> web.Response:
        await gauges.check()
        workers = {"workers": meters.serving(), "workers_wanted": config.workers}
        return web.json_response({"status": "ready", **workers})

    handlers = {
        **of_devices,
        GATEWAY_PATH: gateway.answer,
        "/v1/surveys": published.surveys,
        "/v1/surveys/{name}": published.survey,
        "/v1/surveys/{name}/versions": published.versions,
        "/v1/surveys/{name}/manifest": published.manifest,
        f"{LOG_PATH}checkpoint": published.log_file,
        f"{LOG_PATH}{{path}}": published.log_file,
        "/v1/surveys/{name}/epochs": figures.epochs,
        "/v1/surveys/{name}/counts": figures.counts,
        "/v1/surveys/{name}/histogram": figures.histogram,
        "/v1/surveys/{name}/series": figures.series,
        "/v1/surveys/{name}/comparison": figures.comparison,
        "/v1/surveys/{name}/notes": figures.notes,
        **Site(config, store, catalogue, figures, clock).handlers(),
        "/healthz": _healthy,
        "/readyz": ready,
        "/metrics": _metrics(meters, gauges, store, clock),
    }
    return _server(config, handlers, meters, throttle, of_devices)


def build_metrics_server(config: Config, meters: Meters, gauges: Gauges) -> CollectorServer:
    """Return the server for the metrics' own address, where anyone may read them.

    This server also answers whether the process is alive, even when devices flood the other server.
    """
    handlers = {"/healthz": _healthy, "/metrics": _metrics(meters, gauges)}
    return _server(config, handlers, meters, LogThrottle())


def _server(
    config: Config,
    handlers: Mapping[str, Handler],
    meters: Meters,
    throttle: LogThrottle,
    of_devices: Collection[str] = (),
) -> CollectorServer:
    router = Router((*ROUTES, *PAGES), handlers)
    cross_origin = CrossOrigin(config, of_devices)

    async def handle(request: web.BaseRequest) -> web.Response:
        route: Route | None = None
        try:
            answer = _unless_unexpected(request)
            if answer is None:
                route, handler, name = router.find(request.method, request.rel_url.raw_path)
                check_query(request, route.parameters)
                answer = await handler(request, name)
        except Exception as error:  # noqa: BLE001 - answer_to() logs what is unforeseen
            answer = None
            if isinstance(error, MethodNotAllowed):
                answer = cross_origin.preflight(request, error.route)
                route = None if answer is None else error.route
            if answer is None:
                answer = answer_to(error, meters, throttle)
                if _is_for_people(request, route):
                    answer = failure_page(request, answer)
        cross_origin.allow(request, route, answer)
        meters.requests("other" if route is None else route.path, answer.status).inc()
        return answer

    return CollectorServer(handle, config, meters)


def _is_for_people(request: web.BaseRequest, route: Route | None) -> bool:
    """Return whether a browser displays the answer: for a page, or an unknown path."""
    if route is not None:
        return isinstance(route, Page) and route.media not in {JSON, CSV}
    return HTML in request.headers.get("Accept", "") and not request.path.startswith("/v1/")


def _unless_unexpected(request: web.BaseRequest) -> web.Response | None:
    """Return the answer to an unsupported feature of HTTP; None for anything else."""
    if "#" in request.raw_path:
        raise Refusal(RefusalCode.MALFORMED, "a request's target must not have a fragment")
    headers = request.headers
    if headers.get("Expect", _CONTINUE).lower() != _CONTINUE:
        return plain_problem(417, "Expectation Failed")
    # Every sender knows the length of so small a body.
    if "Transfer-Encoding" in headers:
        return plain_problem(411, "Length Required")
    return None


async def _healthy(_: web.BaseRequest, __: str) -> web.Response:
    return web.json_response({"status": "ok"})


def _metrics(
    meters: Meters,
    gauges: Gauges,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
) -> Handler:
    """Return the handler of the metrics: for operators, known by the store, or for anyone."""

    async def answer(request: web.BaseRequest, _: str) -> web.Response:
        if store is not None:
            await require_role(request, store, Role.OPERATOR, clock())
        await gauges.measure()
        body = generate_latest(meters) + generate_latest(gauges)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return answer
