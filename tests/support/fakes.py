"""Clients that talk to a ``FakeCollector`` over a real socket."""

from typing import Any

from deniable.client import IN_MEMORY, Client, Survey
from deniable.fakes import FakeCollector
from tests.support.clients import client_of

THEME = Survey(
    "theme", "Which theme do you use?", ("dark", "light"), max_epsilon="1", max_kept_epsilon="1"
)


def device(collector: FakeCollector, *surveys: Survey, **changes: Any) -> Client:
    arguments: dict[str, Any] = {
        "authority": collector.authority,
        "surveys": surveys or [THEME],
        "state": IN_MEMORY,
        "consent": "on",
        "background": False,
        "environment": {},
        **changes,
    }
    return client_of(collector.origin, **arguments)
