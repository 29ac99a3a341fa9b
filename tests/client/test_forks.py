"""Forks: a client that was used before works in the child, and no epoch is decided twice.

The scenes are played by ``tests.support.forking_app``, whose processes end if they deadlock.
"""

import gc
import json
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from tests.support.devices import Bench
from tests.support.forking_app import CHILDREN, DAYS, SCENES
from tests.support.processes import run

ONE, AGAIN = "recorded", "repeated"


def play(scene: str, folder: Path) -> dict[str, Any]:
    """Play a scene in a process of its own; nothing may be printed but its result."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.forking_app"]
    done = run([*command, scene, folder], seconds=90.0)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_d5_workers_of_one_master_share_its_client_and_decide_each_epoch_once(
    bench: Bench, tmp_path: Path
) -> None:
    found = play("prefork", tmp_path)
    assert found["first"] == [ONE]
    by_day = [sorted(day) for day in zip(*found["workers"], found["master"], strict=True)]
    assert by_day == [(CHILDREN + 1) * [AGAIN]] + (DAYS - 1) * [[ONE] + CHILDREN * [AGAIN]]
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]
    assert bench.rows("SELECT generation, fresh_from < 0 FROM device") == [(DAYS, 1)]


def test_d5_what_a_child_commits_survives_the_parents_close(bench: Bench, tmp_path: Path) -> None:
    # With the parent's connection inherited, SQLite deletes the log under the child: measured.
    assert play("parent_closes", tmp_path) == {
        "first": [ONE],
        "child": [ONE, ONE, ONE],
        "master": 4 * [AGAIN],
    }


def test_d5_a_fork_waits_for_another_threads_transaction(bench: Bench, tmp_path: Path) -> None:
    found = play("during_a_transaction", tmp_path)
    assert found == {"child": [AGAIN, ONE], "master": [AGAIN, AGAIN]}


@pytest.mark.parametrize("scene", ["during_a_transaction_that_hangs", "within_its_own_transaction"])
def test_d5_a_child_never_touches_a_transaction_of_its_parent(
    bench: Bench, tmp_path: Path, scene: str
) -> None:
    found = play(scene, tmp_path)
    assert set(found["child"]) == {"StateUnavailable"}
    assert found["master"] in ([AGAIN, ONE], [ONE])
    assert bench.rows("SELECT count(*) FROM decisions") == [(len(set(found["master"])),)]
    assert bench.rows("PRAGMA integrity_check") == [("ok",)]


def test_d5_a_child_sends_although_its_parents_thread_was_sending(
    bench: Bench, tmp_path: Path
) -> None:
    # It sends the same bytes once more, which the collector counts once.
    found = play("during_a_request", tmp_path)
    assert found == {"first": [ONE], "child": [1, 1, AGAIN, ONE], "master": [AGAIN, AGAIN]}


def test_d5_a_state_in_memory_stays_with_the_process_that_made_it(tmp_path: Path) -> None:
    found = play("in_memory", tmp_path)
    assert found == {"first": [ONE], "child": 2 * ["StateUnavailable"], "master": [AGAIN, ONE]}


def test_d5_threads_that_fork_and_threads_that_report_do_not_wait_for_each_other(
    bench: Bench, tmp_path: Path
) -> None:
    found = play("storm", tmp_path)
    flat = [status for child in found["children"] for status in child] + found["master"]
    assert len(found["children"]) == 2 * DAYS
    assert set(flat) <= {ONE, AGAIN}
    assert flat.count(ONE) <= DAYS
    assert bench.rows("SELECT count(*) FROM decisions") == [(DAYS,)]


@pytest.mark.parametrize(
    "method",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.long),
        pytest.param("forkserver", marks=pytest.mark.long),
    ],
)
def test_d5_the_workers_of_a_pool_use_the_client_of_a_module(tmp_path: Path, method: str) -> None:
    found = play(f"pool-{method}", tmp_path)
    assert found["first"] == [ONE]
    flat = [status for worker in found["workers"] for status in worker]
    assert set(flat) == {ONE, AGAIN}
    assert flat.count(ONE) == DAYS - 1
    assert found["master"] == DAYS * [AGAIN]


def test_every_scene_is_played_above() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [scene for scene in SCENES if f'"{scene}"' not in text] == []


def test_the_hooks_hold_no_client_alive(bench: Bench) -> None:
    client = bench.ready(background=True)
    reference = weakref.ref(client)
    client.close()
    bench._clients.clear()
    del client
    gc.collect()
    assert reference() is None
