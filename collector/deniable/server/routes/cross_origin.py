"""Which pages of other origins may read public surveys in a browser (CORS, of the Fetch standard).

Nothing by default. What is allowed is to read what anyone may read, never with a token or a cookie.
"""

from collections.abc import Callable

from aiohttp import web

from deniable.directory import Config
from deniable.server.routes.routing import Route

_DAY_SECONDS = "86400"


class CrossOrigin:
    """The headers of answers for other origins."""

    def __init__(self, config: Config, is_public: Callable[[str], bool]) -> None:
        self._origins = config.cross_origins
        self._is_public = is_public

    def allow(
        self, request: web.BaseRequest, route: Route | None, name: str, answer: web.Response
    ) -> None:
        """Let an origin that is allowed read the answer, if it is about a public survey."""
        if not self._is_readable(route, name) or {"Authorization", "Cookie"} & {*request.headers}:
            return
        if "*" in self._origins:
            answer.headers["Access-Control-Allow-Origin"] = "*"
            return
        answer.headers["Vary"] = "Origin"
        if (origin := request.headers.get("Origin", "")) in self._origins:
            answer.headers["Access-Control-Allow-Origin"] = origin

    def preflight(self, request: web.BaseRequest, route: Route, name: str) -> web.Response | None:
        """Answer a browser that asks first; None where nothing is allowed."""
        if request.method != "OPTIONS" or not self._is_readable(route, name):
            return None
        headers = {
            "Access-Control-Allow-Methods": ", ".join(route.methods),
            "Access-Control-Max-Age": _DAY_SECONDS,
        }
        return web.Response(status=204, headers=headers)

    def _is_readable(self, route: Route | None, name: str) -> bool:
        return (
            bool(self._origins)
            and route is not None
            and self._is_public(name)
            and route.path.startswith("/v1/")  # the pages are the collector's own
            and route.method == "GET"
        )
