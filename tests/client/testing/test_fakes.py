"""The fake collector and issuer: honest as real ones until told otherwise, prompt, and silent.

A device lives through what they are told; what it makes of each answer stands in test_answers.
"""

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.client import (
    Client,
    EnrolmentRequest,
    HttpTransport,
    ReportDropped,
    Survey,
)
from deniable.fakes import (
    AnyMisbehaviour,
    FakeCollector,
    FakeIssuer,
    Misbehaviour,
    Problem,
    Refused,
)
from deniable.fakes.behaviour import Receipts, Route
from deniable.messages import (
    Manifest,
    Refusal,
    RefusalCode,
    Report,
    open_manifest,
    pack_upload,
    sign_report,
    split_manifests,
)
from deniable.messages.enrolment import check_credential
from tests.support.clock import FakeClock
from tests.support.fakes import THEME, device
from tests.support.refusal_table import DROPPED
from tests.support.surveys import DAY
from tests.support.watched import until
from tests.vectors.stored import BAD_REPORTS, BAD_UPLOADS, BY_ID, name_of

MINUTES = Survey.numeric("minutes", "How long?", low=0, high=60, max_epsilon="0.5")
TEA = Survey("tea", "Tea?", ("rarely", "often"), max_epsilon="1", mechanisms={"matrix"})
THEMES, REPORTS = "/v1/surveys/theme/manifests", "/v1/reports"
MISSING = (404, "not-found")
REQUEST = EnrolmentRequest("theme", bytes(32), 0, bytes(31) + b"\1")


def ask(
    collector: FakeCollector, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    host = collector.origin.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=20)) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body or None, headers=named)
        with connection.getresponse() as response:
            received = {name.lower(): value for name, value in response.getheaders()}
            return response.status, received, response.read()


def connect(collector: FakeCollector) -> socket.socket:
    """Begin a request by hand."""
    host, port = collector.origin.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
    return connection


def opened(collector: FakeCollector, envelope: bytes) -> Manifest:
    return open_manifest(envelope, bytes.fromhex(collector.authority))


def upload(collector: FakeCollector, *envelopes: bytes) -> dict[str, Any]:

    body = pack_upload([*envelopes])
    status, _, answer = ask(collector, "POST", REPORTS, body, Content_Type="application/msgpack")
    assert status == 200
    answered: dict[str, Any] = json.loads(answer)
    return answered


def problem(came: tuple[int, dict[str, str], bytes]) -> tuple[int, str]:
    return came[0], json.loads(came[2])["type"].removeprefix("urn:deniable:error:")


def test_what_is_bad_gets_the_code_that_a_real_collector_gives() -> None:
    for field, vectors in (("envelope", BAD_REPORTS), ("body", BAD_UPLOADS)):
        for vector in vectors:
            receipts = Receipts(BY_ID.get)
            judge = receipts.add if field == "envelope" else receipts.upload
            with pytest.raises(Refusal) as caught:
                judge(bytes.fromhex(vector[field]), vector["now"])
            assert caught.value.code.value == vector["code"], name_of(vector)
            assert receipts.taken == []


def test_what_an_app_reports_is_counted_under_its_name(collector: FakeCollector) -> None:
    half, quarter = 1 << 63, 1 << 62
    rows = [[half, quarter, quarter], [quarter, half, quarter]]
    collector.publish(THEME)
    collector.publish(MINUTES, kind="mean")
    collector.publish(TEA, kind="matrix", settings={"matrix": rows, "responses": ["p", "q", "r"]})
    with device(collector, THEME, MINUTES, TEA) as client:
        assert client.refresh(force=True).errors == {}
        for name, answer in (("theme", "dark"), ("minutes", 30), ("tea", "often")):
            client.report(name, answer, strict=True)
        assert client.flush().delivered == 3
    assert sorted(report.survey for report in collector.reports) == ["minutes", "tea", "theme"]
    assert list(collector.counts("tea")) == ["p", "q", "r"]
    assert list(collector.counts("theme")) == ["dark", "light"]
    for report in collector.reports:
        counts = collector.counts(report.survey)
        assert (report.epoch, counts[report.response], sum(counts.values())) == (0, 1, 1)


