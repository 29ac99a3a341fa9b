"""Any sequence of what two collectors ask of a store, against dictionaries that obey S1 to S7.

Each step is done by the one, and what came of it is seen by the other, at once and for good.
"""

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.messages import Manifest
from deniable.stores import (
    KEPT_SECONDS,
    Counts,
    Role,
    Seal,
    Store,
    StoreError,
    Token,
    Verdict,
    counts_digest,
)
from tests.stores.places import ISSUER, NOW, OTHER_ISSUER, PLACES, Place, publish
from tests.support.effort import THOROUGH
from tests.support.reports import report
from tests.support.surveys import manifest

EPOCHS = (0, 1)
ISSUERS = (None, ISSUER, OTHER_ISSUER)
HOUR = 3_600

# A report is (device, epoch, response, issuer); few of each, so that they meet.
Item = tuple[int, int, int, bytes | None]

items = st.tuples(
    st.integers(0, 3), st.sampled_from(EPOCHS), st.integers(0, 2), st.sampled_from(ISSUERS)
)
batches = st.lists(items, max_size=6).map(tuple)


class Add(NamedTuple):
    """Requests that arrive together, and so are one commit group."""

    group: tuple[tuple[Item, ...], ...]


class Ask(NamedTuple):
    """Whatever else is asked: of an epoch, an issuer or a token by its number, or so many hours."""

    what: str
    number: int = 0


ASKED = {
    "read": EPOCHS,
    "seal": EPOCHS,
    "prune": EPOCHS,
    "wait": (1, 12, 24),
    "end": (0,),
    "distrust": (1, 2),
    "add token": (0, 1, 2),
    "revoke token": (0, 1, 2),
    "publish": (0,),
    "reopen": (0,),
}
Operation = Add | Ask

adds = st.lists(batches, min_size=1, max_size=3).map(lambda group: Add(tuple(group)))
asks = [st.builds(Ask, st.just(what), st.sampled_from(numbers)) for what, numbers in ASKED.items()]
operations = st.lists(st.one_of(adds, adds, *asks), max_size=12)


@dataclass
class Model:
    """What the rules say, without any database."""

    survey: Manifest
    now: int = NOW
    receipts: dict[tuple[int, int], int] = field(default_factory=dict)
    counted: dict[int, Counter[tuple[bytes | None, int]]] = field(
        default_factory=lambda: {epoch: Counter() for epoch in EPOCHS}
    )
    shown: dict[int, Counter[tuple[bytes | None, int]]] = field(
        default_factory=lambda: {epoch: Counter() for epoch in EPOCHS}
    )
    seals: dict[int, Seal] = field(default_factory=dict)
    ended: dict[bytes, int] = field(default_factory=dict)
    distrusted: set[bytes] = field(default_factory=set)
    tokens: dict[bytes, Token] = field(default_factory=dict)

    @property
    def step(self) -> int:
        return max(1, self.survey.minimum_reports)

    def add(self, group: tuple[tuple[Item, ...], ...]) -> list[list[Verdict]]:
        return [[self._add_one(*item) for item in batch] for batch in group]

    def _add_one(self, device: int, epoch: int, response: int, issuer: bytes | None) -> Verdict:
        if self.ended:
            return Verdict.ENDED
        if epoch in self.seals:
            return Verdict.SEALED
        if issuer in self.distrusted:
            return Verdict.DISTRUSTED
        if (device, epoch) not in self.receipts:
            self.receipts[device, epoch] = response
            self.counted[epoch][issuer, response] += 1
            return Verdict.ACCEPTED
        same = self.receipts[device, epoch] == response
        return Verdict.DUPLICATE if same else Verdict.CONFLICT

    def seal(self, epoch: int) -> Seal:
        counts = self._counts(self.counted[epoch])
        digest = counts_digest(self.survey.survey_id, epoch, counts)
        made = Seal(epoch, self.now, self.counted[epoch].total(), digest, None)
        return self.seals.setdefault(epoch, made)

    def prune(self, epoch: int) -> int | None:
        seal = self.seals.get(epoch)
        if seal is None or self.now - seal.sealed_at < KEPT_SECONDS:
            return None
        erased = [(device, e) for device, e in self.receipts if e == epoch]
        for identity in erased:
            del self.receipts[identity]
        if seal.pruned_at is None:
            self.seals[epoch] = replace(seal, pruned_at=self.now)
        return len(erased)

    def read(self, epoch: int) -> Counts:
        counted = self.counted[epoch]
        if counted.total() - self.shown[epoch].total() >= self.step:
            self.shown[epoch] = counted.copy()
        return self._counts(self.shown[epoch])

    def epochs(self) -> tuple[int | None, int | None, int | None]:
        """Return the oldest and the newest epoch with enough reports, and the newest with any."""
        enough = [epoch for epoch in EPOCHS if self.counted[epoch].total() >= self.step]
        counted = [epoch for epoch in EPOCHS if self.counted[epoch]]
        return min(enough, default=None), max(enough, default=None), max(counted, default=None)

    def _counts(self, cells: Counter[tuple[bytes | None, int]]) -> Counts:
        counts: Counts = {}
        for (issuer, response), reports in cells.items():
            counts.setdefault(issuer, {})[response] = reports
        return counts


