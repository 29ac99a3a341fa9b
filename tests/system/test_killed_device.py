"""Devices are killed at every line of the SDK and at random instants: one response each, once."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial

import pytest

from deniable.client import HttpTransport
from deniable.messages import MAX_MANIFEST_BYTES, pack_upload
from tests.support.collector import NAME, CollectorProcess, Receipt, receipts_of
from tests.support.doomed_device import Fate, Orders
from tests.support.processes import run

Fates = Mapping[str, list[Fate]]
INSTANTS = 80


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectorProcess]:
    collector = CollectorProcess(tmp_path_factory.mktemp("killed") / "collector")
    try:
        collector.start()
        yield collector
    finally:
        collector.close()


@pytest.fixture(scope="module")
def fates(collector: CollectorProcess, tmp_path_factory: pytest.TempPathFactory) -> Fates:
    """Kill devices: in their first call ever, in their first report, and from outside."""
    path = f"/v1/surveys/{NAME}/manifest"
    answer = HttpTransport(collector.origin).request("GET", path, {}, b"", MAX_MANIFEST_BYTES)
    where = (collector.origin, collector.authority)
    # Every third line of the first call ever, and every fifth of a first report, whose lines are
    # among them; tests/client/test_killed_statements.py dies beside every SQL statement.
    scenes = {
        "first call": partial(Orders, *where, scene="lines", step=3, manifest=answer.body.hex()),
        "first report": partial(Orders, *where, scene="lines", step=5),
        "from outside": partial(Orders, *where, scene="instants", most=INSTANTS),
    }

    def play(scene: str) -> list[Fate]:
        orders = scenes[scene](folder=str(tmp_path_factory.mktemp("devices")))
        typed = json.dumps(asdict(orders)) + "\n"
        command = [sys.executable, "-m", "tests.support.doomed_device"]
        told = run(command, typed=typed, seconds=900.0).stdout
        return [Fate(**json.loads(line)) for line in told.splitlines()]

    with ThreadPoolExecutor(len(scenes)) as pool:
        return dict(zip(scenes, pool.map(play, scenes), strict=True))


def receipts(fates: list[Fate]) -> Counter[Receipt]:
    return receipts_of(pack_upload([bytes.fromhex(fate.after)]) for fate in fates if fate.after)


@pytest.mark.long
@pytest.mark.parametrize("scene", ["first call", "first report"])
def test_devices_die_at_every_stage_of_reporting_and_sending(fates: Fates, scene: str) -> None:
    *killed, through = fates[scene]
    assert all(fate.killed for fate in killed)
    assert not through.killed
    # Before the decision is durable; after it and before report() returns; while it is sent; and
    # after the collector has counted it, but before the device knows.
    assert any(not fate.before for fate in killed)
    assert any(fate.before and fate.stages == "B" for fate in killed)
    assert any(fate.before and fate.stages == "BR" for fate in killed)
    assert any(fate.verdict == "duplicate" for fate in killed)


def test_kills_from_outside_come_within_report_and_after_it(fates: Fates) -> None:
    stages = Counter(fate.stages for fate in fates["from outside"] if fate.killed)
    assert stages["B"] > 0
    assert stages["BR"] > 0


@pytest.mark.parametrize("scene", ["first call", "first report", "from outside"])
def test_once_report_has_returned_its_very_bytes_are_delivered(fates: Fates, scene: str) -> None:
    for fate in fates[scene]:
        if "R" in fate.stages:
            assert fate.before
        if fate.before:
            assert fate.after == fate.before
            assert (fate.outcome, fate.status) == ("repeated", "delivered")


@pytest.mark.parametrize("scene", ["first call", "first report", "from outside"])
def test_what_was_not_decided_before_the_kill_is_decided_once_or_not_at_all(
    fates: Fates, scene: str
) -> None:
    undecided = [fate for fate in fates[scene] if not fate.before]
    for fate in undecided:
        if fate.after:
            assert (fate.outcome, fate.status) == ("recorded", "delivered")
        else:
            # Killed between the mark and the commit: its state might be an old backup's (D5).
            assert (fate.outcome, fate.fault) == ("not-recorded", "EpochUndecidable")
    if scene != "from outside":  # that gap is a few lines of a hundred
        assert sum(not fate.after for fate in undecided) < len(undecided) * 0.15


def test_the_collector_has_one_report_a_device_and_counts_it_once(
    fates: Fates, collector: CollectorProcess
) -> None:
    expected: Counter[Receipt] = Counter()
    for scene in fates.values():
        expected += receipts(scene)
    assert set(expected.values()) == {1}
    assert collector.receipts() == expected
    assert sum(collector.shown_counts()) == expected.total()
    assert "Traceback" not in collector.complaints
