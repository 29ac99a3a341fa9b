"""A device lives through everything that PROTOCOL's table and D8 list, over a real socket."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deniable.client import (
    Backoff,
    Client,
    HttpAnswer,
    HttpTransport,
    ManifestRefused,
    ReportDropped,
    TransportError,
)
from deniable.client.sending import outbox, reply
from deniable.fakes import FakeCollector, Misbehaviour, Problem, Refused, Route
from deniable.messages import RefusalCode
from tests.support.clock import FakeClock
from tests.support.effort import THOROUGH
from tests.support.fakes import THEME, device
from tests.support.faulty_collector import (
    MANIFEST_FAULTS,
    STORING,
    UPLOAD_FAULTS,
    AnyFault,
    Fault,
    FaultyCollector,
)
from tests.support.refusal_table import DROPPED
from tests.support.surveys import DAY
from tests.support.watched import until

PLAIN = Misbehaviour | Fault
SECONDS = 10.0
"""For an answer; less than any pause before a second send."""
MANIFESTS = "/v1/surveys/theme/manifests"

STORED: set[AnyFault] = {Misbehaviour.CUT_AFTER_STORING, *STORING}
UNUSABLE: dict[AnyFault, str] = {
    Misbehaviour.CUT_BEFORE_STORING: "RemoteDisconnected",
    Misbehaviour.CUT_AFTER_STORING: "RemoteDisconnected",
    Fault.CUT_SHORT: "cut short",
    Misbehaviour.STALL: "TimeoutError",
    Fault.DRIP: "TimeoutError",
    Fault.GZIP: "encoded answer",
    Fault.OVERSIZE: "too long",
    Fault.HTTP_NONSENSE: "BadStatusLine",
}
STATUSES: dict[AnyFault, int] = {
    Fault.PORTAL_NOT_FOUND: 404,
    Misbehaviour.PROXY_ERROR: 502,
    Fault.REDIRECT: 307,
    Fault.UNKNOWN_PROBLEM: 400,
    Fault.MISPLACED_PROBLEM: 500,
    Misbehaviour.MISSING: 404,
    Fault.NOT_MODIFIED: 304,
}
REFUSED_MANIFESTS: dict[AnyFault, str] = {
    Fault.GARBAGE: "malformed",
    Fault.WRONG_SIGNATURE: "bad-signature",
    Fault.WRONG_ORIGIN: "wrong-origin",
    Fault.ROLLED_BACK: "rolled-back",
    Fault.EQUIVOCATION: "equivocation",
    Misbehaviour.PORTAL: "malformed",
}


def uploads(collector: FakeCollector) -> list[bytes]:
    return [request.body for request in collector.requests if request.method == "POST"]


class Impatient(HttpTransport):
    """Waits for as long as is usual, but not for what never comes."""

    seconds = 20.0

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        most: int,
        timeout: float = 20.0,
        before_body: Callable[[], None] | None = None,
    ) -> HttpAnswer:
        return super().request(
            method, path, headers, body, most, min(timeout, self.seconds), before_body
        )


def some(table: tuple[AnyFault, ...]) -> list[AnyFault]:
    """Return all misbehaviours, and of the protocol's codes in make test every third."""
    return [
        each
        for number, each in enumerate(table)
        if THOROUGH or isinstance(each, PLAIN) or number % 3 == 0
    ]


@dataclass(frozen=True, slots=True)
class Scene:
    clock: FakeClock
    collector: FaultyCollector
    transport: Impatient
    client: Client

    @contextmanager
    def misbehaving(self, misbehaviour: AnyFault, on: Route | None = None) -> Iterator[None]:
        self.collector.misbehave(misbehaviour, on=on)
        endless = misbehaviour in {Misbehaviour.STALL, Fault.DRIP}
        self.transport.seconds = 0.3 if endless else 20.0
        yield
        self.transport.seconds = 20.0

    def upload_bodies(self) -> list[bytes]:
        return uploads(self.collector)

    def nobody_followed(self) -> bool:
        known = {"/v1/reports", MANIFESTS, "/v1/authority"}
        return {request.path for request in self.collector.requests} <= known


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    clock = FakeClock()
    with FaultyCollector(clock=clock) as collector:
        collector.publish(THEME)
        transport = Impatient(collector.origin)
        state = tmp_path / "device.sqlite"
        with device(collector, state=state, clock=clock, transport=transport) as client:
            yield Scene(clock, collector, transport, client)


def test_both_tables_list_every_misbehaviour_and_every_code() -> None:
    listed = {*UPLOAD_FAULTS, *MANIFEST_FAULTS}
    assert {each for each in listed if isinstance(each, PLAIN)} == {*Misbehaviour, *Fault}
    assert {each.code for each in listed if isinstance(each, Refused)} == set(RefusalCode)
    whole = {code for code in RefusalCode if code.http_status}
    for told_when in (None, 7):
        told = {each for each in listed if isinstance(each, Problem)}
        assert {each.code for each in told if each.retry_after == told_when} == whole
    for table in (UPLOAD_FAULTS, MANIFEST_FAULTS):
        assert len(set(map(str, table))) == len(table)


