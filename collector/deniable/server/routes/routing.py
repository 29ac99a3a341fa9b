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
    parameters: tuple[str, ...] | None = None  # None means that the query is ignored
    role: str = ""  # the least role of a token
    public: bool = False  # for some surveys, no token is needed
    form: bool = False  # whether the route also accepts its own form, by POST
    relayed: bool = False  # whether the route also opens requests from a relay, by POST

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods that the route answers."""
        answered = ("GET", "HEAD") if self.method == "GET" else (self.method,)
        return (*answered, "POST") if self.form or self.relayed else answered

    @property
    def placeholder(self) -> str:
        """Return the placeholder in the path; the empty text if there is none."""
        return next((text for text in _PLACEHOLDERS if text in self.path), "")


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
    ),
    Route(
        "/v1/surveys",
        "current surveys, with their privacy terms",
        parameters=(),
    ),
    Route(
        "/v1/surveys/{name}",
        "the newest survey with a name, or an older one",
        parameters=("survey",),
    ),
    Route(
        "/v1/surveys/{name}/versions",
        "all surveys with a name, newest first, including those that are over or were ended",
        parameters=(),
    ),
    Route(
        "/v1/surveys/{name}/manifest",
        "a survey's signed manifest",
        parameters=("survey",),
    ),
    Route(
        "/v1/surveys/{name}/manifests",
        "all signed manifests with a name that have not ended, newest first",
        parameters=(),
    ),
    _of_figures("epochs", "a survey's epochs with figures, and the seals", ("survey",)),
    _of_figures(
        "counts",
        "how often each randomised response was counted",
        ("survey", "epoch"),
    ),
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
    Route(
        "/v1/authority",
        "the rotations of the authority's key, oldest first",
        parameters=(),
    ),
    Route(
        GATEWAY_KEYS_PATH,
        "the gateway's keys, signed by the authority",
        parameters=(),
    ),
    Route(
        GATEWAY_PATH,
        "the gateway's keys, unsigned, for relays and people; POST accepts requests from a relay",
        parameters=(),
        relayed=True,
    ),
    Route(
        f"{LOG_PATH}checkpoint",
        "the public log's newest checkpoint, signed and cosigned (C2SP tlog-checkpoint)",
        parameters=(),
    ),
    Route(
        f"{LOG_PATH}{{path}}",
        "any other file of the public log; such files never change (C2SP tlog-tiles)",
        parameters=(),
    ),
    Route("/healthz", "the process is up"),
    Route("/readyz", "the store accepts durable writes"),
    Route("/metrics", "counts and times for Prometheus", role="operator"),
)
"""Every route for programs, one per path. An operator's token suffices wherever another does."""


class Router(Generic[AnyHandler]):
    """A router, which finds the handler of a request by the routes' paths."""

    def __init__(self, table: Iterable[Route], handlers: Mapping[str, AnyHandler]) -> None:
        routes = {route.path: route for route in table}
        pairs = {path: (routes[path], handler) for path, handler in handlers.items()}
        self._fixed = {path: pair for path, pair in pairs.items() if not pair[0].placeholder}
        self._named = [(_pattern(pair[0]), *pair) for pair in pairs.values() if pair[0].placeholder]

    def find(self, method: str, path: str) -> tuple[Route, AnyHandler, str]:
        """Return a request's route, its handler, and its placeholder's text.

        Args:
            method: The request's method.
            path: As received: an encoded slash is not a slash.

        Raises:
            Refusal: not-found.
            MethodNotAllowed: if the path accepts other methods.
        """
        routed = self._fixed.get(path)
        route, handler, name = (*routed, "") if routed is not None else self._find_named(path)
        if method not in route.methods:
            raise MethodNotAllowed(route)
        return route, handler, name

    def _find_named(self, path: str) -> tuple[Route, AnyHandler, str]:
        for pattern, route, handler in self._named:
            match = pattern.fullmatch(path)
            if match is not None:
                return route, handler, unquote(match[1])
        raise Refusal(RefusalCode.NOT_FOUND, "this path does not exist; see GET /v1/surveys")


def _pattern(route: Route) -> re.Pattern[str]:
    text = re.escape(route.placeholder)
    return re.compile(re.escape(route.path).replace(text, _PLACEHOLDERS[route.placeholder]))


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
