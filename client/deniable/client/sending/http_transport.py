"""The default transport: HTTP/1.1 by ``http_exchange``, which the first request imports."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from deniable.client.sending.transport import REQUEST_SECONDS, HttpAnswer, Target

_ADDRESSES: Final = frozenset({"127.0.0.1", "::1"})
_THIS_MACHINE: Final = _ADDRESSES | {"localhost"}

barriers: Final[list[Callable[[str], None]]] = []
"""For the tests of apps: each is called with a request, and raises an error to prevent it."""


class HttpTransport:
    """HTTP/1.1 to one origin, with a new connection for each request.

    The connection uses the proxy from the environment (``HTTPS_PROXY``, ``ALL_PROXY``,
    ``NO_PROXY``, or the system's settings, as the standard library reads them). It is tunnelled
    with CONNECT, so the proxy sees only the collector's name. A proxy other than ``http://`` is
    never bypassed: the collector is then unreachable. This machine is never reached through a
    proxy.

    Args:
        origin: destination of requests, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        timeout: seconds for a whole exchange, unless the caller has less.

    Raises:
        ValueError: for an invalid origin, and for plain http to another machine.
    """

    def __init__(self, origin: str, timeout: float = REQUEST_SECONDS) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in {"https", "http"} or not parts.hostname:
            raise ValueError("origin must be https://host[:port]")
        secure, name = parts.scheme == "https", parts.hostname
        port = parts.port or (443 if secure else 80)
        self._target = Target(parts.scheme, name, port, parts.netloc, secure, name in _THIS_MACHINE)
        if not secure and name not in _ADDRESSES:
            raise ValueError("origin must use https; http is only for 127.0.0.1 and [::1]")
        self._timeout = timeout

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = REQUEST_SECONDS,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        """Send one request; see :class:`Transport`."""
        for barrier in barriers[-1:]:
            barrier(f"{method} {path}")
        # Imported here, where nobody waits: http and ssl take as long to import as all the rest.
        from deniable.client.sending.http_exchange import exchange

        seconds = min(timeout, self._timeout)
        return exchange(self._target, method, path, headers, body, most, seconds, before_body)
