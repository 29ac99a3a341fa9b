"""Which handler answers a request: a table of paths, and nothing that costs a report time."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from deniable.messages import Refusal, RefusalCode

__all__ = ["Answering", "MethodNotAllowed", "Route", "Router"]

Answering = Callable[[web.BaseRequest, str], Awaitable[web.Response]]
"""Answers a request, given what stands for {name} in its path (else the empty text)."""

_NAME: Final = "{name}"


class MethodNotAllowed(Exception):
    """The path takes other methods.

    Attributes:
        allowed: those, separated by commas.
    """

    def __init__(self, allowed: str) -> None:
        super().__init__(allowed)
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked.

    Attributes:
        method: GET, which answers HEAD too, or POST.
        path: with at most one part {name}.
        answering: the handler.
    """

    method: str
    path: str
    answering: Answering

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods that it answers."""
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)


class Router:
    """Finds a request's route.

    Args:
        routes: one a path.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._fixed = {route.path: route for route in routes if _NAME not in route.path}
        self._named = [
            (re.compile(_pattern(route.path), re.ASCII), route)
            for route in routes
            if _NAME in route.path
        ]

    def find(self, request: web.BaseRequest) -> tuple[Route, str]:
        """Return a request's route, and what stands for {name} in its path (else the empty text).

        Raises:
            Refusal: not-found.
            MethodNotAllowed: if the path takes other methods.
        """
        # The path as it came: an encoded slash is no slash.
        path = request.rel_url.raw_path
        route, name = self._fixed.get(path), ""
        if route is None:
            route, name = self._find_named(path)
        if request.method not in route.methods:
            raise MethodNotAllowed(",".join(route.methods))
        return route, name

    def _find_named(self, path: str) -> tuple[Route, str]:
        for pattern, route in self._named:
            found = pattern.fullmatch(path)
            if found is not None:
                return route, unquote(found[1])
        raise Refusal(RefusalCode.NOT_FOUND, "there is nothing at this path; see GET /v1/surveys")


def _pattern(path: str) -> str:
    before, after = path.split(_NAME)
    return f"{re.escape(before)}([^/]+){re.escape(after)}"
