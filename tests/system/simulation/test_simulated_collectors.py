"""Several collectors on one store, and all that may happen to them: each report counts once.

Operations are drawn, done one after the other, at the same time or between two statements of each
other, and compared with a ledger of what was sent and what was acknowledged. Each device has
responses of its own, so that a report that is counted twice is seen in the counts.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from deniable.counterparts.signing import sign_manifest
from deniable.stores import PostgresStore, SqliteStore, Store
from tests.support.effort import some
from tests.support.postgres import postgres_server
from tests.support.surveys import AUTHORITY, DAY
from tests.system.simulation.collectors import Place
from tests.system.simulation.operations import (
    OPEN,
    VOUCHED,
    Act,
    Between,
    Break,
    Breakage,
    Distrust,
    End,
    Fate,
    Item,
    Keep,
    Kill,
    Kind,
    Operation,
    Pass,
    Prune,
    Seal,
    Send,
    Skew,
    Start,
    Together,
    operations,
)
from tests.system.simulation.postgres_places import PostgresPlace
from tests.system.simulation.reports import survey
from tests.system.simulation.seam import Seam
from tests.system.simulation.sqlite_places import SqlitePlace
from tests.system.simulation.world import World

Play = Callable[[list[Operation]], None]
"""Plays operations on an empty store, in which all surveys but the successor are published."""

Drawn = Callable[[Callable[..., None]], Callable[..., None]]


def drawn(number: int) -> Drawn:
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    chosen = settings(derandomize=True, max_examples=number, suppress_health_check=quiet)
    return lambda test: chosen(given(steps=operations)(test))


async def play_at(place: Place, steps: list[Operation]) -> None:
    observer = await place.open(Seam())
    try:
        await World(place, observer).play(steps)
    finally:
        await observer.close()


async def publish(store: Store) -> None:
    for number in (OPEN, VOUCHED):
        await store.publish(survey(number), sign_manifest(survey(number), AUTHORITY))
    await store.close()


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Play on a new file each time."""
    template = tmp_path_factory.mktemp("simulation") / "template.sqlite"

    async def make() -> None:
        await publish(await SqliteStore.open(template))

    def play(steps: list[Operation]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            place = SqlitePlace(template, Path(directory) / "store.sqlite")
            asyncio.run(play_at(place, steps))

    asyncio.run(make())
    return play


@pytest.fixture(scope="module")
def on_postgres() -> Play:
    """Play on a database that is emptied each time."""
    server = postgres_server()

    async def empty_and_play(steps: list[Operation]) -> None:
        url = server.url(await server.empty_store())
        await publish(await PostgresStore.open(url))
        await play_at(PostgresPlace(url), steps)

    return lambda steps: asyncio.run(empty_and_play(steps))


@pytest.fixture(params=["on_sqlite", "on_postgres"])
def play(request: pytest.FixtureRequest) -> Play:
    chosen: Play = request.getfixturevalue(request.param)
    return chosen


A, B, C = Item(OPEN, 0, 0), Item(OPEN, 0, 1), Item(VOUCHED, 0, 2)
A_AGAIN = Item(OPEN, 0, 0, Kind.CONFLICTING)
A_LATER = Item(OPEN, 1, 0)
STATEMENTS = 10  # more than any transaction of these has


@pytest.mark.long
@drawn(150)
def test_each_report_counts_once_whatever_happens(on_sqlite: Play, steps: list[Operation]) -> None:
    on_sqlite(steps)


@pytest.mark.long
@drawn(20)
def test_each_report_counts_once_on_postgresql(on_postgres: Play, steps: list[Operation]) -> None:
    on_postgres(steps)


BETWEEN: dict[str, tuple[Act, ...]] = {
    "killed": (Kill(0), Send(1, (A, C))),
    "sealed elsewhere": (Seal(1, OPEN, 0),),
    "ended elsewhere": (End(1, OPEN),),
    "distrusted elsewhere": (Distrust(1, C.device % 2),),
    "sent elsewhere": (Send(1, (B, A)), Send(2, (A_AGAIN, C))),
}


@pytest.mark.long
@pytest.mark.parametrize("what", BETWEEN)
def test_between_any_two_statements_of_an_upload(play: Play, what: str) -> None:
    first, again = Send(0, (A, B, A_AGAIN, C)), Send(2, (A, C))
    for statements in range(STATEMENTS):
        play([Between(first, statements, BETWEEN[what]), Start(0), again])


@pytest.mark.long
@pytest.mark.parametrize("first", [Seal(0, OPEN, 0), End(0, OPEN), Prune(0, OPEN, 0)])
@pytest.mark.parametrize("acts", [(Send(1, (B, A)), Seal(1, OPEN, 0)), (Kill(0),)])
def test_between_any_two_statements_of_what_makes_final(
    play: Play, first: Seal | End | Prune, acts: tuple[Act, ...]
) -> None:
    before: list[Operation] = [Send(1, (A,)), Seal(0, OPEN, 0), Pass(DAY)]
    for statements in range(STATEMENTS):
        play(
            [
                *(before if isinstance(first, Prune) else []),
                Between(first, statements, acts),
                Start(0),
                first,
                Send(2, (A, B)),
            ]
        )


@pytest.mark.long
@pytest.mark.parametrize("how", Breakage)
def test_any_statement_may_fail(play: Play, how: Breakage) -> None:
    acts: list[Act] = [Send(0, (A, B, A_AGAIN, C)), Seal(0, OPEN, 0)]
    for statements in range(STATEMENTS + 4):
        play([Break(0, statements, how), *acts, *acts, Send(1, (A, A_LATER))])


def test_one_collector_has_a_fast_clock_and_one_a_slow_one(play: Play) -> None:
    steps: list[Operation] = [
        Send(0, (A, A_LATER)),
        Skew(1, 3 * DAY),
        Skew(2, -DAY),
        Together((Send(0, (B,)), Seal(1, OPEN, 0), Send(2, (A,)))),
        Pass(DAY),
        Together((Prune(1, OPEN, 0), Send(2, (A, B)), Send(0, (A_AGAIN,)))),
        Prune(1, OPEN, 0),
        Send(2, (A, B, A_LATER)),
        Between(Keep(1), 5, (Send(2, (A, A_LATER, C)),)),
        Pass(DAY),
        Together((Keep(1), Keep(0), Send(2, (A_LATER, C)))),
        Send(2, (A, A_LATER, C)),
    ]
    play(steps)


@pytest.mark.parametrize("fate", some([*Fate]))
def test_collectors_race_on_the_same_reports(play: Play, fate: Fate) -> None:
    race = Together(tuple(Send(n % 3, (A, B, A_AGAIN), fate) for n in range(6)))
    play([race, Start(1), race, Kill(0), race, Start(0), race])
