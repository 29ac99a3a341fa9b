"""A device lives through what a ``FakeCollector`` can be told to do, over a real socket.

What it makes of each answer that there is stands in ``test_answers`` and ``test_http_transport``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deniable.client import Backoff, Client, HttpTransport, ReportDropped
from deniable.client.sending import outbox, reply
from deniable.fakes import AnyMisbehaviour, FakeCollector, Misbehaviour, Problem, Refused
from deniable.fakes.behaviour import Route
from deniable.messages import RefusalCode
from tests.support.clock import FakeClock
from tests.support.fakes import THEME, device
from tests.support.refusal_table import DROPPED
from tests.support.surveys import DAY
from tests.support.watched import until

SECONDS = 10.0
"""For an answer; less than any pause before a second send."""
FAULTS: list[AnyMisbehaviour] = [
    *Misbehaviour,
    *(Refused(code) for code in (RefusalCode.TOO_EARLY, RefusalCode.BAD_KEY)),
    *(Problem(RefusalCode.OVERLOADED, wait) for wait in (None, 7)),
]
UPLOAD_FAULTS = [fault for fault in FAULTS if "uploads" in fault.routes]
MANIFEST_FAULTS = [fault for fault in FAULTS if "manifests" in fault.routes]


def uploads(collector: FakeCollector) -> list[bytes]:
    return [request.body for request in collector.requests if request.method == "POST"]


@dataclass(frozen=True, slots=True)
class Scene:
    clock: FakeClock
    collector: FakeCollector
    transport: HttpTransport
    client: Client

    @contextmanager
    def misbehaving(self, fault: AnyMisbehaviour, on: Route) -> Iterator[None]:
        """Misbehave once; what stalls never comes, and is not waited for as all else is."""
        self.collector.misbehave(fault, on=on)
        before = len(self.collector.requests)
        self.transport._timeout = 0.3 if fault is Misbehaviour.STALL else 20.0
        yield
        until(lambda: len(self.collector.requests) > before)
        self.transport._timeout = 20.0


@pytest.fixture
def scene() -> Iterator[Scene]:
    clock = FakeClock()
    with FakeCollector(clock=clock) as collector:
        collector.publish(THEME)
        transport = HttpTransport(collector.origin)
        with device(collector, clock=clock, transport=transport) as client:
            yield Scene(clock, collector, transport, client)


@pytest.mark.parametrize("misbehaviour", UPLOAD_FAULTS, ids=str)
def test_a_report_is_delivered_or_dropped(scene: Scene, misbehaviour: AnyMisbehaviour) -> None:
    assert scene.client.refresh(force=True).ready == ("theme",)
    assert scene.client.report("theme", "dark", strict=True).ok

    with scene.misbehaving(misbehaviour, "uploads"):
        scene.client.flush(SECONDS)
    dropped = isinstance(misbehaviour, Refused | Problem) and misbehaviour.code in DROPPED
    stored = misbehaviour is Misbehaviour.CUT_AFTER_STORING
    assert (len(uploads(scene.collector)), len(scene.collector.reports)) == (1, stored)

    scene.clock.time += DAY / 8  # beyond every wait that a collector can ask for
    late = scene.client.flush(SECONDS)
    assert (late.delivered, late.dropped, late.pending) == (int(not dropped), 0, 0)

    # There is never a second response in this epoch, whatever is answered now.
    again = scene.client.report("theme", "light")
    assert isinstance(again.error, ReportDropped) if dropped else again.status == "repeated"
    scene.client.flush(SECONDS)
    assert len(set(uploads(scene.collector))) == 1
    assert len(uploads(scene.collector)) == 2 - dropped
    assert len(scene.collector.reports) == int(not dropped)


@pytest.mark.parametrize("misbehaviour", MANIFEST_FAULTS, ids=str)
def test_a_manifest_comes_once_it_behaves(scene: Scene, misbehaviour: AnyMisbehaviour) -> None:

    with scene.misbehaving(misbehaviour, "manifests"):
        assert scene.client.refresh(force=True).ready == ()
    assert not scene.client.report("theme", "dark").ok
    assert scene.client.refresh(force=True).ready == ("theme",)
    assert scene.client.report("theme", "dark").ok
    scene.client.flush(SECONDS)
    assert [report.survey for report in scene.collector.reports] == ["theme"]


def test_the_background_thread_outlives_all_that_answers_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:

    unanswered = {*Misbehaviour} & {*UPLOAD_FAULTS} - {Misbehaviour.STALL}
    # No day between sends, and more of them than a collector ever gets.
    monkeypatch.setattr(reply, "REST_SECONDS", 0.0)
    for module in (reply, outbox):
        monkeypatch.setattr(module, "MOST_SENDS", len(unanswered) + 2)
    with FakeCollector() as collector:
        bundled = collector.publish(THEME)
        for misbehaviour in unanswered:
            collector.misbehave(misbehaviour, on="uploads")
        client = device(
            collector,
            state=tmp_path / "device.sqlite",
            background=True,
            manifests=[bundled],
            delivery_seconds=0,
            backoff=Backoff(first=0.001, most=0.001),
        )
        with client:
            assert client.report("theme", "dark", strict=True).ok
            until(lambda: len(uploads(collector)) > len(unanswered))
            bodies = uploads(collector)
            assert client.report("theme", "light").status == "repeated"
        assert len(set(bodies)) == 1
        assert len(collector.reports) == 1
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
