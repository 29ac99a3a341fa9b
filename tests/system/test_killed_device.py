"""Devices are killed at every line of the SDK and at random instants: one response each, once."""

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from deniable.client import HttpTransport
from deniable.messages import MAX_MANIFEST_BYTES, pack_upload
from tests.support.collector import NAME, CollectorProcess, receipts_of
from tests.support.doomed_device import Fate, Orders
from tests.support.processes import run

# Every seventh line of the first call ever, and every eleventh of a first report, whose lines are
# among them; tests/client/test_killed_statements.py dies beside every SQL statement.
SCENES: dict[str, dict[str, Any]] = {
    "first call": {"scene": "lines", "step": 7},
    "first report": {"scene": "lines", "step": 11},
    "from outside": {"scene": "instants", "most": 80},
}


def fates(collector: CollectorProcess, scene: str, folder: Path) -> list[Fate]:
    path, most = f"/v1/surveys/{NAME}/manifest", MAX_MANIFEST_BYTES
    manifest = HttpTransport(collector.origin).request("GET", path, {}, b"", most).body.hex()
    bundled = manifest if scene == "first call" else ""
    where = (collector.origin, collector.authority, str(folder))
    orders = Orders(*where, manifest=bundled, **SCENES[scene])
    typed = json.dumps(asdict(orders)) + "\n"
    command = [sys.executable, "-m", "tests.support.doomed_device"]
    told = run(command, typed=typed, seconds=900.0).stdout
    return [Fate(**json.loads(line)) for line in told.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES)
def test_a_device_killed_anywhere_decides_once_and_delivers_those_very_bytes(
    collector: CollectorProcess, scene: str, tmp_path: Path
) -> None:
    every = fates(collector, scene, tmp_path)
    killed = [fate for fate in every if fate.killed]
    assert killed
    if scene != "from outside":
        assert killed == every[:-1]
    for fate in every:
        if "R" in fate.stages:
            assert fate.before
        if fate.before:  # once report() has returned, its very bytes are delivered
            assert fate.after == fate.before
            assert (fate.outcome, fate.status) == ("repeated", "delivered")
        elif fate.after:
            assert (fate.outcome, fate.status) == ("recorded", "delivered")
        else:
            # Killed between the mark and the commit: its state might be an old backup's (D5).
            assert (fate.outcome, fate.fault) == ("not-recorded", "EpochUndecidable")
    stages = Counter(fate.stages for fate in killed)
    assert stages["B"] > 0
    assert stages["BR"] > 0
    if scene != "from outside":  # that gap is a few lines of a hundred
        assert any(fate.verdict == "duplicate" for fate in killed)
        undecided = [fate for fate in every if not fate.before]
        assert sum(not fate.after for fate in undecided) < len(undecided) * 0.15
    # The collector has one report a device and counts it once.
    sent = [bytes.fromhex(fate.after) for fate in every if fate.after]
    expected = receipts_of(pack_upload([envelope]) for envelope in sent)
    assert set(expected.values()) == {1}
    assert collector.receipts() == expected
    assert sum(collector.shown_counts()) == expected.total()
    assert "Traceback" not in collector.complaints
