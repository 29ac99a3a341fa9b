"""Walks: which functions of ours run while a device reports, and while its report is counted.

``python -m tests.weight.walks NAME`` makes one in a process of its own, so that nothing is kept of
another. It prints, as JSON, how many lines the functions have that ran, by the file they stand in.
"""

import ast
import asyncio
import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Final
from unittest.mock import patch

from deniable.cli.sources import find_survey
from deniable.client import Client, Survey
from deniable.directory import Config, with_store
from deniable.messages import pack_upload
from deniable.stores.sqlite.database import WalTruncation
from tests.cli.commands import succeed
from tests.server.collector import MSGPACK, running
from tests.support.collector import NAME, CollectorProcess
from tests.support.processes import DENIABLE, ROOT, run
from tests.support.reports import envelope, report
from tests.support.watched import be_patient

Lines = dict[str, int]
"""By a file: the lines of its functions that ran."""

_ROOTS: Final = tuple(f"{ROOT / root / 'deniable'}/" for root in ("shared", "client", "collector"))


class Tracer:
    """Notes each function that is called, in every thread that is begun once it is installed."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._noting = False

    def install(self) -> None:
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Note the functions that are called within the block."""
        self._noting = True
        yield
        self._noting = False

    @property
    def lines(self) -> Lines:
        """Return the lines of the functions of ours that were called."""
        ran: dict[str, set[tuple[str, int]]] = {}
        for code in self._codes:
            if code.co_filename.startswith(_ROOTS) and code.co_filename.endswith(".py"):
                place = (code.co_name, code.co_firstlineno)
                ran.setdefault(code.co_filename, set()).add(place)
        lines = {
            str(Path(file).relative_to(ROOT)): len(
                {line for place in places for line in _functions(file).get(place, ())}
            )
            for file, places in ran.items()
        }
        return {file: count for file, count in sorted(lines.items()) if count}

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self._noting and event == "call":
            self._codes.add(frame.f_code)


@cache
def _functions(file: str) -> dict[tuple[str, int], range]:
    """Return the lines of each function of a file, by its name and first line."""
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {
        (node.name, begin): range(begin, (node.end_lineno or begin) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for begin in [min(each.lineno for each in (node, *node.decorator_list))]
    }


def report_and_flush(tracer: Tracer, directory: Path) -> None:
    """Walk a report of an open survey, and its sending."""
    collector = CollectorProcess(directory / "collector")
    bundle = directory / "survey.json"
    run([*DENIABLE, "survey", "export", NAME, "--dir", collector.directory, "--out", bundle])
    collector.start()
    be_patient()
    tracer.install()
    try:
        with Client(
            collector.origin,
            authority=collector.authority,
            surveys=[Survey.bundled(bundle, max_epsilon="1")],
            state=directory / "state.sqlite",
            background=False,  # its thread may run at any moment
        ) as client:
            client.set_consent("on")
            client.refresh()  # once a day, and no part of a report
            with tracer.walking():
                assert client.report(NAME, "good").status == "recorded"
                assert client.flush(timeout=30.0).delivered == 1
    finally:
        collector.kill()


def histogram(tracer: Tracer, directory: Path) -> None:
    """Walk ``deniable hist`` of a store with some reports."""
    collector = CollectorProcess(directory / "collector")
    config = Config.load(collector.directory)
    manifest = with_store(config, lambda store: find_survey(store, config, NAME))
    reports = [report(number, number % 5, survey=manifest) for number in range(100)]
    with_store(config, lambda store: store.add(reports))
    tracer.install()
    with tracer.walking():
        succeed("hist", NAME, "--dir", collector.directory)


async def upload(tracer: Tracer, directory: Path) -> None:
    """Walk the upload of a report, at the collector."""
    tracer.install()
    async with running(directory) as collector:
        body = pack_upload([envelope(0)])
        with tracer.walking():
            answer = await collector.client.post("/v1/reports", data=body, headers=MSGPACK)
            assert answer.status == 200, await answer.text()


async def survey_page(tracer: Tracer, directory: Path) -> None:
    """Walk the page of a survey with some reports, seen by anybody."""
    tracer.install()
    async with running(directory, public=frozenset({NAME})) as collector:
        await collector.store.add([report(device, device % 5) for device in range(100)])
        with tracer.walking():
            answer = await collector.client.get(f"/surveys/{NAME}")
            assert answer.status == 200, await answer.text()


WALKS: Final = {
    "report": report_and_flush,
    "upload": upload,
    "hist": histogram,
    "page": survey_page,
}


def main() -> None:
    """Make the walk that is named."""
    tracer = Tracer()
    # The store's log is emptied a while after a write: on a busy machine, within the walk.
    late = patch.object(WalTruncation, "written")
    with late, tempfile.TemporaryDirectory() as directory:
        made = WALKS[sys.argv[1]](tracer, Path(directory))
        if inspect.iscoroutine(made):
            asyncio.run(made)
    print(json.dumps(tracer.lines))


if __name__ == "__main__":
    main()
