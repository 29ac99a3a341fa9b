"""Two thousand devices behind a network that loses requests and answers: each counts once."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.collector import CollectorProcess
from tests.support.fleet import Fleet, results
from tests.support.proxy import Fate, Proxy
from tests.support.surveys import CATEGORIES

DEVICES = 2_000
WEIGHTS = {
    Fate.PASS: 0.70,
    Fate.DROP_REQUEST: 0.10,
    Fate.DROP_ANSWER: 0.12,
    Fate.CUT_ANSWER: 0.05,
    Fate.PORTAL: 0.03,
}


@pytest.mark.long
def test_the_counts_are_exactly_the_responses_that_the_devices_hold(tmp_path: Path) -> None:
    with Proxy(WEIGHTS, seed=2016) as proxy:
        collector = CollectorProcess(tmp_path / "collector", proxy.origin)
        proxy.port = collector.port
        fleet = Fleet(proxy.origin, collector.authority, 90.0, tmp_path)
        try:
            collector.start()
            with fleet.reporting(DEVICES) as tasks:
                devices = results(tasks, 110.0)
            counts = collector.shown_counts()
        finally:
            collector.close()

    assert len(devices) == DEVICES
    assert {device.status for device in devices} == {"delivered"}
    # The chaos took place: every fate befell some, and lost answers made the collector see repeats.
    assert set(proxy.fates) == set(Fate)
    verdicts = Counter(device.verdict for device in devices)
    assert verdicts["duplicate"] > 0
    assert verdicts["accepted"] > 0

    assert collector.receipts() == Counter(device.receipt for device in devices)
    assert set(collector.receipts().values()) == {1}
    responses = Counter(device.response for device in devices)
    assert counts == [responses[response] for response in range(len(CATEGORIES))]
    assert "Traceback" not in collector.complaints
