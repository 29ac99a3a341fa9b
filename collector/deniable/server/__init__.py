"""The collector's HTTP server: uploads in, debiased histograms out.

The serving code is imported on first use: the command line checks certificates and writes logs
without aiohttp.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand
from deniable.server.logging_setup import configure_logging as configure_logging
from deniable.server.tls import tls_context as tls_context

_ON_DEMAND = {
    "WorkersFailed": "workers",
    "build_server": "routes.app",
    "run_in_loop": "serving",
    "serve": "serving",
    "serve_with_workers": "workers",
}

if TYPE_CHECKING:
    from deniable.server.routes.app import build_server as build_server
    from deniable.server.serving import run_in_loop as run_in_loop
    from deniable.server.serving import serve as serve
    from deniable.server.workers import WorkersFailed as WorkersFailed
    from deniable.server.workers import serve_with_workers as serve_with_workers
else:
    __getattr__ = on_demand(__name__, _ON_DEMAND)
