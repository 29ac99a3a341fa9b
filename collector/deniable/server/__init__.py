"""The collector's HTTP server: uploads in, debiased histograms out."""

from deniable.server.app import build_server
from deniable.server.catalogue import authority_chain
from deniable.server.config import CONFIG_FILE, Config, InvalidConfig
from deniable.server.logs import configure_logging
from deniable.server.serve import run_in_loop, serve
from deniable.server.settings import SETTINGS, Setting
from deniable.server.tls import tls_context
from deniable.server.tokens import new_token, token_digest
from deniable.server.workers import WorkersFailed, serve_with_workers

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
