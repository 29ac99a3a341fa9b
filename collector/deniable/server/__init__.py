"""The collector's HTTP server: uploads in, debiased histograms out.

Its names are imported when they are first asked for: settings and tokens need neither aiohttp nor
numpy, which the command line would wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.server.life.serve import run_in_loop, serve
    from deniable.server.life.workers import WorkersFailed, serve_with_workers
    from deniable.server.operations.logs import configure_logging
    from deniable.server.operations.settings import (
        CONFIG_FILE,
        SETTINGS,
        Config,
        InvalidConfig,
        Setting,
    )
    from deniable.server.routes.app import build_server
    from deniable.server.routes.catalogue import authority_chain
    from deniable.server.routes.tokens import new_token, token_digest
    from deniable.server.transport.tls import tls_context

__all__ = [
    "CONFIG_FILE",
    "SETTINGS",
    "Config",
    "InvalidConfig",
    "Setting",
    "WorkersFailed",
    "authority_chain",
    "build_server",
    "configure_logging",
    "new_token",
    "run_in_loop",
    "serve",
    "serve_with_workers",
    "tls_context",
    "token_digest",
]

_MODULES = {
    "life.serve": ("run_in_loop", "serve"),
    "life.workers": ("WorkersFailed", "serve_with_workers"),
    "operations.logs": ("configure_logging",),
    "operations.settings": ("CONFIG_FILE", "SETTINGS", "Config", "InvalidConfig", "Setting"),
    "routes.app": ("build_server",),
    "routes.catalogue": ("authority_chain",),
    "routes.tokens": ("new_token", "token_digest"),
    "transport.tls": ("tls_context",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
