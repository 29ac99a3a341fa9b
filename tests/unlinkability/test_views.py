"""The views of issuer and collector share nothing, nor do those of relay and store.

``make test`` joins the views of a small world. What it says of one that leaks nothing is false with
a chance of ``FALSE_ALARM`` a join; devices draw their times from a fixed seed, and keys from the
operating system.
"""

from functools import partial
from pathlib import Path

import pytest

from tests.unlinkability import views
from tests.unlinkability.leaks import LIVED, WRITTEN, Leak
from tests.unlinkability.matcher import Verdict, join
from tests.unlinkability.servers import RELAY_ADDRESS
from tests.unlinkability.views import View
from tests.unlinkability.world import Setting, World, live

HIDDEN = (views.issuer_and_collector, views.collector_alone, views.issuer_and_relay_and_store)
JOINED = (views.issuer_and_relay, views.relay_and_collector)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> World:
    return live(Setting(16, 3), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> World:
    return live(Setting(500, 4), tmp_path_factory.mktemp("whole"))


def seen(world: World, view: View, leak: Leak | None = None) -> Verdict:
    written = (leak or world.setting.leak).written
    return join([written(pairing) for pairing in view(world)])


def check_nothing_is_joined(world: World) -> None:
    assert {view.__name__: seen(world, view).leaks for view in HIDDEN} == {
        view.__name__: set() for view in HIDDEN
    }


def check_more_parties_know_all(world: World) -> None:
    """A matcher that saw nothing here would see nothing anywhere.

    Of a small world it learns so little that times outweigh equal bytes now and then.
    """
    for view in JOINED:
        assert {"bytes", "hits"} <= seen(world, view).leaks


def test_nothing_joins_the_views_of_a_small_world(small: World) -> None:
    check_nothing_is_joined(small)
    check_more_parties_know_all(small)


def test_every_request_comes_by_the_relay_and_looks_like_any_other(small: World) -> None:
    assert len(small.reached) == 1
    assert {entry.peer for entry in small.collector} == {RELAY_ADDRESS}
    heads = {entry.request.partition(b"\r\n\r\n")[0] for entry in small.relay}
    assert len(heads) == 1
    assert len({len(entry.request) for entry in small.relay}) == 1
    assert len({len(entry.request) for entry in small.issuer}) <= 2  # by the account's name alone


@pytest.mark.parametrize("name", WRITTEN)
def test_a_leak_in_what_is_written_is_caught(small: World, name: str) -> None:
    assert seen(small, views.issuer_and_collector, WRITTEN[name]).leaks


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
def test_nothing_joins_the_views_of_500_accounts_in_4_epochs(whole: World) -> None:
    check_nothing_is_joined(whole)
    check_more_parties_know_all(whole)
    assert all(verdict.hits > 0.7 * verdict.pairs for verdict in map(partial(seen, whole), JOINED))
    assert seen(whole, views.issuer_and_collector).pairs > 800
