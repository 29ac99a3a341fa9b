"""Nothing tells true answers apart or holds one: no byte, log, request, error or frame."""

import ast
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
from unittest.mock import Mock

import pytest

import deniable.client
from deniable.client import AppError, Client, HttpAnswer, NotRecorded, Outcome
from deniable.client.client import engine_of
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
from tests.support.effort import some
from tests.support.surveys import CATEGORIES, DAY, DECLARED, MANIFEST, START, manifest
from tests.support.traces import dump, held_by, is_ours, pages_of_log
from tests.support.transports import Call

LIE = 3
Log = pytest.LogCaptureFixture


ANSWERS = some(CATEGORIES)
TROUBLES = ["no consent", "no manifest", "over", "no disk", "dropped", "unforeseen"]


@dataclass(frozen=True)
class Trace:
    """All that one device's run leaves behind."""

    files: dict[str, bytes]  # in its folder, after closing
    requests: list[Call]
    said: list[str]  # its logs, reprs and outcomes


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
    return Path(shutil.copytree(prepared, prepared.with_name(f"of-{CATEGORIES.index(answer)}")))


def own(value: Any) -> Any:
    """Return an equal object of its own, whose references can be counted."""
    return type(value)("".join(list(str(value))))


def live(
    prepared: Path,
    answer: str,
    draw: Callable[[], int],
    caplog: Log,
    upload: HttpAnswer | Exception = ACCEPTED,
) -> Trace:
    """Report, repeat, send and close with one true answer; return every trace."""
    folder = copied(prepared, answer)
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    transport, clock = FakeTransport(MANIFEST), FakeClock()
    transport.answer = upload
    with Bench(folder) as bench:
        client = bench.client(unsafe_draw=draw, transport=transport, clock=clock)
        for day in (0, 1):
            clock.time = START + day * DAY + 7.5
            said += [repr(client.report(NAME, answer)) for _ in range(2)]
            said += [repr(engine_of(client).uploader.send_due())]
            said += [repr(client.flush(5000)), repr(client.refresh(force=True))]
            said += map(str, bench.rows("SELECT due, held, attempts FROM decisions"))

        said += [repr(client.report(NAME, CATEGORIES[0])), repr(client), str(client.explain())]
        # The log ahead of the file has salts of SQLite's own; its length must not differ.
        said += [f"{name} {len(content)}" for name, content in bench.files().items()]
    said += [text for r in caplog.records for text in (r.getMessage(), repr(r.args))]
    files = bench.files()
    # The mark ends with the second and the number of the file as it was written.
    files["device.sqlite.mark"] = files["device.sqlite.mark"].rpartition(b" ")[0]
    shutil.rmtree(folder)
    return Trace(files, transport.requests, said)


@pytest.mark.parametrize(
    "upload",
    [
        *(ACCEPTED, UNREACHABLE, PORTAL),
        *(refused(code) for code in (RefusalCode.TOO_EARLY, RefusalCode.REPORT_CONFLICT)),
        refused(RefusalCode.OVERLOADED, retry_after="1"),
    ],
)
def test_a_lie_leaves_the_same(prepared: Path, caplog: Log, upload: HttpAnswer | Exception) -> None:
    first, *others = [live(prepared, answer, lie(LIE), caplog, upload) for answer in ANSWERS]
    assert len(first.requests) > 2
    assert read_upload(first.requests[0].body).report.response == LIE
    assert all(trace == first for trace in others)


def test_the_truth_leaves_different_bytes_which_is_seen(prepared: Path, caplog: Log) -> None:
    first, *others = traces = [live(prepared, each, truth(), caplog) for each in CATEGORIES]
    assert len({trace.files["device.sqlite"] for trace in traces}) == len(CATEGORIES)
    assert len({trace.requests[0].body for trace in traces}) == len(CATEGORIES)
    # And even then nothing but the signed bytes differs.
    for trace in others:
        assert trace.said == first.said
        assert len(trace.requests) == len(first.requests)
        assert [*map(len, trace.files.values())] == [*map(len, first.files.values())]


@pytest.mark.parametrize("ready", [True, False])
def test_the_answer_is_an_argument(bench: Bench, caplog: Log, ready: bool) -> None:
    caplog.set_level(logging.DEBUG)
    client = bench.ready() if ready else bench.client()
    answer = own(CATEGORIES[1])
    before = sys.getrefcount(answer)
    assert [client.report(NAME, answer).ok for _ in range(3)] == 3 * [ready]
    client.flush()
    gc.collect()
    assert sys.getrefcount(answer) == before


def test_a_lie_leaves_the_same_log_journal_and_explanation(prepared: Path) -> None:
    # While the state is open, and so before its log is merged into it.
    logs, texts = [], []

    for answer in ANSWERS:
        with Bench(copied(prepared, answer)) as bench:
            client = bench.client(unsafe_draw=lie(LIE))
            client.set_consent("on", "a test")
            assert client.report(NAME, answer).ok
            texts.append((str(client.journal()), str(client.explain()), repr(client.journal())))
            log = bench.files()["device.sqlite-wal"]
            assert client.report(NAME, answer).ok
            logs.append(pages_of_log(log))
    assert logs[0] != []
    assert all(log == logs[0] for log in logs)
    assert all(text == texts[0] for text in texts)


