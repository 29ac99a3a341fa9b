"""The routes: one table, on which answers, metrics and documentation are based.

Finding a route takes next to no time.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import unquote

from deniable.messages import Refusal, RefusalCode
from deniable.messages.gateway import GATEWAY_KEYS_PATH, GATEWAY_PATH
from deniable.oblivious_http import BinaryRequest

if TYPE_CHECKING:  # reading only the table needs no aiohttp
    from aiohttp import web

JSON: Final = "application/json"
MSGPACK: Final = "application/msgpack"
CSV: Final = "text/csv"
HTML: Final = "text/html"
SVG: Final = "image/svg+xml"
FORMATS: Final = ("json", "csv")
BYTES: Final = "application/octet-stream"
TEXT: Final = "text/plain"
_PLACEHOLDERS: Final = {"{name}": "([^/]+)", "{path}": "(.+)"}
"""Placeholders in a route's path: for one part, or for all that follows; at most one per path."""
LOG_PATH: Final = "/log/"

Handler = Callable[["web.BaseRequest", str], Awaitable["web.Response"]]
"""Answers a request, given its placeholder's text in the path (otherwise the empty text)."""
DeviceHandler = Callable[["web.BaseRequest | BinaryRequest", str], Awaitable["web.Response"]]
"""A handler of a device's request, direct or through a relay."""
AnyHandler = TypeVar("AnyHandler")


@dataclass(frozen=True, slots=True)
class Route:
    """A route for one kind of request."""

    path: str  # with at most one placeholder
    summary: str
    method: str = "GET"  # or POST; GET routes answer HEAD too
    parameters: tuple[str, ...] | None = ()  # None means that the query is ignored
    role: str = ""  # the least role of a token
    public: bool = False  # for some surveys, no token is needed
    form: bool = False  # whether the route also accepts its own form, by POST
    relayed: bool = False  # whether the route also opens requests from a relay, by POST

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods that the route answers."""
        answered = ("GET", "HEAD") if self.method == "GET" else (self.method,)
        return (*answered, "POST") if self.form or self.relayed else answered


class MethodNotAllowed(Exception):
    """The path only accepts other methods; the message lists them."""

    def __init__(self, route: Route) -> None:
        super().__init__(",".join(route.methods))
        self.route = route


def _of_figures(what: str, summary: str, parameters: tuple[str, ...]) -> Route:
    path = f"/v1/surveys/{{name}}/{what}"
    return Route(path, summary, parameters=parameters, role="analyst", public=True)


ROUTES: Final = (
    Route(
        "/v1/reports",
        "the outcome of each report, once it is durable",
        method="POST",
        parameters=None,
    ),
    Route("/v1/surveys", "current surveys, with their privacy terms"),
    Route(
        "/v1/surveys/{name}",
        "the newest survey with a name, or an older one",
        parameters=("survey",),
    ),
    Route(
        "/v1/surveys/{name}/versions",
        "all surveys with a name, newest first, including those that are over or were ended",
    ),
    Route("/v1/surveys/{name}/manifest", "a survey's signed manifest", parameters=("survey",)),
    Route(
        "/v1/surveys/{name}/manifests",
        "all signed manifests with a name that have not ended, newest first",
    ),
    _of_figures("epochs", "a survey's epochs with figures, and the seals", ("survey",)),
    _of_figures("counts", "how often each randomised response was counted", ("survey", "epoch")),
    _of_figures(
        "histogram",
        "a survey's debiased histogram; with groups, the share of these answers together",
        ("survey", "epoch", "level", "view", "group", "format"),
    ),
    _of_figures(
        "series",
        "a survey's frequencies epoch by epoch, across all surveys with the same name",
        ("survey", "epoch", "level", "group", "format"),
    ),
    _of_figures(
        "comparison",
        "a survey's frequencies compared with those of other epochs or another survey",
        ("survey", "epoch", "against", "level", "quantile", "group", "format"),
    ),
    _of_figures("notes", "operators' notes on events, shown next to the figures", ()),
    Route("/v1/authority", "the rotations of the authority's key, oldest first"),
    Route(GATEWAY_KEYS_PATH, "the gateway's keys, signed by the authority"),
    Route(
        GATEWAY_PATH,
        "the gateway's keys, unsigned, for relays and people; POST accepts requests from a relay",
        relayed=True,
    ),
    Route(
        f"{LOG_PATH}checkpoint",
        "the public log's newest checkpoint, signed and cosigned (C2SP tlog-checkpoint)",
    ),
    Route(
        f"{LOG_PATH}{{path}}",
        "any other file of the public log; such files never change (C2SP tlog-tiles)",
    ),
    Route("/healthz", "the process is up", parameters=None),
    Route("/readyz", "the store accepts durable writes", parameters=None),
    Route("/metrics", "counts and times for Prometheus", parameters=None, role="operator"),
)
"""Every route for programs, one per path. An operator's token suffices wherever another does."""


class Router(Generic[AnyHandler]):
    """A router, which finds the handler of a request by the routes' paths."""

    def __init__(self, table: Iterable[Route], handlers: Mapping[str, AnyHandler]) -> None:
        routes = {route.path: route for route in table}
        self._routes = [
            (_pattern(routes[path]), routes[path], handler) for path, handler in handlers.items()
        ]

    def find(self, method: str, path: str) -> tuple[Route, AnyHandler, str]:
        """Return a request's route, its handler, and its placeholder's text.

        The path is as received: an encoded slash is not a slash.

        Raises:
            Refusal: not-found.
            MethodNotAllowed: if the path accepts other methods.
        """
        for pattern, route, handler in self._routes:  # the first match applies
            match = pattern.fullmatch(path)
            if match is not None:
                if method not in route.methods:
                    raise MethodNotAllowed(route)
                return route, handler, unquote("".join(match.groups()))
        raise Refusal(RefusalCode.NOT_FOUND, "this path does not exist; see GET /v1/surveys")


def _pattern(route: Route) -> re.Pattern[str]:
    text = re.escape(route.path)
    for placeholder, pattern in _PLACEHOLDERS.items():
        text = text.replace(re.escape(placeholder), pattern)
    return re.compile(text)


def check_query(request: "web.BaseRequest", allowed: tuple[str, ...] | None) -> None:
    """Refuse (bad-query) parameters that the route lacks, and repeated ones except groups."""
    if allowed is None:
        return
    query = request.query
    if any(key not in allowed or (key != "group" and len(query.getall(key)) > 1) for key in query):
        takes = ", ".join(allowed) if allowed else "none"
        raise Refusal(
            RefusalCode.BAD_QUERY, f"the accepted parameters, each at most once, are: {takes}"
        )
