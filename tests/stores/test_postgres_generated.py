"""Any sequence of groups through two collectors, with connections cut anywhere: counted once."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.stores import PostgresStore, Verdict
from tests.stores.places import A, C, D, counts, publish
from tests.support.effort import effort
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.reports import report
from tests.support.surveys import MANIFEST

Trouble = Literal["request", "answer", "ended"]
"""The connection is cut before the database has seen the group, or once it is committed; or those
of both collectors are ended before, as by an administrator."""
SECONDS = 60.0


@dataclass(frozen=True)
class Add:
    """A group of (device, response) at one of two collectors, and what befalls it."""

    collector: int
    group: tuple[tuple[int, int], ...]
    trouble: Trouble | None


operations = st.lists(
    st.builds(
        Add,
        st.integers(0, 1),
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=6).map(
            tuple
        ),
        st.sampled_from([None, "request", "answer", "ended"]),
    ),
    max_size=8,
)


@dataclass
class Model:
    """Which response stands of each device."""

    stands: dict[int, int] = field(default_factory=dict)

    def add(self, step: Add) -> list[Verdict]:
        """Store a group; where the answer is cut, the second attempt tells what the first did."""
        verdicts = [self._add_one(*item) for item in step.group]
        if step.trouble == "answer":
            return [self._add_one(*item) for item in step.group]
        return verdicts

    def _add_one(self, device: int, response: int) -> Verdict:
        if device not in self.stands:
            self.stands[device] = response
            return A
        return D if self.stands[device] == response else C


async def agree(server: PostgresServer, steps: list[Add]) -> None:
    """Do the same with two collectors and the model; compare every answer, and the end."""
    database = await server.empty_store()
    model = Model()
    async with AsyncExitStack() as stack:
        proxies: list[PostgresProxy] = []
        stores: list[PostgresStore] = []
        for _ in range(2):
            proxy = await stack.enter_async_context(postgres_proxy(server.socket))
            url = f"postgresql://deniable@127.0.0.1:{proxy.port}/{database}"
            store = await PostgresStore.open(url, patience=SECONDS)
            stack.push_async_callback(store.close)
            proxies.append(proxy)
            stores.append(store)
        await publish(stores[0])
        for step in steps:
            proxy, sent = proxies[step.collector], [report(d, r) for d, r in step.group]
            if step.trouble == "ended":
                # With a time-out it returns once they are gone.
                await server.administer(
                    "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
                    f" WHERE datname = '{database}'"
                )
            elif step.trouble is not None:
                setattr(proxy, step.trouble, sent[0].key)
            assert await stores[step.collector].add(sent) == model.add(step)
            assert proxy.cuts == (step.trouble in {"request", "answer"})
            proxy.cuts = 0
        standing = list(model.stands.values())
        responses = range(len(MANIFEST.categories))
        assert await counts(stores[0]) == [standing.count(response) for response in responses]
        assert await stores[1].check() == []


@pytest.mark.long
@settings(max_examples=effort(30))
@given(steps=operations)
@example(
    steps=[
        Add(0, ((0, 0), (0, 0), (1, 1), (0, 1)), "answer"),
        Add(1, ((0, 0), (2, 0), (2, 1)), "request"),
        Add(1, ((2, 0), (3, 0)), "ended"),
        Add(0, ((3, 0), (4, 0)), "answer"),
    ]
)
def test_whatever_is_cut_and_ended_every_report_is_counted_once(steps: list[Add]) -> None:
    asyncio.run(agree(postgres_server(), steps))