@pytest.mark.parametrize("misbehaviour", [*Misbehaviour, *Fault], ids=str)
def test_each_misbehaviour_is_what_its_name_says(scene: Scene, misbehaviour: AnyFault) -> None:
    def ask() -> HttpAnswer:
        if misbehaviour in MANIFEST_FAULTS:
            return scene.transport.request("GET", MANIFESTS, {}, b"", 2000)
        headers = {"Content-Type": "application/msgpack"}
        return scene.transport.request("POST", "/v1/reports", headers, b"\x91\x90", 2000)

    with scene.misbehaving(misbehaviour):
        if misbehaviour in UNUSABLE:
            with pytest.raises(TransportError, match=UNUSABLE[misbehaviour]):
                ask()
        else:
            assert ask().status == STATUSES.get(misbehaviour, 200)


@pytest.mark.parametrize("misbehaviour", some(UPLOAD_FAULTS), ids=str)
def test_a_report_is_delivered_once_or_dropped_as_the_table_says(
    scene: Scene, misbehaviour: AnyFault
) -> None:
    assert scene.client.refresh(force=True).ready == ("theme",)
    assert scene.client.report("theme", "dark", strict=True).ok
    with scene.misbehaving(misbehaviour, on="uploads"):
        scene.client.flush(SECONDS)
    dropped = isinstance(misbehaviour, Refused | Problem) and misbehaviour.code in DROPPED
    assert len(scene.upload_bodies()) == 1
    assert len(scene.collector.reports) == (misbehaviour in STORED)

    scene.clock.time += DAY / 8  # beyond every wait that a collector can ask for
    late = scene.client.flush(SECONDS)
    assert (late.delivered, late.dropped, late.pending) == (int(not dropped), 0, 0)
    assert len(scene.collector.reports) == int(not dropped)
    assert len(scene.upload_bodies()) == 2 - dropped
    assert scene.nobody_followed()

    # There is never a second response in this epoch, whatever is answered now.
    again = scene.client.report("theme", "light")
    assert isinstance(again.error, ReportDropped) if dropped else again.status == "repeated"
    scene.client.flush(SECONDS)
    assert len(set(scene.upload_bodies())) == 1
    assert len(scene.collector.reports) == int(not dropped)


@pytest.mark.parametrize("misbehaviour", some(MANIFEST_FAULTS), ids=str)
def test_a_device_without_a_manifest_gets_it_once_the_collector_behaves(
    scene: Scene, misbehaviour: AnyFault
) -> None:
    # To a device that has seen nothing else, these are as good as any other.
    unnoticed = misbehaviour in {Fault.ROLLED_BACK, Fault.EQUIVOCATION}
    with scene.misbehaving(misbehaviour, on="manifests"):
        first = scene.client.refresh(force=True)
    assert first.ready == (("theme",) if unnoticed else ())
    outcome = scene.client.report("theme", "dark")
    assert outcome.ok is unnoticed

    second = scene.client.refresh(force=True)
    assert second.ready == ("theme",)
    assert scene.client.report("theme", "dark").ok
    scene.client.flush(SECONDS)
    assert [report.survey for report in scene.collector.reports] == ["theme"]
    assert scene.nobody_followed()


@pytest.mark.parametrize("misbehaviour", some(MANIFEST_FAULTS), ids=str)
def test_a_device_keeps_the_manifest_that_it_has(scene: Scene, misbehaviour: AnyFault) -> None:
    assert scene.client.refresh(force=True).ready == ("theme",)
    with scene.misbehaving(misbehaviour, on="manifests"):
        refreshed = scene.client.refresh(force=True)
    assert refreshed.ready == ("theme",)
    if misbehaviour is not Fault.NOT_MODIFIED:
        error = refreshed.declined["theme"]
        fault = error.fault.value if isinstance(error, ManifestRefused) else None
        assert fault == REFUSED_MANIFESTS.get(misbehaviour)
    scene.client.report("theme", "dark", strict=True)
    assert scene.client.flush(SECONDS).delivered == 1
    assert len(scene.collector.reports) == 1


def test_the_background_thread_outlives_all_that_answers_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    unanswered = [each for each in UPLOAD_FAULTS if isinstance(each, PLAIN)]
    # No day between sends, and more of them than a collector ever gets.
    monkeypatch.setattr(reply, "REST_SECONDS", 0.0)
    for module in (reply, outbox):
        monkeypatch.setattr(module, "MOST_SENDS", len(unanswered) + 2)
    with FaultyCollector() as collector:
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
            transport=HttpTransport(collector.origin, timeout=1.0),
        )
        with client:
            assert client.report("theme", "dark", strict=True).ok
            until(lambda: len(uploads(collector)) > len(unanswered))
            bodies = uploads(collector)
            assert client.report("theme", "light").status == "repeated"
        assert len(set(bodies)) == 1
        assert len(collector.reports) == 1
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
