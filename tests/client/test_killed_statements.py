"""A device is killed before every SQL statement of each call in turn: its rules hold (D3 to D5)."""

import pytest

from deniable.client import Consent
from deniable.messages import Repeat
from tests.client.test_device_machine import Device
from tests.support import device_machine
from tests.support.effort import THOROUGH
from tests.support.surveys import DAY

RANGE = 2  # epochs in which the second survey keeps its responses


def check(device: Device) -> None:
    for invariant in device.invariants:
        invariant.function(device)
    assert not list(device.folder.glob("*.damaged-*"))


def live_and_die(last: str, consent: Consent, fuse: int) -> None:
    device = Device()
    try:
        device.begin(DAY, Consent.ON, {}, None, (50, "9999", "9999"), relayed=False)
        memoised = {"repeat": Repeat("memoised", RANGE)}
        device.publish("second", 1, DAY, 0, 50, DAY, memoised, fetch=True)
        device.flush(0, "swallowed", 1.0)
        device.withdraw_and_consent_again("second", Consent.OFF)
        device.time_passes(DAY)
        device.report(0, "second", 2)
        if last != "report":
            device.report(0, "first", 2)
        device.die(last, fuse, 0, "first", "swallowed" if fuse % 2 else "honest", consent)
        check(device)
        device.change_consent(1, Consent.ON)
        device.refresh(1, "served")
        for name in device_machine.NAMES:  # answered otherwise
            device.report(1, name, 3)
        device.an_honest_collector_gets_all_that_waits(0)
        device.time_passes(RANGE * DAY)
        before = len(device.ever)
        for name in device_machine.NAMES:  # a kill costs a range at most
            device.report(0, name, 0)
        assert len(device.ever) == before + 2
        check(device)
    finally:
        device.teardown()


@pytest.mark.parametrize(
    ("last", "consent"),
    [
        *((last, Consent.ON) for last in ("report", "flush", "refresh", "background", "purge")),
        *(("consent", consent) for consent in (Consent.OFF, Consent.LOCAL, Consent.ON)),
    ],
)
def test_wherever_a_device_is_killed_it_keeps_its_rules(
    monkeypatch: pytest.MonkeyPatch, last: str, consent: Consent
) -> None:
    events: list[str] = []
    monkeypatch.setattr(device_machine, "event", events.append)
    fuse, stride = (0, 1) if THOROUGH else (7, 41)
    while "died after the last statement" not in events:
        live_and_die(last, consent, fuse)
        fuse += stride
    assert fuse > 1 + stride
