"""Witnesses that run in this process, which a publisher asks over sockets."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from deniable.logs import VerifierKey, Witness
from tests.support.fake_witness import FakeWitness


@dataclass
class RunningWitness:
    """A witness and its server, which can be stopped."""

    fake: FakeWitness
    server: BaseTestServer
    witness: Witness


@asynccontextmanager
async def witnessing(number: int, *logs: VerifierKey) -> AsyncIterator[list[RunningWitness]]:
    """Run so many witnesses of these logs."""
    async with AsyncExitStack() as stack:
        running = []
        for index in range(number):
            name = f"w{index}.example"
            fake = FakeWitness(name, *logs)
            server = await stack.enter_async_context(serving(fake))
            running.append(RunningWitness(fake, server, Witness(name, fake.key, url_of(server))))
        yield running


def serving(fake: FakeWitness) -> TestServer:
    """Return the server of a witness."""

    async def add_checkpoint(request: web.Request) -> web.Response:
        status, kind, text = fake.add_checkpoint(await request.read())
        return web.Response(status=status, content_type=kind, text=text)

    async def checkpoint(request: web.Request) -> web.Response:
        text = fake.checkpoint(request.match_info["hash"])
        return web.Response(status=404) if text is None else web.Response(text=text)

    application = web.Application()
    application.router.add_post("/add-checkpoint", add_checkpoint)
    application.router.add_get("/{hash}/checkpoint", checkpoint)
    return TestServer(application)


def url_of(server: BaseTestServer) -> str:
    """Return a server's URL, as settings name it."""
    return str(server.make_url("")).rstrip("/")
