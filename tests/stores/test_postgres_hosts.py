"""A store whose URL names several PostgreSQL hosts: a silent one delays, and no more."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from deniable.stores import PostgresStore, Unreachable
from tests.stores.databases import many
from tests.stores.places import A, D, publish
from tests.support.postgres import PostgresServer
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy

IMPATIENT = "connect_timeout=1"  # the host that answers may be slow on a busy machine


async def proxies(stack: AsyncExitStack, server: PostgresServer, count: int) -> list[PostgresProxy]:
    return [await stack.enter_async_context(postgres_proxy(server.socket)) for _ in range(count)]


@pytest.mark.long
async def test_silent_hosts_keep_nobody_off_another(server: PostgresServer) -> None:
    database = await server.empty_store()
    async with AsyncExitStack() as stack:
        first, second, third = places = await proxies(stack, server, 3)
        for silent in (first, second):
            silent.silence("answers", later=True)
        hosts = ",".join(f"127.0.0.1:{place.port}" for place in places)
        store = await PostgresStore.open(f"postgresql://deniable@{hosts}/{database}?{IMPATIENT}")
        await publish(store)
        assert await store.add(many(3)) == [A] * 3
        await asyncio.gather(store.surveys(), store.surveys())
        # Only the first connection asked the silent ones.
        assert (first.connections, second.connections) == (1, 1)
        assert third.connections > 1
        # A lost connection is made again wherever there is an answer.
        third.answer = many(3)[0].key
        assert await store.add(many(3)) == [D] * 3
        assert third.cuts == 1
        await store.close()


@pytest.mark.long
async def test_where_no_host_says_anything_none_is_reached(server: PostgresServer) -> None:
    async with AsyncExitStack() as stack:
        places = await proxies(stack, server, 2)
        for silent in places:
            silent.silence("answers", later=True)
        hosts = ",".join(f"127.0.0.1:{place.port}" for place in places)
        with pytest.raises(Unreachable, match="does not respond"):
            await PostgresStore.open(f"postgresql://deniable@{hosts}/none?{IMPATIENT}", patience=0)
        assert [place.connections for place in places] == [1, 1]


async def test_hosts_of_which_none_takes_writes_are_told_as_such(server: PostgresServer) -> None:
    url = f"{server.url('postgres')}&target_session_attrs=standby"
    with pytest.raises(Unreachable, match="target_session_attrs"):
        await PostgresStore.open(url, patience=0)
