"""Witnesses that run in this process, which a publisher asks over sockets."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp.test_utils import TestServer

from deniable.transparency_log import VerifierKey, Witness
from deniable.witnessing import WitnessDirectory
from deniable.witnessing.server import witness_application
from tests.support.clock import FakeClock


@dataclass
class RunningWitness:
    """A witness and its server, which can be stopped."""

    directory: WitnessDirectory
    server: TestServer
    witness: Witness


@asynccontextmanager
async def witnessing(
    place: Path, number: int, *logs: VerifierKey
) -> AsyncIterator[list[RunningWitness]]:
    """Run so many witnesses of these logs."""
    async with AsyncExitStack() as stack:
        running = []
        for index in range(number):
            name = f"w{index}.example"
            directory = stack.enter_context(WitnessDirectory.create(place / name, name))
            for key in logs:
                directory.watch(key)
            server = TestServer(witness_application(directory, FakeClock()))
            await stack.enter_async_context(server)
            url = str(server.make_url("")).rstrip("/")
            running.append(RunningWitness(directory, server, Witness(name, directory.key, url)))
        yield running
