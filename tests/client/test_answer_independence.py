"""With the draw forced to a lie, nothing tells the true answers apart: no byte, log or request.

A state is prepared once, so that the device secret is the same; each true answer then gets a copy
of the file and of its mark, in a folder of its own, where the file has the same name.
"""

import gc
import logging
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deniable.client import HttpAnswer, OutcomeStatus
from deniable.client.state import mark
from deniable.messages import RefusalCode, Repeat
from tests.support.clock import FakeClock
from tests.support.devices import (
    NAME,
    PORTAL,
    UNREACHABLE,
    Bench,
    FakeTransport,
    lie,
    read_upload,
    refused,
    truth,
)
from tests.support.surveys import CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest
from tests.support.traces import pages_of_log
from tests.support.transports import Call

LIE = 3


@dataclass(frozen=True)
class Trace:
    """All that one device's run leaves behind.

    Attributes:
        files: the bytes of every file in its folder, before and after closing.
        requests: what it sent.
        said: its logs, reprs and outcomes.
        slept: how long it waited.
    """

    files: dict[str, bytes]
    requests: list[Call]
    said: list[str]
    slept: list[float]


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("deniable.client.engine.uniform", lambda: 0.25)  # the jitter
    # A copied mark passes for the original for some seconds only; here, for however long it takes.
    monkeypatch.setattr(mark, "_SLACK_SECONDS", 3600)
    monkeypatch.setattr(mark, "_COPY_SECONDS", 3600)
    folder = tmp_path / "prepared"
    folder.mkdir()
    with Bench(folder) as bench:
        bench.ready()
    assert {file.name for file in folder.iterdir()} == {"device.sqlite", "device.sqlite.mark"}
    return folder


def live(
    prepared: Path,
    answer: str,
    draw: Callable[[], int],
    caplog: pytest.LogCaptureFixture,
    upload: HttpAnswer | Exception,
) -> Trace:
    """Report, repeat, send and close with one true answer; return every trace."""
    folder = prepared.with_name(f"of-{CATEGORIES.index(answer)}")
    shutil.copytree(prepared, folder)
    caplog.clear()
    said: list[str] = []
    transport, clock = FakeTransport(MANIFEST), FakeClock()
    transport.answer = upload
    with Bench(folder) as bench:
        client = bench.client(unsafe_draw=draw, transport=transport, clock=clock)
        for day in (0, 1):
            clock.time = START + day * DAY + 7.5
            said += [repr(client.report(NAME, answer)) for _ in range(2)]
            said += [repr(client.flush(5000)), repr(client.refresh(force=True))]
        said += [repr(client.report(NAME, CATEGORIES[0])), repr(client)]
        # The log ahead of the file has salts of SQLite's own; its length must not differ.
        said += [f"{name} {len(content)}" for name, content in bench.files().items()]
    said += [record.getMessage() for record in caplog.records]
    said += [repr(record.args) for record in caplog.records]
    files = bench.files()
    # The mark ends with the second and the number of the file as it was written.
    files["device.sqlite.mark"] = files["device.sqlite.mark"].rpartition(b" ")[0]
    shutil.rmtree(folder)
    return Trace(files, transport.requests, said, clock.slept)


@pytest.mark.parametrize("wrong", range(len(CATEGORIES)))
def test_a_lie_leaves_the_same_traces_whatever_is_true(
    prepared: Path, caplog: pytest.LogCaptureFixture, wrong: int
) -> None:
    caplog.set_level(logging.DEBUG)
    accepted = FakeTransport().answer
    assert isinstance(accepted, HttpAnswer)
    traces = [live(prepared, answer, lie(wrong), caplog, accepted) for answer in CATEGORIES]
    assert [read_upload(trace.requests[0].body).report.response for trace in traces] == [wrong] * 5
    assert all(trace == traces[0] for trace in traces)


@pytest.mark.parametrize(
    "upload",
    [
        UNREACHABLE,
        PORTAL,
        refused(RefusalCode.TOO_EARLY),
        refused(RefusalCode.REPORT_CONFLICT),
        refused(RefusalCode.OVERLOADED, retry_after="1"),
    ],
)
def test_whatever_the_collector_answers_a_lie_leaves_the_same_traces(
    prepared: Path, caplog: pytest.LogCaptureFixture, upload: HttpAnswer | Exception
) -> None:
    caplog.set_level(logging.DEBUG)
    traces = [live(prepared, answer, lie(LIE), caplog, upload) for answer in CATEGORIES]
    assert len(traces[0].requests) > 2
    assert all(trace == traces[0] for trace in traces)