@lru_cache
def survey(minimum: int) -> Manifest:
    return manifest(name=f"minimum-{minimum}", minimum_reports=minimum)


async def do(store: Store, model: Model, step: Operation) -> None:
    """Do the same with store and model, and compare what they answer."""
    asked = model.survey
    match step:
        case Add(group):
            sent = [
                [
                    report(device, r, epoch=epoch, survey=asked, issuer=i)
                    for device, epoch, r, i in batch
                ]
                for batch in group
            ]
            assert await asyncio.gather(*map(store.add, sent)) == model.add(group)
        case Ask("seal", epoch):
            assert await store.seal(asked.survey_id, epoch, model.now) == model.seal(epoch)
        case Ask("prune", epoch):
            erased = model.prune(epoch)
            if erased is None:
                with pytest.raises(StoreError, match="was sealed less than 24 hours ago"):
                    await store.prune(asked.survey_id, epoch, model.now)
            else:
                assert await store.prune(asked.survey_id, epoch, model.now) == erased
        case Ask("end"):
            model.ended.setdefault(asked.survey_id, model.now)
            await store.end(asked.survey_id, model.now)
        case Ask("distrust", number):
            issuer = ISSUERS[number]
            assert issuer is not None
            model.distrusted.add(issuer)
            await store.distrust(issuer, model.now)
        case Ask("read", epoch):
            expected = model.read(epoch)
            total = sum(sum(vouched.values()) for vouched in expected.values())
            if epoch % 2:  # whichever is asked first takes the step that is due
                assert await store.reports(asked.survey_id, epoch) == total
            assert await store.counts(asked.survey_id, epoch) == expected
            assert await store.reports(asked.survey_id, epoch) == total
        case Ask("wait", hours):
            model.now += hours * HOUR
        case Ask("add token", number):
            role = [Role.ANALYST, Role.OPERATOR, Role.READER][number]
            limits = ("mood", model.now + HOUR) if role is Role.READER else ()
            token = Token(bytes([number]) * 32, role, f"'é' [{number}]", model.now, *limits)
            if token.digest not in model.tokens:
                model.tokens[token.digest] = token
                await store.add_token(token)
            else:
                with pytest.raises(StoreError):
                    await store.add_token(token)
        case Ask("revoke token", number):
            held = model.tokens.pop(bytes([number]) * 32, None)
            assert await store.revoke_token(bytes([number]) * 32) == (held is not None)
        case Ask("publish"):
            await publish(store, asked)


async def agree(place: Place, minimum: int, steps: list[Operation]) -> None:
    """Compare all that can be seen without a trace after every step, and the figures at the end."""
    model = Model(survey(minimum))
    asked = model.survey
    doing, store = [await place.open() for _ in range(2)]
    try:
        await publish(store, asked)
        for step in [*steps, *(Ask("read", epoch) for epoch in EPOCHS)]:
            doing, store = store, doing
            if step == Ask("reopen"):
                await store.close()
                store = await place.open()
            await do(doing, model, step)
            epochs = (store.oldest_epoch, store.newest_epoch, store.newest_counted)
            assert tuple([await each(asked.survey_id) for each in epochs]) == model.epochs()
            assert await store.seals(asked.survey_id) == [s for _, s in sorted(model.seals.items())]
            assert await store.ended() == model.ended
            assert await store.distrusted() == model.distrusted
            oldest_first = sorted(model.tokens.values(), key=lambda t: (t.created_at, t.digest))
            assert await store.tokens() == oldest_first
            for number in range(3):
                held = model.tokens.get(bytes([number]) * 32)
                assert await store.token(bytes([number]) * 32) == held
        assert await store.check() == []
    finally:
        await doing.close()
        await store.close()


STEPS: list[Operation] = [
    Add((((0, 0, 0, None), (0, 0, 0, None)), ((0, 0, 1, ISSUER), (1, 0, 2, ISSUER)), ())),
    Ask("distrust", 1),
    Ask("reopen"),
    Add((((2, 0, 1, ISSUER), (0, 0, 0, OTHER_ISSUER)),)),
    Ask("read", 0),
    Ask("seal", 0),
    Ask("wait", 24),
    Add((((0, 0, 0, None), (2, 1, 1, None)),)),
    Ask("prune", 0),
    Ask("prune", 1),
    Ask("end"),
    Add((((3, 1, 1, None), (3, 0, 1, None)),)),
]


# The rules are the same text for both (deniable.stores.rules); a step takes PostgreSQL longer.
@pytest.mark.parametrize(("kind", "examples"), [("sqlite", 12), ("postgres", 5)])
def test_the_store_does_what_the_rules_say(kind: str, examples: int) -> None:
    @settings(max_examples=120 if THOROUGH else examples)
    @given(minimum=st.sampled_from([0, 1, 2, 4]), steps=operations)
    @example(minimum=2, steps=STEPS)
    def obeys(minimum: int, steps: list[Operation]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(agree(PLACES[kind](Path(directory)), minimum, steps))

    obeys()
