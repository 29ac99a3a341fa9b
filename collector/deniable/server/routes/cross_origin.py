"""Which pages of other origins may read public surveys, or report, in a browser (CORS, of Fetch).

None by default. Pages of ``cross_origins`` may read what anyone may read of public surveys. Pages
of ``upload_origins`` may be devices: upload a report, and ask what devices ask. Neither ever with a
token or a cookie. It keeps nobody else away, who has no browser between: it says whose pages may
have their visitors' browsers do so.
"""

from collections.abc import Callable, Collection

from aiohttp import web

from deniable.directory import Config
from deniable.server.routes.routing import Route

_DAY_SECONDS = "86400"


class CrossOrigin:
    """The headers of answers for other origins; ``of_devices`` are the paths that devices ask."""

    def __init__(
        self, config: Config, is_public: Callable[[str], bool], of_devices: Collection[str] = ()
    ) -> None:
        self._origins = config.cross_origins
        self._upload_origins = config.upload_origins
        self._is_public = is_public
        self._of_devices = of_devices

    def allow(
        self, request: web.BaseRequest, route: Route | None, name: str, answer: web.Response
    ) -> None:
        """Let an origin that is allowed read the answer."""
        readable, of_devices = self._is_readable(route, name), self._is_of_devices(route)
        if not (readable or of_devices) or {"Authorization", "Cookie"} & {*request.headers}:
            return
        origin = request.headers.get("Origin", "")
        if not of_devices and "*" in self._origins:
            answer.headers["Access-Control-Allow-Origin"] = "*"
            return
        answer.headers["Vary"] = "Origin"
        if of_devices and origin in self._upload_origins:
            # A device that found no state needs the date; one that is asked to wait, how long.
            answer.headers["Access-Control-Expose-Headers"] = "Date, Retry-After"
            # A page cannot ask for a connection of its own, and a browser sends again by itself
            # what a connection that it had used before has lost.
            answer.force_close()
        elif not readable or not {origin, "*"} & self._origins:
            return
        answer.headers["Access-Control-Allow-Origin"] = origin or "*"

    def preflight(self, request: web.BaseRequest, route: Route, name: str) -> web.Response | None:
        """Answer a browser that asks first; None where nothing is allowed."""
        of_devices = self._is_of_devices(route)
        if request.method != "OPTIONS" or not (of_devices or self._is_readable(route, name)):
            return None
        headers = {
            "Access-Control-Allow-Methods": ", ".join(route.methods),
            "Access-Control-Max-Age": _DAY_SECONDS,
        }
        if of_devices and route.method == "POST":
            headers["Access-Control-Allow-Headers"] = "Content-Type"  # of an upload
        return web.Response(status=204, headers=headers)

    def _is_readable(self, route: Route | None, name: str) -> bool:
        return (
            bool(self._origins)
            and route is not None
            and self._is_public(name)
            and route.path.startswith("/v1/")  # the pages are the collector's own
            and route.method == "GET"
        )

    def _is_of_devices(self, route: Route | None) -> bool:
        return bool(self._upload_origins) and route is not None and route.path in self._of_devices