def test_at_the_highest_epsilon_the_response_is_the_answer_and_no_repr_shows_it() -> None:
    loud = replace(THEME, categories=("marker", "other"), max_epsilon=40)
    with FakeCollector() as collector:
        collector.publish(loud)
        with device(collector, loud, lifetime_epsilon=41) as client:
            client.refresh(force=True)
            client.report("theme", "marker", strict=True)
            client.flush()
        assert [report.response for report in collector.reports] == ["marker"]
        assert "marker" not in repr((collector, collector.reports, collector.requests))


def test_the_first_report_of_a_key_is_never_changed(collector: FakeCollector) -> None:
    survey_id = opened(collector, collector.publish(THEME)).survey_id
    first, other = (sign_report(bytes(32), Report(survey_id, 0, each)) for each in (0, 1))
    assert upload(collector, first) == {"accepted": 1, "duplicates": 0, "refused": []}
    assert upload(collector, first, other) == {
        "accepted": 0,
        "duplicates": 1,
        "refused": [{"index": 1, "code": "report-conflict"}],
    }
    assert len(collector.reports) == 1


def test_each_fault_of_a_whole_request_has_its_status(collector: FakeCollector) -> None:
    packed = {"Content_Type": "application/msgpack"}
    for body, headers, expected in (
        (b"\x91", {"Content_Type": "text/plain"}, (415, "unsupported-media-type")),
        (b"\x91", packed, (400, "malformed")),
        (bytes(65_537), packed, (413, "too-large")),
        (b"\x91", {**packed, "Content_Encoding": "gzip"}, (415, "unsupported-media-type")),
    ):
        assert problem(ask(collector, "POST", REPORTS, body, **headers)) == expected
    for path in (THEMES, "/v1/surveys//manifests", "/v1/surveys", "/"):
        assert problem(ask(collector, "GET", path)) == MISSING


def test_all_manifests_that_have_not_ended_are_offered_newest_first() -> None:
    clock = FakeClock()
    with FakeCollector(clock=clock) as collector:
        assert problem(ask(collector, "GET", THEMES)) == MISSING
        now = int(clock.time)
        older = collector.publish(THEME, epochs=3)
        other = replace(THEME, categories=("dark", "light", "other"))
        brief = collector.publish(other, start=now)
        newest = collector.publish(THEME, start=now, epochs=2)
        status, headers, body = ask(collector, "GET", THEMES)
        assert (status, headers["content-type"]) == (200, "application/msgpack")
        assert [one.envelope for one in split_manifests(body)] == [newest, brief, older]
        assert list(collector.counts("theme")) == ["dark", "light", "other"]
        clock.time += 2 * DAY
        body = ask(collector, "GET", THEMES)[2]
        assert [one.envelope for one in split_manifests(body)] == [older]
        clock.time += DAY
        assert problem(ask(collector, "GET", THEMES)) == MISSING


def test_the_default_epsilon_is_the_highest_writable_one(collector: FakeCollector) -> None:
    for given, written in ((1, "1"), (Fraction(2, 3), "0.666666666"), ("10.5", "10.5")):
        survey = replace(THEME, max_epsilon=given)
        assert opened(collector, collector.publish(survey)).epsilon == written


def test_a_misbehaviour_happens_so_often_and_only_where_it_can(collector: FakeCollector) -> None:
    collector.publish(THEME)
    collector.misbehave(Refused(RefusalCode.OVERLOADED), times=2)
    collector.misbehave(Misbehaviour.MISSING)
    assert [ask(collector, "GET", THEMES)[0] for _ in range(2)] == [404, 200]
    for code in ("overloaded", "overloaded", "malformed"):
        assert upload(collector, b"\x90")["refused"] == [{"index": 0, "code": code}]
    collector.misbehave(Misbehaviour.PORTAL, on="uploads")
    assert ask(collector, "GET", THEMES)[1]["content-type"] == "application/msgpack"
    assert ask(collector, "POST", REPORTS)[1]["content-type"] == "text/html"
    assert ask(collector, "POST", REPORTS)[0] == 415
    with pytest.raises(ValueError, match="cannot happen to uploads"):
        collector.misbehave(Misbehaviour.MISSING, on="uploads")
    with pytest.raises(KeyError, match="font"):  # nor is what is not published counted
        collector.counts("font")


