"""What every answer carries, also the last one on a connection that is cut."""

from collections.abc import Mapping, MutableMapping
from typing import Final

from deniable.server.config import Config

__all__ = ["answer_headers", "complete"]

_YEAR_SECONDS: Final = 365 * 86_400
_HEADERS: Final = {
    "Server": "deniable",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def answer_headers(config: Config) -> dict[str, str]:
    """Return the headers of every answer of a collector."""
    headers = dict(_HEADERS)
    # Also where a proxy ends TLS. Browsers ignore it over plain HTTP.
    if config.origin.startswith("https://") or config.tls_certificate is not None:
        headers["Strict-Transport-Security"] = f"max-age={_YEAR_SECONDS}"
    return headers


def complete(headers: MutableMapping[str, str], common: Mapping[str, str]) -> None:
    """Add what every answer carries, unless the answer says it otherwise."""
    for name, value in common.items():
        headers.setdefault(name, value)
