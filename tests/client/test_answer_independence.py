"""Nothing tells true answers apart or holds one: no byte, log, request, error or frame."""

import ast
import asyncio
import gc
import logging
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import deniable.client
from deniable.client import (
    AppError,
    Client,
    HttpAnswer,
    NotRecorded,
    OutboxCaps,
    Outcome,
)
from deniable.client.state import mark
from deniable.messages import RefusalCode, Repeat
from tests.support.clock import FakeClock
from tests.support.devices import (
    ACCEPTED,
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
from tests.support.traces import dump, held_by, is_ours, pages_of_log
from tests.support.transports import Call
from tests.support.watched import until

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


def copied(prepared: Path, answer: str) -> Path:
    folder = prepared.with_name(f"of-{CATEGORIES.index(answer)}")
    shutil.copytree(prepared, folder)
    return folder


def live(
    prepared: Path,
    answer: str,
    draw: Callable[[], int],
    caplog: pytest.LogCaptureFixture,
    upload: HttpAnswer | Exception = ACCEPTED,
) -> Trace:
    """Report, repeat, send and close with one true answer; return every trace."""
    folder = copied(prepared, answer)
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


@pytest.mark.parametrize(
    "upload",
    [
        ACCEPTED,
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
    assert [read_upload(trace.requests[0].body).report.response for trace in traces] == [LIE] * 5
    assert all(trace == traces[0] for trace in traces)


def test_the_truth_leaves_different_bytes_so_the_comparison_sees_something(
    prepared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    traces = [live(prepared, answer, truth(), caplog) for answer in CATEGORIES]
    assert len({trace.files["device.sqlite"] for trace in traces}) == len(CATEGORIES)
    assert len({trace.requests[0].body for trace in traces}) == len(CATEGORIES)
    # And even then nothing but the signed bytes differs.
    assert all(trace.said == traces[0].said for trace in traces)
    assert all(trace.slept == traces[0].slept for trace in traces)
    assert all(len(trace.requests) == len(traces[0].requests) for trace in traces)
    lengths = {tuple(map(len, trace.files.values())) for trace in traces}
    assert len(lengths) == 1


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


class Collected(logging.Handler):
    """What a crash reporter collects of the records, at the time when they are made.

    Attributes:
        records: all of them.
        dumps: of the errors that they carry.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []
        self.dumps: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        carried = [*record.args] if isinstance(record.args, tuple) else []
        if record.exc_info:
            carried.append(record.exc_info[1])
        self.dumps += [dump(each) for each in carried if isinstance(each, BaseException)]


@pytest.fixture
def collected() -> Iterator[Collected]:
    handler, logger = Collected(), logging.getLogger("deniable")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


Reporting = Callable[[Client, list[tuple[Any, Any]], bool], Outcome]


def report(client: Client, asked: list[tuple[Any, Any]], strict: bool) -> Outcome:
    return client.report(*asked.pop(), strict=strict)  # the app's own frame holds nothing either


def areport(client: Client, asked: list[tuple[Any, Any]], strict: bool) -> Outcome:
    async def app() -> Outcome:
        return await client.areport(*asked.pop(), strict=strict)

    return asyncio.run(app())


def unforeseen() -> int:
    raise LookupError


def troubled(bench: Bench, trouble: str) -> Client:
    """Return a client that can record nothing."""
    if trouble == "no manifest":
        return bench.client()
    client = bench.ready()
    if trouble == "no consent":
        client.set_consent("off")
    elif trouble == "over":
        bench.clock.time = START + 100 * DAY
    elif trouble == "no disk":
        bench.path.unlink()
    elif trouble == "dropped":
        client.report(NAME, "good")
        client.purge()
    elif trouble == "unforeseen":
        return bench.client(unsafe_draw=unforeseen)
    return client


TROUBLES = ["no consent", "no manifest", "over", "no disk", "dropped", "unforeseen"]


@pytest.mark.long
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("call", [report, areport])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_that_a_failure_leaves_holds_the_answer(
    bench: Bench, collected: Collected, call: Reporting, strict: bool, trouble: str
) -> None:
    client = troubled(bench, trouble)
    dumps: list[list[str]] = []
    for category in CATEGORIES:
        answer = "".join(list(category))  # an object of its own, whose references can be counted
        before = sys.getrefcount(answer)
        collected.dumps.clear()
        try:
            error: BaseException | None = call(client, [(NAME, answer)], strict).error
        except (NotRecorded, LookupError) as raised:
            error = raised
        assert error is not None
        gc.collect()
        assert sys.getrefcount(answer) == before  # while the error and the records are kept
        dumps.append([dump(error), *collected.dumps])
    assert all(each == dumps[0] for each in dumps)
    raises = strict or trouble == "unforeseen"
    assert ("Client.report" in dumps[0][0]) is raises  # so frames are seen where there are any
    assert (collected.records != []) is (trouble != "unforeseen")


@pytest.mark.parametrize("call", [report, areport])
@pytest.mark.parametrize(
    ("name", "answer"), [(NAME, "none of them"), (NAME, 2.5), (NAME, Decimal("1e9")), ("any", NAME)]
)
def test_what_the_apps_own_bugs_raise_holds_neither_argument(
    bench: Bench, call: Reporting, name: str, answer: Any
) -> None:
    # Objects of their own. Whoever swaps the arguments passes an answer as the name.
    name, answer = "".join(list(name)), type(answer)("".join(list(str(answer))))
    before = sys.getrefcount(name), sys.getrefcount(answer)
    with pytest.raises((AppError, TypeError)) as caught:
        call(bench.ready(), [(name, answer)], False)
    gc.collect()
    assert (sys.getrefcount(name), sys.getrefcount(answer)) == before
    assert "Client.report" in dump(caught.value)


def test_a_report_that_is_cancelled_leaves_no_answer(bench: Bench) -> None:
    client, answer = bench.ready(), "".join(list("good"))
    before = sys.getrefcount(answer)

    async def app() -> None:
        reporting = asyncio.create_task(client.areport(NAME, answer))
        await asyncio.sleep(0)
        reporting.cancel()
        await reporting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(app())
    until(lambda: gc.collect() >= 0 and sys.getrefcount(answer) == before)


@pytest.mark.parametrize("trouble", ["no manifest", "unforeseen"])
def test_the_frames_of_what_the_app_handles_meanwhile_are_its_own(
    bench: Bench, trouble: str
) -> None:
    client = troubled(bench, trouble)

    def fail() -> None:
        local = "of the app"
        raise ValueError(local)

    def app() -> None:
        try:
            fail()
        finally:
            with suppress(LookupError):
                assert not client.report(NAME, "good").ok

    with pytest.raises(ValueError, match="of the app") as caught:
        app()
    assert caught.traceback[-1].frame.f_locals == {"local": "of the app"}


def warned_of_below_report() -> set[str]:
    """Return what the ledger and the state warn of; neither logs by another way below report()."""
    messages: set[str] = set()
    for folder in ("ledger", "state"):
        for file in Path(deniable.client.__file__).parent.joinpath(folder).glob("*.py"):
            text = file.read_text("utf-8")
            # Of the authority's keys only what was fetched tells.
            assert "getLogger" not in text or file.name == "authorities.py"
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "warn":
                    messages.add(ast.literal_eval(node.args[0]))
    return messages


def about_to_warn(bench: Bench, trouble: str) -> Client:
    """Return a client whose next report is warned of."""
    client = bench.reported(caps=OutboxCaps(reports=1))
    bench.clock.time += DAY
    mark = bench.path.with_name(f"{bench.path.name}.mark")
    if trouble == "over caps":
        return client
    if trouble == "no disk":
        bench.path.unlink()
        return client
    client.close()
    if trouble == "copied":
        mark.unlink()
    elif trouble == "damaged":
        bench.path.write_bytes(b"rot" * 999)
    return bench.client()


class Stacks(logging.Handler):
    """What a crash reporter with stack traces collects of warnings.

    Attributes:
        messages: of all of them, as they are written.
        frames: of the SDK, with what they hold, of those since it was emptied.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: set[str] = set()
        self.frames: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.add(record.msg)
        stack = (frame for frame, _ in traceback.walk_stack(sys._getframe()))
        self.frames += [held_by(frame) for frame in stack if is_ours(frame)]


def test_whatever_is_warned_of_no_frame_of_ours_holds_the_answer_then(tmp_path: Path) -> None:
    stacks, logger = Stacks(), logging.getLogger("deniable")
    for trouble in ("over caps", "no disk", "copied", "damaged"):
        frames: list[list[str]] = []
        for category in CATEGORIES:
            folder = tmp_path / f"{trouble}, {category}"
            folder.mkdir()
            with Bench(folder) as bench:
                client = about_to_warn(bench, trouble)
                logger.addHandler(stacks)
                client.report(NAME, category)
                logger.removeHandler(stacks)
            frames.append([held.replace(str(folder), "") for held in stacks.frames])
            stacks.frames.clear()
        assert any("Client.report" in held for held in frames[0])
        assert all(held == frames[0] for held in frames), trouble
    assert stacks.messages == warned_of_below_report()
