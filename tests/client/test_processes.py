"""Processes that share a state, fork, are killed or end (D5): nothing is lost, or decided twice.

The scenes of forks are played by ``tests.support.forking_app``, whose processes end if they
deadlock.
"""

import gc
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from deniable.client import IN_MEMORY
from tests.support import plain_app
from tests.support.device_process import race
from tests.support.devices import Bench
from tests.support.effort import some
from tests.support.forking_app import CHILDREN, DAYS
from tests.support.processes import run
from tests.support.raw_server import RawServer

GENERATION = "SELECT generation, fresh_from < 0 FROM device"
ONE, AGAIN = "recorded", "repeated"
_STATUS = {"calls_exit": 3, "raises": 1, "leaves_at_once": 4, "is_killed": -signal.SIGKILL}


@pytest.mark.parametrize("created", [pytest.param(True, marks=pytest.mark.long), False])
def test_d5_processes_that_race_decide_each_epoch_once(bench: Bench, created: bool) -> None:
    if created:
        bench.ready().close()
    days = 4
    found = race(bench.path.parent, 3, days)
    by_day = zip(*(statuses[:days] for statuses in found), strict=True)
    assert [sorted(statuses) for statuses in by_day] == days * [["recorded"] + 2 * ["repeated"]]
    sent = {body for statuses in found for body in statuses[days:]}
    assert len(sent) <= days
    assert bench.rows("SELECT count(*), max(epoch) FROM decisions") == [(days, days - 1)]
    # None of them took the state for a copy.
    assert bench.rows(GENERATION) == [(days, 1)]


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Return what the scenes led to, and where their states are; nothing else may be printed."""
    folder = tmp_path_factory.mktemp("forks")
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.forking_app", str(folder)]
    done = run(command, seconds=300.0)
    assert done.stderr == ""
    return json.loads(done.stdout), folder


@pytest.fixture
def play(forks: tuple[dict[str, Any], Path], bench: Bench) -> Any:
    def play(scene: str) -> Any:
        bench.path = forks[1] / scene / bench.path.name
        return forks[0][scene]

    return play


def test_d5_workers_share_a_client_and_decide_each_epoch_once(bench: Bench, play: Any) -> None:
    found = play("prefork")
    assert found["first"] == [ONE]
    by_day = [sorted(day) for day in zip(*found["workers"], found["master"], strict=True)]
    assert by_day == [(CHILDREN + 1) * [AGAIN]] + (DAYS - 1) * [[ONE] + CHILDREN * [AGAIN]]
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]
    assert bench.rows(GENERATION) == [(DAYS, 1)]


def test_d5_a_child_decides_survives_its_parent_and_sends(play: Any) -> None:
    # With the parent's connection inherited, SQLite deletes the log under the child: measured.
    child = {"first": [ONE], "child": [ONE, ONE, ONE], "master": 4 * [AGAIN]}
    assert play("parent_closes") == child
    assert play("in_a_signals_handler") == {"child": [AGAIN, ONE], "master": [ONE, AGAIN]}
    # It sends the same bytes once more, which the collector counts once.
    sends = {"first": [ONE], "child": [1, 1, AGAIN, ONE], "master": [AGAIN, AGAIN]}
    assert play("during_a_request") == sends


@pytest.mark.parametrize("scene", ["during_a_transaction_that_hangs", "within_its_own_transaction"])
def test_d5_a_child_touches_no_parents_transaction(bench: Bench, play: Any, scene: str) -> None:
    found = play(scene)
    assert set(found["child"]) == {"StateUnavailable"}
    assert found["master"] in ([AGAIN, ONE], [ONE])
    assert bench.rows("SELECT count(*) FROM decisions") == [(len(set(found["master"])),)]
    assert bench.rows("PRAGMA integrity_check") == [("ok",)]


def test_d5_threads_that_fork_do_not_wait_for_each_other(bench: Bench, play: Any) -> None:
    found = play("storm")
    flat = [status for child in found["children"] for status in child] + found["master"]
    assert len(found["children"]) == 2 * DAYS
    assert set(flat) <= {ONE, AGAIN}
    assert flat.count(ONE) <= DAYS
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]


@pytest.mark.parametrize("scene", some(sorted(plain_app.SCENES)))
def test_however_an_app_ends_its_report_is_kept_in_silence(bench: Bench, scene: str) -> None:
    def hold(server: RawServer, _: object) -> None:
        """Never answer: a request's own timeout is longer than what the app is given."""
        server.over.wait()

    with RawServer(hold) as server:
        command = [sys.executable, "-W", "error", "-m", "tests.support.plain_app", scene]
        status = _STATUS.get(scene, 0)
        done = run([*command, bench.path, server.origin], status=status, seconds=15.0)
        server.over.set()
    said = done.stderr
    assert done.stdout == ""
    if scene == "raises":
        assert said.startswith("Traceback")
        assert said.endswith("RuntimeError: the app's own\n")
        assert "deniable" not in said.replace("plain_app.py", "").replace(str(Path.cwd()), "")
    else:
        assert said == ""
    assert bench.rows("SELECT status, envelope IS NULL FROM decisions") == [("pending", 0)]


def test_an_app_under_gevent_reports_sends_and_ends(bench: Bench) -> None:
    # The server is a greenlet of the same thread: whatever blocked that thread would never end.
    app = ["-m", "gevent.monkey", "--module", "tests.support.gevent_app"]
    done = run([sys.executable, *app, bench.path], seconds=60.0)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_client_that_is_dropped_closes_its_state(
    bench: Bench, recwarn: pytest.WarningsRecorder, in_memory: bool
) -> None:
    client = bench.reported(state=IN_MEMORY if in_memory else bench.path)
    assert in_memory or bench.is_open
    bench._clients.clear()
    del client
    gc.collect()
    assert not bench.is_open
    assert recwarn.list == []
