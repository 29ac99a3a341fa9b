"""The collector's HTTP server: uploads in, debiased histograms out.

What serves is imported when it is first asked for: settings and tokens need neither aiohttp nor
numpy, which the command line would wait for.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms.on_demand import on_demand
from deniable.server.operations.logs import configure_logging as configure_logging
from deniable.server.operations.settings import CONFIG_FILE as CONFIG_FILE
from deniable.server.operations.settings import SETTINGS as SETTINGS
from deniable.server.operations.settings import Config as Config
from deniable.server.operations.settings import InvalidConfig as InvalidConfig
from deniable.server.operations.settings import Setting as Setting
from deniable.server.routes.catalogue import authority_chain as authority_chain
from deniable.server.routes.tokens import new_token as new_token
from deniable.server.routes.tokens import token_digest as token_digest
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