def test_the_truth_leaves_different_bytes_so_the_comparison_sees_something(
    prepared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    accepted = FakeTransport().answer
    assert isinstance(accepted, HttpAnswer)
    traces = [live(prepared, answer, truth(), caplog, accepted) for answer in CATEGORIES]
    assert len({trace.files["device.sqlite"] for trace in traces}) == len(CATEGORIES)
    assert len({trace.requests[0].body for trace in traces}) == len(CATEGORIES)
    # And even then nothing but the signed bytes differs.
    assert all(trace.said == traces[0].said for trace in traces)
    assert all(trace.slept == traces[0].slept for trace in traces)
    assert all(len(trace.requests) == len(traces[0].requests) for trace in traces)
    lengths = {tuple(map(len, trace.files.values())) for trace in traces}
    assert len(lengths) == 1


def test_a_lie_draws_as_many_words_as_the_truth(bench: Bench) -> None:
    # One word a response, whatever comes of it: a second would tell a lie by its time.
    client = bench.ready()
    for epoch in range(8):
        bench.clock.time = START + epoch * DAY
        assert client.report(NAME, CATEGORIES[epoch % 5]).status is OutcomeStatus.RECORDED
        assert bench.draw.count == epoch + 1


@pytest.mark.parametrize("ready", [True, False])
def test_the_true_answer_lives_only_as_an_argument(
    bench: Bench, caplog: pytest.LogCaptureFixture, ready: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    client = bench.client()
    if ready:
        client.refresh(force=True)
    answer = "".join(list(CATEGORIES[1]))  # an object of its own, whose references can be counted
    before = sys.getrefcount(answer)
    outcomes = [client.report(NAME, answer) for _ in range(3)]
    assert [outcome.ok for outcome in outcomes] == 3 * [ready]
    client.flush()
    gc.collect()
    assert sys.getrefcount(answer) == before


def copied(prepared: Path, answer: str) -> Path:
    folder = prepared.with_name(f"of-{CATEGORIES.index(answer)}")
    shutil.copytree(prepared, folder)
    return folder


@pytest.mark.parametrize("consent", ["on", "local"])
def test_a_lie_leaves_the_same_log_journal_and_explanation_whatever_is_true(
    prepared: Path, consent: str
) -> None:
    # While the state is open, and so before its log is merged into it.
    logs, texts = [], []
    for answer in CATEGORIES:
        with Bench(copied(prepared, answer)) as bench:
            client = bench.client(unsafe_draw=lie(LIE))
            client.set_consent(consent, "a test")
            assert client.report(NAME, answer).ok
            texts.append((str(client.journal()), str(client.explain()), repr(client.journal())))
            log = bench.files()["device.sqlite-wal"]
            assert client.report(NAME, answer).ok
            logs.append(pages_of_log(log))
    assert logs[0] != []
    assert all(log == logs[0] for log in logs)
    assert all(text == texts[0] for text in texts)


def test_the_truth_leaves_different_logs_so_the_comparison_sees_something(prepared: Path) -> None:
    logs = set()
    for answer in CATEGORIES:
        with Bench(copied(prepared, answer)) as bench:
            assert bench.client(unsafe_draw=truth()).report(NAME, answer).ok
            logs.add(tuple(pages_of_log(bench.files()["device.sqlite-wal"])))
    assert len(logs) == len(CATEGORIES)


def test_a_memoised_response_is_all_that_depends_on_the_answer(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The answer is an input of the PRF, so no draw can be forced under one key. What can be had:
    # nothing but the response inside the signed bytes differs, not even a length; and whoever has
    # the same response has the same bytes.
    monkeypatch.setattr("os.urandom", lambda count: bytes(range(count)))  # one key for all
    shutil.rmtree(prepared)
    prepared.mkdir()
    kept = manifest(repeat=Repeat("memoised", 4))
    survey = replace(DECLARED, max_kept_epsilon="1")
    with Bench(prepared) as bench:
        bench.transport.publish(kept)
        bench.ready(surveys=[survey])
    found = []
    for answer in CATEGORIES:
        with Bench(copied(prepared, answer)) as bench:
            client = bench.client(surveys=[survey])
            outcomes = repr([client.report(NAME, answer) for _ in range(2)])
            log = bench.files()["device.sqlite-wal"]
            rows = bench.rows("SELECT first, ends, hex(key), reports FROM memos")
            other = bench.rows(
                "SELECT name, epoch, cost, status, verdict, length(envelope), attempts, lived"
                " FROM decisions"
            )
            delivery = repr(client.flush())
            (body,) = bench.transport.uploads
        response = read_upload(body).report.response
        found.append((response, body, [outcomes, rows, other, len(log), delivery, len(body)]))
    assert all(rest == found[0][2] for _, _, rest in found)
    responses = {response for response, *_ in found}
    assert len(responses) > 1
    assert len({body for _, body, _ in found}) == len(responses)
