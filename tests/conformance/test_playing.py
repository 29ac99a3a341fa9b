"""Playing: kills while an answer is awaited, faults of the tester itself, and early reports."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniable.conformance import AdapterBroke, Verdict, judge, scenarios_of
from deniable.conformance.adapter import Adapter
from deniable.conformance.observations import Conviction
from deniable.conformance.running import play_one
from deniable.conformance.stage import Scenario, Stage
from examples.conformance_device import OFFERS
from tests.conformance.mutants import MUTANTS


def mutant(name: str) -> Adapter:
    assert name in MUTANTS
    return Adapter(f"{sys.executable} -m tests.conformance.mutants {name}")


def test_a_kill_while_an_answer_is_awaited_is_the_end_of_the_process_and_no_fault() -> None:
    with closing(Adapter("sh -c 'read line; echo \"{}\"; read line; exec sleep 60'")) as adapter:
        over = threading.Event()

        def kill_all() -> None:
            while not over.wait(0.003):
                adapter.kill()

        killing = threading.Thread(target=kill_all)
        killing.start()
        for _ in range(30):
            with pytest.raises(AdapterBroke):
                adapter.command("run", now=0.0)
        over.set()
        killing.join()


def test_a_kill_waits_for_no_answer_of_the_next_process(tmp_path: Path) -> None:
    """The next process is started, and read, between the end of the first and its files' end."""
    started = tmp_path / "pipe"
    os.mkfifo(started)
    hello = 'read line; echo "{}"'
    with closing(
        Adapter(f"sh -c '{hello}; read line; echo > {started}; exec sleep 99'")
    ) as adapter:
        adapter.begin("hello", now=0.0)
        first = adapter._process
        assert first is not None
        ended = first.popen.wait
        errors: list[Exception] = []

        def ask_the_next() -> None:
            try:
                adapter.command("run", now=0.0)
            except AdapterBroke as error:
                errors.append(error)

        asking = threading.Thread(target=ask_the_next)

        def wait() -> int:
            asking.start()
            started.read_text()  # the next process has its command, and will not answer
            return ended()

        first.popen.wait = wait  # type: ignore[method-assign, assignment]
        adapter.kill()
        assert not errors
        adapter.kill()
        asking.join()
    assert len(errors) == 1


def test_a_fault_of_the_tester_leaves_its_rule_unjudged_and_keeps_what_was_seen() -> None:
    def play(_: Stage) -> Iterator[Conviction]:
        yield Conviction("D1", "something")
        raise LookupError("no such thing")

    with closing(mutant("sends-at-once")) as adapter:
        one = Scenario(("D1", "D2"), "a fault", play)
        played = play_one(adapter, OFFERS, one)
    first, second = judge([played], ["D1", "D2"])
    assert (first.verdict, second.verdict) == (Verdict.FAILS, Verdict.UNJUDGED)
    assert second.seen == ["a fault: internal error: LookupError: no such thing"]


@pytest.mark.long
def test_a_report_that_left_before_the_second_call_has_arrived() -> None:
    (scenario,) = (one for one in scenarios_of(["D5"]) if one.title == "killed while it reports")
    with closing(mutant("sends-at-once")) as adapter:
        played = play_one(adapter, OFFERS, scenario)
    assert (played.broken, played.convictions) == ("", [])
