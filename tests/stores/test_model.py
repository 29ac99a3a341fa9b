"""Any sequence of requests, seals and restarts, against a plain dictionary that obeys S1 to S5."""

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.messages import Manifest
from deniable.stores import Verdict
from tests.stores.places import PLACES, Place, counts, publish
from tests.support.reports import report
from tests.support.surveys import manifest

EPOCHS = (0, 1)

# A report is (device, epoch, response); few of each, so that they meet.
Item = tuple[int, int, int]
Batch = list[Item]

items = st.tuples(st.integers(0, 3), st.sampled_from(EPOCHS), st.integers(0, 2))
batches = st.lists(items, max_size=6)


@dataclass(frozen=True)
class Add:
    """Requests that arrive together, and so are one commit group."""

    group: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True)
class Seal:
    epoch: int


@dataclass(frozen=True)
class Reopen:
    pass


Operation = Add | Seal | Reopen

operations = st.lists(
    st.one_of(
        st.lists(batches.map(tuple), min_size=1, max_size=3).map(lambda g: Add(tuple(g))),
        st.sampled_from(EPOCHS).map(Seal),
        st.just(Reopen()),
    ),
    max_size=8,
)


@dataclass
class Model:
    """What the rules say, without any database."""

    minimum: int
    receipts: dict[tuple[int, int], int] = field(default_factory=dict)
    sealed: set[int] = field(default_factory=set)
    shown: dict[int, Counter[int]] = field(default_factory=lambda: {e: Counter() for e in EPOCHS})

    def add(self, group: tuple[tuple[Item, ...], ...]) -> list[list[Verdict]]:
        verdicts = [[self._add_one(*item) for item in batch] for batch in group]
        for epoch in EPOCHS:
            counted = self.counted(epoch)
            if counted.total() - self.shown[epoch].total() >= max(1, self.minimum):
                self.shown[epoch] = counted
        return verdicts

    def _add_one(self, device: int, epoch: int, response: int) -> Verdict:
        if epoch in self.sealed:
            return Verdict.SEALED
        if (device, epoch) not in self.receipts:
            self.receipts[device, epoch] = response
            return Verdict.ACCEPTED
        same = self.receipts[device, epoch] == response
        return Verdict.DUPLICATE if same else Verdict.CONFLICT

    def counted(self, epoch: int) -> Counter[int]:
        return Counter(response for (_, e), response in self.receipts.items() if e == epoch)


@lru_cache
def survey(minimum: int) -> Manifest:
    return manifest(name=f"minimum-{minimum}", minimum_reports=minimum)


async def agree(place: Place, minimum: int, steps: list[Operation]) -> None:
    """Do the same with store and model; compare all that can be seen after every step."""
    asked, model = survey(minimum), Model(minimum)
    store = await place.open()
    try:
        await publish(store, asked)
        for step in steps:
            if isinstance(step, Add):
                sent = [
                    [report(device, r, epoch=epoch, survey=asked) for device, epoch, r in batch]
                    for batch in step.group
                ]
                assert await asyncio.gather(*map(store.add, sent)) == model.add(step.group)
            elif isinstance(step, Seal):
                await store.seal(asked.survey_id, step.epoch)
                model.sealed.add(step.epoch)
            else:
                await store.close()
                store = await place.open()
            for epoch in EPOCHS:
                expected = [model.shown[epoch][r] for r in range(len(asked.categories))]
                assert await counts(store, epoch, asked) == expected
            newest = max((e for e in EPOCHS if model.shown[e]), default=None)
            assert await store.newest_epoch(asked.survey_id) == newest
    finally:
        await store.close()


@pytest.mark.parametrize("kind", sorted(PLACES))
@settings(derandomize=True, deadline=None, max_examples=120)
@given(minimum=st.sampled_from([0, 1, 2, 4]), steps=operations)
@example(
    minimum=2,
    steps=[
        Add((((0, 0, 0), (0, 0, 0)), ((0, 0, 1), (1, 0, 2)), ())),
        Reopen(),
        Seal(0),
        Add((((0, 0, 0), (2, 1, 1)),)),
    ],
)
def test_the_store_does_what_the_rules_say(kind: str, minimum: int, steps: list[Operation]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(agree(PLACES[kind](Path(directory)), minimum, steps))
