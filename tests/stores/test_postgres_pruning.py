"""How long pruning an epoch on PostgreSQL may take."""

from typing import cast

from deniable.stores.postgres.driver import LONG_SECONDS, follow
from deniable.stores.postgres.pool import Connection
from deniable.stores.postgres.postgres_store import _prune
from tests.stores.places import NOW

ROWS = {"sealed_at": (0, None), "minimum": (1, 1), "regclass": (True,), "count(*)": (5,)}


class Server:
    """A connection that answers what pruning asks, and notes how long each answer may take."""

    def __init__(self) -> None:
        self.limits: dict[str, float | None] = {}

    async def fetch(
        self, sql: str, *_: object, **options: float | None
    ) -> list[tuple[object, ...]]:
        self.limits[sql] = options["timeout"]
        return [row for part, row in ROWS.items() if part in sql]


async def test_the_client_waits_for_the_count_as_long_as_the_server_may_take() -> None:
    server = Server()
    assert await follow(cast(Connection, server), _prune(bytes(32), 0, NOW)) == 5
    assert f"SET LOCAL statement_timeout = '{LONG_SECONDS}s'" in server.limits
    assert {limit for sql, limit in server.limits.items() if "count(*)" in sql} == {LONG_SECONDS}
