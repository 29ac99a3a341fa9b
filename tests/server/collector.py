"""The application on a real store and a fake clock, spoken to over a real socket."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, web
from aiohttp.test_utils import BaseTestServer, TestClient
from yarl import URL

from deniable.counterparts.signing import sign_manifest
from deniable.directory import Config, new_token, token_digest
from deniable.messages import PROBLEM_JSON, Manifest, UploadAnswer, pack_upload, read_problem
from deniable.server.connections import CollectorServer
from deniable.server.metrics import PREFIX, Meters
from deniable.server.routes.app import build_server
from deniable.server.serving import accept, open_sockets
from deniable.stores import Role, SqliteStore, Token
from tests.support.clock import FakeClock
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START

MSGPACK = {"Content-Type": "application/msgpack"}


def totals(meters: Meters) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the numbers of counters and gauges, by name and the values of labels."""
    return {
        metric.name.removeprefix(PREFIX): {
            tuple(sample.labels.values()): sample.value for sample in metric.samples
        }
        for metric in meters.collect()
        if metric.type != "histogram"
    }


@dataclass(frozen=True)
class Answer:
    """One answer, whose body has come whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self) -> tuple[int, str]:
        """Return status and code (else title) of a problem in the one shape of all of them."""
        assert self.headers["content-type"] == PROBLEM_JSON
        told = json.loads(self.body)
        assert told["status"] == self.status
        if told["type"] == "about:blank":
            assert set(told) == {"type", "title", "status"}
            return self.status, told["title"]
        assert set(told) == {"type", "title", "status", "detail"}
        code = read_problem(self.body, self.headers["content-type"], self.status)
        assert code is not None, "a device would not act on this answer"
        if self.status in {408, 429, 503, 507}:
            assert int(self.headers["retry-after"]) > 0
        else:  # what time does not mend names no time to retry
            assert "retry-after" not in self.headers
        return self.status, code.value


class OwnServer(BaseTestServer):
    """Runs the collector's own server, as ``serve`` does."""

    def __init__(self, server: CollectorServer) -> None:
        super().__init__(host="127.0.0.1")
        self._collector = server

    async def start_server(self, *_: object, **__: object) -> None:
        """Listen."""
        self.runner = await self._make_runner()
        await self.runner.setup()
        (self._listening,) = await accept(self._collector, open_sockets(self.host, 0))
        self.port = self._listening.sockets[0].getsockname()[1]
        self._root = URL(f"http://{self.host}:{self.port}")

    async def close(self) -> None:
        """Close everything."""
        self._listening.close()
        await self._collector.shutdown()
        await super().close()

    async def _make_runner(self, **_: Any) -> web.BaseRunner:
        return web.AppRunner(web.Application())  # the client needs one, and asks nothing of it


@dataclass
class Collector:
    """A running collector in which MANIFEST is published."""

    client: TestClient[web.BaseRequest, None]
    server: CollectorServer
    store: SqliteStore
    clock: FakeClock
    config: Config
    meters: Meters

    async def publish(self, manifest: Manifest, *, known: bool = True) -> None:
        """Publish by another connection, as ``deniable survey publish`` does.

        Args:
            known: whether the second goes by after which the collector knows of it.
        """
        other = await SqliteStore.open(Path(self.config.store))
        await other.publish(manifest, sign_manifest(manifest, AUTHORITY), None, START)
        await other.close()
        if known:
            self.clock.time += 1

    def total(self, name: str) -> float:
        """Return what the meter of this name has counted, of whatever labels."""
        return sum(totals(self.meters)[name].values())

    async def token(self, role: Role = Role.ANALYST) -> dict[str, str]:
        """Make a token; return the header that shows it."""
        token = new_token()
        limits = (MANIFEST.name, START + 366 * 86_400) if role is Role.READER else ()
        await self.store.add_token(Token(token_digest(token), role, "", START, *limits))
        return {"Authorization": f"Bearer {token}"}

    async def upload(self, body: Any, headers: dict[str, str] | None = None) -> ClientResponse:
        """Post a body of any kind."""
        return await self.client.post("/v1/reports", data=body, headers=MSGPACK | (headers or {}))

    async def send(self, *envelopes: bytes) -> UploadAnswer:
        """Upload reports; return the answer as a device reads it."""
        answer = await self.upload(pack_upload(list(envelopes)))
        assert answer.status == 200
        assert answer.content_type == "application/json"
        read = UploadAnswer.from_json(await answer.read(), len(envelopes))
        assert read is not None
        return read


@asynccontextmanager
async def running(directory: Path, **settings: Any) -> AsyncIterator[Collector]:
    """Yield a collector.

    Args:
        directory: where its store is.
        settings: ``store`` (an open one instead of its own) and fields of Config.
    """
    clock = FakeClock()
    path = directory / "store.sqlite"
    store = settings.pop("store", None) or await SqliteStore.open(path)
    config = Config(
        origin=ORIGIN,
        authority=AUTHORITY.public_key,
        store=path,
        gateway_keys=directory / "gateway.json",
    )
    config = replace(config, **settings)
    await store.publish(MANIFEST, sign_manifest(MANIFEST, AUTHORITY))
    try:
        meters = Meters()
        server = await build_server(config, store, clock, meters)
        client: TestClient[web.BaseRequest, None] = TestClient(OwnServer(server))
        async with client:
            yield Collector(client, server, store, clock, config, meters)
    finally:
        await store.close()


async def problem(answer: ClientResponse) -> tuple[int, str]:
    """Return status and code (else title) of a problem in the one shape of all of them."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Answer(answer.status, headers, await answer.read()).problem()