@pytest.mark.parametrize("kind", [Problem, Refused])
def test_a_code_may_be_its_text_and_is_checked(kind: Any) -> None:
    assert kind("overloaded") == kind(RefusalCode.OVERLOADED)
    with pytest.raises(ValueError, match="too-manny"):
        kind("too-manny")
    with pytest.raises(ValueError, match="use Refused"):  # a code about one report
        Problem(RefusalCode.BAD_KEY)


def test_reports_of_the_background_are_awaited(collector: FakeCollector, tmp_path: Path) -> None:
    collector.publish(THEME)
    with device(collector, state=tmp_path / "s", background=True, delivery_seconds=0) as client:
        client.refresh(force=True)
        client.report("theme", "dark", strict=True)
        assert len(collector.await_reports(1)) == 1
    with pytest.raises(TimeoutError, match="1 of 2 reports"):
        collector.await_reports(2, timeout=0.01)


def test_closing_ends_what_would_never_end() -> None:
    with FakeCollector() as collector:
        collector.misbehave(Misbehaviour.STALL)
        connection = connect(collector)
        until(lambda: collector.requests != ())
    with connection:
        assert connection.recv(4096) == b""
    assert [thread for thread in threading.enumerate() if "loopback" in thread.name] == []
    collector.close()  # twice, or never entered
    FakeCollector().close()


def test_a_device_that_hangs_up_leaves_nothing_on_screen(capfd: pytest.CaptureFixture[str]) -> None:
    with FakeCollector() as collector, connect(collector) as connection:
        # Closed so, it is reset, and whoever writes to it hears of that.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("background", [True, False])
def test_a_vouched_one_is_taken(collector: FakeCollector, tmp_path: Path, background: bool) -> None:
    issuer, state = FakeIssuer(), tmp_path / "state"
    collector.publish(THEME, enrolment=issuer.enrolment)
    with device(
        collector, enrol=issuer, state=state, background=background, delivery_seconds=0
    ) as client:
        if background:
            client.start()
            issuer.await_requests(1)
        client.refresh(force=True)
        until(lambda: client.report("theme", "dark").ok)  # the thread may be about to store it
        client.flush()
        collector.await_reports(1)
    (request,) = issuer.requests
    assert request.survey == "theme"
    assert "requests=1" in repr(issuer)


def test_an_account_gets_one_key_a_survey_and_epoch() -> None:
    issuer, other = FakeIssuer(), replace(REQUEST, public_key=bytes(31) + b"\2")
    first = issuer(REQUEST)
    assert first is not None
    assert issuer(REQUEST) == first
    assert issuer(other) is None
    assert issuer.account("bob")(other) is not None
    assert issuer(replace(other, epoch=1)) is not None


def test_it_rotates_fails_and_declines_when_told() -> None:
    issuer = FakeIssuer()
    for key in issuer.enrolment.issuers:
        given = issuer(REQUEST)
        assert given is not None
        assert check_credential([key], REQUEST.body, given) == key
        issuer.rotate()
    issuer.vouches = False
    assert issuer(REQUEST) is None
    issuer.error = ConnectionError()
    with pytest.raises(ConnectionError):
        issuer(REQUEST)
    assert len(issuer.requests) == 4
    with pytest.raises(TimeoutError, match="4 of 5"):
        issuer.await_requests(5, timeout=0.01)


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
        self.transport._timeout = 1.0 if fault is Misbehaviour.STALL else 20.0
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
