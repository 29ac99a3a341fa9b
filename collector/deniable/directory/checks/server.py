"""The server that runs, by its answer."""

from collections.abc import Mapping
from typing import Any

from deniable.directory.checks.finding import Finding, bad, doubtful, good


def judge_server(place: str, status: int, answer: Mapping[str, Any]) -> Finding:
    """Judge the HTTP status and the JSON object of ``/healthz`` or ``/readyz``."""
    if status != 200:
        reason = answer.get("detail", "it is no collector")
        return bad(f"{place} answers {status}: {reason}", "see the store below, and the log")
    serving, wanted = answer.get("workers", 0), answer.get("workers_wanted", 0)
    if serving < wanted:
        remedy = "look at its log, for what ends or stops them"
        return doubtful(f"{serving} of {wanted} workers serve", remedy)
    return good(f"{place} is ready")
