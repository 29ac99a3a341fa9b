"""The collector as an aiohttp application."""

import time
from collections.abc import Callable

from aiohttp import web

from deniable.messages import MAX_UPLOAD_BYTES
from deniable.server.catalogue import Catalogue
from deniable.server.config import Config
from deniable.server.problems import answer_problems
from deniable.server.reading import reading_routes
from deniable.server.uploads import upload_handler
from deniable.stores import Store

__all__ = ["build_app"]


def build_app(
    config: Config, store: Store, clock: Callable[[], float] = time.time
) -> web.Application:
    """Return the application, ready to be served.

    Args:
        config: the collector's settings.
        store: an open store, which the caller closes.
        clock: returns Unix seconds.
    """
    app = web.Application(middlewares=[answer_problems], client_max_size=MAX_UPLOAD_BYTES)
    catalogue = Catalogue(store, config.authority, clock)

    async def healthy(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ready(_: web.Request) -> web.Response:
        await store.ping()
        return web.json_response({"status": "ready"})

    app.add_routes(
        [
            web.post("/v1/reports", upload_handler(store, catalogue, clock)),
            *reading_routes(config, store, catalogue),
            web.get("/healthz", healthy),
            web.get("/readyz", ready),
        ]
    )

    async def read_surveys(_: web.Application) -> None:
        await catalogue.reread()

    app.on_startup.append(read_surveys)
    app.on_response_prepare.append(_set_headers)
    return app


async def _set_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "deniable"
    response.headers["X-Content-Type-Options"] = "nosniff"
