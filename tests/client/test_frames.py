"""Whatever is raised, logged or returned holds no answer: crash reporters collect frames.

An answer is looked for in two ways. Who refers to it is counted, so that no hiding place is
overlooked: frames, closures, partials, work items. And what our frames hold is compared between
answers, since an answer's index says as much as its text.
"""

import ast
import asyncio
import gc
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import deniable.client
from deniable.client import AppError, Client, NotRecorded, OutboxCaps, Outcome
from tests.support.devices import NAME, Bench
from tests.support.surveys import CATEGORIES, DAY, START
from tests.support.traces import dump, held_by, is_ours


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


Call = Callable[[Client, list[tuple[Any, Any]], bool], Outcome]


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
    bench: Bench, collected: Collected, call: Call, strict: bool, trouble: str
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
    bench: Bench, call: Call, name: str, answer: Any
) -> None:
    # Objects of their own. Whoever swaps the arguments passes an answer as the name.
    name, answer = "".join(list(name)), type(answer)("".join(list(str(answer))))
    before = sys.getrefcount(name), sys.getrefcount(answer)
    with pytest.raises((AppError, TypeError)) as caught:
        call(bench.ready(), [(name, answer)], False)
    gc.collect()
    assert (sys.getrefcount(name), sys.getrefcount(answer)) == before
    assert "Client.report" in dump(caught.value)


def test_a_report_that_is_cancelled_before_it_began_leaves_no_answer(bench: Bench) -> None:
    client, answer = bench.ready(), "".join(list("good"))
    before = sys.getrefcount(answer)

    async def app() -> None:
        reporting = asyncio.create_task(client.areport(NAME, answer))
        await asyncio.sleep(0)
        reporting.cancel()
        await reporting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(app())
    gc.collect()
    assert sys.getrefcount(answer) == before


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
