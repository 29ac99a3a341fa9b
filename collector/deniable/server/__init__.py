"""The collector's HTTP server: uploads in, debiased histograms out.

What serves is imported when it is first asked for: the command line looks at certificates and
writes logs without aiohttp.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms.on_demand import on_demand
from deniable.server.operations.logs import configure_logging as configure_logging
from deniable.server.transport.tls import tls_context as tls_context

_ON_DEMAND = {
    "WorkersFailed": "life.workers",
    "build_server": "routes.app",
    "run_in_loop": "life.serve",
    "serve": "life.serve",
    "serve_with_workers": "life.workers",
}

if TYPE_CHECKING:
    from deniable.server.life.serve import run_in_loop as run_in_loop
    from deniable.server.life.serve import serve as serve
    from deniable.server.life.workers import WorkersFailed as WorkersFailed
    from deniable.server.life.workers import serve_with_workers as serve_with_workers
    from deniable.server.routes.app import build_server as build_server
else:
    __getattr__ = on_demand(__name__, _ON_DEMAND)
