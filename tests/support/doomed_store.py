"""A store in use, by a process that is killed: ``python -m tests.support.doomed_store FILE RUN``.

Whatever it is answered, it notes in the trace of :mod:`tests.support.power_cut`.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

from deniable.stores import KEPT_SECONDS, SqliteStore, Verdict
from tests.stores.databases import many
from tests.stores.places import NOW, publish, reports
from tests.support.power_cut import acknowledge, die_soon
from tests.support.surveys import MANIFEST, manifest

GROUPS = 3
SIZE = 8
STEPS = 2 * GROUPS + 5
"""After each of which a run is killed, when it next synchronises, or when it does so once more."""
RUNS = 2 * STEPS + 1  # the last is not killed


async def use(file: Path, run: int) -> None:
    """Die at the step of this run, whatever was told of those before."""
    steps = count()
    async for _ in work(file, run):
        if next(steps) == run % STEPS and run < RUNS - 1:
            die_soon(run // STEPS)


async def work(file: Path, run: int) -> AsyncIterator[None]:
    """Send again what the run before sent, of which some may have been answered; go on from there.

    What is seen of surveys and seals is an answer too.
    """
    store = await SqliteStore.open(file)
    surveys = await store.surveys()
    answered(surveys=len(surveys))
    if surveys:
        answered(sealed=[seal.epoch for seal in await store.seals(MANIFEST.survey_id)])
    yield
    await publish(store)
    answered(surveys=1)
    for group in range(max(0, run - 1) * GROUPS, (run + 1) * GROUPS):
        yield
        receipts = many(SIZE, group * SIZE)
        verdicts = await store.add(receipts)
        assert set(verdicts) <= {Verdict.ACCEPTED, Verdict.DUPLICATE}
        answered(receipts=[receipt.key.hex() for receipt in receipts])
    await store.add(reports(range(20), epoch=run + 1))
    yield
    await store.seal(MANIFEST.survey_id, run + 1, NOW)
    answered(sealed=[run + 1])
    yield
    await publish(store, manifest(name=f"run-{run}"))
    yield
    if await store.standing_seal(MANIFEST.survey_id, run):
        await store.prune(MANIFEST.survey_id, run, NOW + KEPT_SECONDS)
    yield
    await store.close()


def answered(**answer: object) -> None:
    """Note what an answer promises."""
    acknowledge(json.dumps(answer).encode())


if __name__ == "__main__":
    asyncio.run(use(Path(sys.argv[1]), int(sys.argv[2])))
