"""The views of issuer and collector share nothing, nor do those of relay and store.

``make test`` joins the views of a small world. What it says of one that leaks nothing is false with
a chance of ``FALSE_ALARM`` a join. Devices draw their times from a fixed seed: of times from the
operating system one world in 60 hid the order of arrival. Keys are the operating system's.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from tests.unlinkability import people, views
from tests.unlinkability.active import EVERY_SECOND, SLOW
from tests.unlinkability.leaks import LIVED, WRITTEN, Leak
from tests.unlinkability.matcher import Verdict, join
from tests.unlinkability.people import EPOCH_SECONDS, HALF, SESSION_SECONDS, independent
from tests.unlinkability.servers import RELAY_ADDRESS
from tests.unlinkability.traits import TOGETHER
from tests.unlinkability.views import HIDDEN, JOINED, OF_TWO, View
from tests.unlinkability.world import Setting, World, live

TWO_SURVEYS: dict[str, Any] = {"second": 0.0, "people": independent(2, 1)}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> World:
    return live(Setting(16, 4), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> World:
    return live(Setting(300, 4), tmp_path_factory.mktemp("whole"))


def seen(world: World, view: View, leak: Leak | None = None) -> Verdict:
    written = (leak or world.setting.leak).written
    return join([written(pairing) for pairing in view(world)])


def check_nothing_is_joined(world: World) -> None:
    verdicts = {view.__name__: seen(world, view).leaks for view in (*HIDDEN, *OF_TWO)}
    assert not any(verdicts.values()), verdicts


def check_halves(world: World) -> None:
    """Tokens are asked for in first halves, and reports leave in second ones, of their epochs."""
    for name in world.names:
        schedule = world.schedule(name)
        for side, half in ((views._asks, 0), (views._reports, 1)):
            for epoch, trails in enumerate(side(world, name)):
                begin = schedule.epoch_start(epoch) + half * HALF
                times = [at for trail in trails for at in (trail.at, *trail.moments * half)]
                assert all(begin <= at <= begin + HALF for at in times)


def check_more_parties_know_all(world: World) -> None:
    """A matcher that saw nothing here would see nothing anywhere.

    Of a small world it learns so little that times outweigh equal bytes now and then.
    """
    for view in JOINED:
        assert {"bytes", "hits"} <= seen(world, view).leaks


def test_nothing_joins_the_views_of_a_small_world(small: World) -> None:
    check_nothing_is_joined(small)
    check_halves(small)
    check_more_parties_know_all(small)
    check_who_was_open_is_in_an_access_log(small)
    check_requests_look_alike(small)
    for leak in WRITTEN.values():
        assert seen(small, views.issuer_and_collector, leak).leaks


@pytest.mark.long
def test_fetches_do_not_tell_whether_the_app_ran_the_day_before_a_request(tmp_path: Path) -> None:
    """One comes with each request and with no report; at one a day, z was 5.7 of 38 pairs."""
    world = live(Setting(24, 4, people.about_turns), tmp_path)
    for side, comes in ((views._asks, True), (views._reports, False)):
        trails = [trail for epoch in side(world, *world.names) for trail in epoch]
        assert {abs(trail.fetched - trail.at) < TOGETHER for trail in trails} == {comes}
    check_nothing_is_joined(world)


def check_who_was_open_is_in_an_access_log(small: World) -> None:
    """The backend's log leaves those whose app was open."""
    assert {"nearest", "hits"} <= seen(small, views.access_log_and_collector).leaks
    among = views.most_open(small)
    assert 0 not in among
    # Each other one has it open with a chance of 4 sessions a week, at most: as many or more by
    # chance one time in a million.
    chance = 4 * SESSION_SECONDS / EPOCH_SECONDS
    others = sum(among) - len(among)
    assert binom.sf(others - 1, len(among) * (small.setting.accounts - 1), chance) > 1e-6


def check_requests_look_alike(small: World) -> None:
    """Every request comes by the relay and looks like any other."""
    assert len(small.reached) == 1
    assert {entry.peer for entry in small.collector} == {RELAY_ADDRESS}
    heads = {entry.request.partition(b"\r\n\r\n")[0] for entry in small.relay}
    assert len(heads) == 1
    assert len({len(entry.request) for entry in small.relay}) == 1
    assert len({len(entry.request) for entry in small.issuer}) <= 2  # by the account's name alone


@pytest.mark.long
@pytest.mark.parametrize("name", LIVED)
def test_a_leak_with_which_devices_live_is_caught(name: str, tmp_path: Path) -> None:
    categories = 300 if name == "no padding" else 4  # so that responses have several lengths
    world = live(Setting(40, 4, leak=LIVED[name], categories=categories), tmp_path)
    caught = {view for view in HIDDEN if seen(world, view).leaks}
    if name == "no padding":
        assert caught == {views.issuer_and_relay_and_store}
    else:
        assert views.issuer_and_collector in caught


@pytest.mark.long
def test_nothing_joins_the_views_of_300_accounts_in_4_epochs(whole: World) -> None:
    check_nothing_is_joined(whole)
    check_more_parties_know_all(whole)
    assert all(verdict.hits > 0.7 * verdict.pairs for verdict in map(partial(seen, whole), JOINED))
    assert seen(whole, views.issuer_and_collector).pairs > 480


@pytest.mark.long
@pytest.mark.parametrize(
    "extra",
    [{"active": EVERY_SECOND}, {"active": SLOW}, {"second": 0.0}, {"second": HALF}, TWO_SURVEYS],
    ids=["a mute collector", "a slow issuer", "two surveys", "staggered epochs", "seldom open"],
)
def test_nothing_joins_the_views_of_active_parties_or_of_two_surveys(
    extra: dict[str, Any], tmp_path: Path
) -> None:
    world = live(Setting(100, 4, **extra), tmp_path)
    check_nothing_is_joined(world)
    check_halves(world)
    assert seen(world, views.issuer_and_collector).pairs > 0
    if extra == TWO_SURVEYS:
        assert seen(world, views.two_surveys_collector).pairs == 0  # one answer an epoch
        assert seen(world, views.two_surveys_collector_later).pairs > 0
