"""Processes that share a state, fork, are killed or end (D5): nothing is lost, or decided twice.

The scenes of forks are played by ``tests.support.forking_app``, whose processes end if they
deadlock.
"""

import gc
import json
import signal
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deniable.client import IN_MEMORY
from tests.support import forking_app, plain_app
from tests.support.device_process import race, race_through
from tests.support.devices import Bench
from tests.support.forking_app import CHILDREN, DAYS
from tests.support.processes import run
from tests.support.raw_server import RawServer
from tests.support.surveys import AUTHORITY, ORIGIN


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
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(days, 1)]


@pytest.mark.long
def test_d5_processes_that_race_through_fifty_surveys_decide_each_once(bench: Bench) -> None:
    # Nobody has made the state before: they race for that too.
    processes, surveys = 4, 50
    found = race_through(bench.path.parent, processes, surveys)
    by_survey = [sorted(statuses) for statuses in zip(*found, strict=True)]
    assert by_survey == surveys * [["recorded"] + (processes - 1) * ["repeated"]]
    assert bench.rows("SELECT count(*) FROM decisions") == [(surveys,)]
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(surveys, 1)]


ONE, AGAIN = "recorded", "repeated"


def fork(scene: str, folder: Path) -> dict[str, Any]:
    """Play a scene in a process of its own; nothing may be printed but its result."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.forking_app"]
    done = run([*command, scene, folder], seconds=90.0)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_d5_workers_of_one_master_share_its_client_and_decide_each_epoch_once(
    bench: Bench, tmp_path: Path
) -> None:
    found = fork("prefork", tmp_path)
    assert found["first"] == [ONE]
    by_day = [sorted(day) for day in zip(*found["workers"], found["master"], strict=True)]
    assert by_day == [(CHILDREN + 1) * [AGAIN]] + (DAYS - 1) * [[ONE] + CHILDREN * [AGAIN]]
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(DAYS, 1)]


def test_d5_what_a_child_commits_survives_the_parents_close(bench: Bench, tmp_path: Path) -> None:
    # With the parent's connection inherited, SQLite deletes the log under the child: measured.
    assert fork("parent_closes", tmp_path) == {
        "first": [ONE],
        "child": [ONE, ONE, ONE],
        "master": 4 * [AGAIN],
    }


def test_d5_a_signals_handler_may_fork_during_a_report(bench: Bench, tmp_path: Path) -> None:
    found = fork("in_a_signals_handler", tmp_path)
    assert found == {"child": [AGAIN, ONE], "master": [ONE, AGAIN]}


@pytest.mark.parametrize("scene", ["during_a_transaction_that_hangs", "within_its_own_transaction"])
def test_d5_a_child_never_touches_a_transaction_of_its_parent(
    bench: Bench, tmp_path: Path, scene: str
) -> None:
    found = fork(scene, tmp_path)
    assert set(found["child"]) == {"StateUnavailable"}
    assert found["master"] in ([AGAIN, ONE], [ONE])
    assert bench.rows("SELECT count(*) FROM decisions") == [(len(set(found["master"])),)]
    assert bench.rows("PRAGMA integrity_check") == [("ok",)]


def test_d5_a_child_sends_although_its_parents_thread_was_sending(
    bench: Bench, tmp_path: Path
) -> None:
    # It sends the same bytes once more, which the collector counts once.
    found = fork("during_a_request", tmp_path)
    assert found == {"first": [ONE], "child": [1, 1, AGAIN, ONE], "master": [AGAIN, AGAIN]}


def test_d5_threads_that_fork_and_threads_that_report_do_not_wait_for_each_other(
    bench: Bench, tmp_path: Path
) -> None:
    found = fork("storm", tmp_path)
    flat = [status for child in found["children"] for status in child] + found["master"]
    assert len(found["children"]) == 2 * DAYS
    assert set(flat) <= {ONE, AGAIN}
    assert flat.count(ONE) <= DAYS
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]


def test_every_scene_is_played_above() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [scene for scene in forking_app.SCENES if f'"{scene}"' not in text] == []


def test_the_hooks_hold_no_client_alive(bench: Bench) -> None:
    client = bench.ready(background=True)
    reference = weakref.ref(client)
    client.close()
    bench._clients.clear()
    del client
    gc.collect()
    assert reference() is None


_STATUS = {"calls_exit": 3, "raises": 1, "leaves_at_once": 4, "is_killed": -signal.SIGKILL}


def play(scene: str, bench: Bench, server: RawServer) -> str:
    """Let an app live and end; return what it wrote to its standard error."""
    command = [sys.executable, "-W", "error", "-m", "tests.support.plain_app", scene]
    done = run([*command, bench.path, server.origin], status=_STATUS.get(scene, 0), seconds=15.0)
    assert done.stdout == ""
    return done.stderr


@contextmanager
def silent_server() -> Iterator[RawServer]:
    """Run a server that never answers."""

    def hold(server: RawServer, _: object) -> None:
        server.over.wait()

    with RawServer(hold) as server:
        yield server
        server.over.set()


@pytest.mark.parametrize("scene", sorted(plain_app.SCENES.keys() - {"silent"}))
def test_however_an_app_ends_its_report_is_kept_and_nothing_is_said(
    bench: Bench, scene: str
) -> None:
    # The server never answers a request, whose own timeout is longer than what the app is given.
    with silent_server() as server:
        said = play(scene, bench, server)
    if scene == "raises":
        assert said.startswith("Traceback")
        assert said.endswith("RuntimeError: the app's own\n")
        assert "deniable" not in said.replace("plain_app.py", "").replace(str(Path.cwd()), "")
    else:
        assert said == ""
    assert bench.rows("SELECT status, envelope IS NULL FROM decisions") == [("pending", 0)]


def test_an_app_that_only_makes_a_client_leaves_no_trace(bench: Bench, tmp_path: Path) -> None:
    with silent_server() as server:
        assert play("silent", bench, server) == ""
        assert server.connections == 0
    assert list(tmp_path.iterdir()) == []


def test_an_app_under_gevent_reports_sends_and_ends(bench: Bench) -> None:
    # The server is a greenlet of the same thread: whatever blocked that thread would never end.
    app = ["-m", "gevent.monkey", "--module", "tests.support.gevent_app"]
    done = run([sys.executable, *app, bench.path], seconds=60.0)
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert bench.rows("SELECT status FROM decisions") == [("delivered",)]


_APP = f"""
import sys
from deniable.client import Client

client = Client({ORIGIN!r}, authority={AUTHORITY.public_key.hex()!r}, surveys=[], state=sys.argv[1])
client.set_consent("on")
client.start()
"""


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


def test_an_app_that_ends_with_a_client_is_not_warned(tmp_path: Path) -> None:
    done = run([sys.executable, "-W", "always", "-c", _APP, tmp_path / "state.sqlite"])
    assert done.stderr == ""