def test_a_kept_response_alone_depends(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    """What a crash reporter collects of the records, at the time when they are made."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []
        self.dumps: list[str] = []  # of the errors that they carry
        self.frames: list[str] = []  # of the SDK, with what they hold, at warnings

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        carried = [*record.args] if isinstance(record.args, tuple) else []
        if record.exc_info:
            carried.append(record.exc_info[1])
        self.dumps += [dump(each) for each in carried if isinstance(each, BaseException)]
        if record.levelno >= logging.WARNING:
            stack = (frame for frame, _ in traceback.walk_stack(sys._getframe()))
            self.frames += [held_by(frame) for frame in stack if is_ours(frame)]


@pytest.fixture
def collected() -> Iterator[Collected]:
    handler, logger = Collected(), logging.getLogger("deniable")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def report(client: Client, asked: list[tuple[Any, Any]], strict: bool) -> Outcome:
    return client.report(*asked.pop(), strict=strict)  # the app's own frame holds nothing either


def troubled(bench: Bench, trouble: str) -> Client:
    """Return a client that can record nothing."""
    if trouble == "no manifest":
        return bench.client()
    client = bench.ready()
    match trouble:
        case "no consent":
            client.set_consent("off")
        case "over":
            bench.clock.time = START + 100 * DAY
        case "no disk":
            bench.path.unlink()
        case "dropped":
            client.report(NAME, "good")
            client.purge()
        case "unforeseen":
            return bench.client(unsafe_draw=Mock(side_effect=LookupError))
    return client


@pytest.mark.long
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_that_a_failure_leaves_holds_the_answer(
    bench: Bench, collected: Collected, strict: bool, trouble: str
) -> None:
    client = troubled(bench, trouble)
    dumps: list[list[str]] = []
    for category in CATEGORIES:
        answer = own(category)
        before = sys.getrefcount(answer)
        collected.dumps.clear()
        try:
            error: BaseException | None = report(client, [(NAME, answer)], strict).error
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


def test_what_the_apps_own_bugs_raise_holds_neither_argument(bench: Bench) -> None:
    # Whoever swaps the arguments passes an answer as the name.
    bugs = [(NAME, "none of them"), (NAME, 2.5), (NAME, Decimal("1e9")), ("any", NAME)]
    asked: list[tuple[Any, Any]] = [(own(name), own(answer)) for name, answer in bugs]

    def references() -> list[int]:
        return [sys.getrefcount(part) for pair in asked for part in pair]

    client, before, errors = bench.ready(), references(), []
    for pair in asked:
        with pytest.raises((AppError, TypeError)) as caught:
            report(client, [pair], False)
        errors.append(caught.value)
    gc.collect()
    assert references() == before
    assert all("Client.report" in dump(error) for error in errors)


@pytest.mark.parametrize("trouble", ["no manifest", "unforeseen"])
def test_frames_of_what_the_app_handles_meanwhile_are_its_own(bench: Bench, trouble: str) -> None:
    client = troubled(bench, trouble)

    def app() -> None:
        local = "of the app"
        try:
            raise ValueError(local)
        finally:
            with suppress(LookupError):
                assert not client.report(NAME, "good").ok

    with pytest.raises(ValueError, match="of the app") as caught:
        app()
    assert caught.traceback[-1].frame.f_locals["local"] == "of the app"


def warned_of_below_report() -> set[str]:
    """Return what the ledger and the state warn of; neither logs by another way below report()."""
    messages: set[str] = set()
    for folder in ("ledger", "state"):
        for file in Path(deniable.client.__file__).parent.joinpath(folder).glob("*.py"):
            text = file.read_text("utf-8")
            # Of the authority's keys only what was fetched tells.
            assert "getLogger" not in text or file.name == "authorities.py"
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            warned = (call.args[0] for call in calls if ast.unparse(call.func) == "warn")
            messages.update(map(ast.literal_eval, warned))
    return messages


def about_to_warn(bench: Bench, trouble: str) -> Client:
    """Return a client whose next report is warned of."""
    client = bench.reported()
    bench.clock.time += DAY
    match trouble:
        case "no disk":
            bench.path.unlink()
            return client
        case "copied":
            client.close()
            bench.mark.unlink()
        case _:
            client.close()
            bench.path.write_bytes(b"rot" * 999)
    return bench.client()


def test_at_a_warning_no_frame_of_ours_holds_answers(tmp_path: Path, collected: Collected) -> None:
    messages = set()
    for trouble in ("no disk", "copied", "damaged"):
        frames: list[list[str]] = []
        for category in ANSWERS:
            folder = tmp_path / f"{trouble}, {category}"
            folder.mkdir()
            with Bench(folder) as bench:
                client = about_to_warn(bench, trouble)
                collected.records.clear()
                collected.frames.clear()
                client.report(NAME, category)
                messages |= {r.msg for r in collected.records if r.levelno >= logging.WARNING}
                frames.append([held.replace(str(folder), "") for held in collected.frames])
        assert any("Client.report" in held for held in frames[0])
        assert all(held == frames[0] for held in frames), trouble
    assert messages == warned_of_below_report()
