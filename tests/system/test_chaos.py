"""Two thousand devices behind a network that loses requests and answers: each counts once."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.fleet import assert_counted_once, behind_a_proxy, results
from tests.support.proxy import Fate, Proxy

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
    with (
        Proxy(WEIGHTS, seed=2016) as proxy,
        behind_a_proxy(tmp_path, proxy, 90.0) as (collector, fleet),
    ):
        with fleet.reporting(DEVICES) as tasks:
            devices = results(tasks, 110.0)
        assert_counted_once(collector, devices, DEVICES)
    # The chaos took place: every fate befell some, and lost answers made the collector see repeats.
    assert set(proxy.fates) == set(Fate)
    verdicts = Counter(device.verdict for device in devices)
    assert verdicts["duplicate"] > 0
    assert verdicts["accepted"] > 0
    assert set(collector.receipts().values()) == {1}
