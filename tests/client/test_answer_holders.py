"""Few functions ever hold the true answer, and none of them logs, stores or raises with it."""

import ast
import inspect
import sys
import textwrap
import threading
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, Final

from deniable.client import OutcomeStatus
from tests.support.devices import Bench
from tests.support.surveys import DECLARED, manifest
from tests.support.traces import is_ours

# Neither the text nor its number occurs anywhere else in a report.
CATEGORIES: Final = tuple(f"answer-{number:04}" for number in range(1000))
NUMBER: Final = 737
ANSWER: Final = CATEGORIES[NUMBER]
MOST: Final = 11
# Where else they hand it: to what other answers, texts, a bundle and kept answers take, to
# Python's own, and to the thread of the state's keeper.
BESIDES: Final = {
    *("_combination", "_signs", "text_index", "value_text", "_decide_by_bundle"),
    *("respond", "isinstance", "index", "partial", "do"),
}

Holders = dict[CodeType, set[str]]
"""By a function: the names of its variables that held the answer."""


class Watch:
    """Finds the functions of ours whose variables hold the answer, in threads begun since then."""

    def __init__(self) -> None:
        self.found: Holders = {}
        self.watching = False

    def look(self, frame: FrameType, _: str, __: object) -> Any:
        if not self.watching or not is_ours(frame):
            return None
        names = {name for name, value in frame.f_locals.items() if holds(value)}
        if names:
            self.found.setdefault(frame.f_code, set()).update(names)
        return self.look


def holds(value: object, depth: int = 2) -> bool:
    """Tell whether a value is the answer, or a small collection or object of ours with it."""
    if isinstance(value, bool | bytes) or value is None:
        return False
    if isinstance(value, int | str):
        return value in (NUMBER, ANSWER)
    if not depth or not isinstance(value, tuple | list | set | frozenset | dict) or len(value) > 9:
        return False
    inside = (*value, *value.values()) if isinstance(value, dict) else value
    return any(holds(each, depth - 1) for each in inside)


def named(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def found(bench: Bench) -> Holders:
    """Report and send; return who held the answer meanwhile."""
    bench.transport.publish(manifest(categories=CATEGORIES, epsilon="8"))
    declared = replace(DECLARED, categories=CATEGORIES, max_epsilon="8")
    watch, before = Watch(), sys.gettrace()
    threading.settrace(watch.look)
    sys.settrace(watch.look)
    try:
        client = bench.ready(surveys=[declared], lifetime_epsilon="100", unsafe_draw=lambda: 0)

        watch.watching = True
        assert client.report(declared, ANSWER).status is OutcomeStatus.RECORDED
        assert client.flush().delivered == 1
        return watch.found
    finally:
        sys.settrace(before)
        threading.settrace(None)


def test_few_functions_ever_hold_the_answer_and_hand_it_to_no_others(bench: Bench) -> None:
    holders = found(bench)
    functions = {code.co_qualname.removesuffix(".<locals>.<listcomp>") for code in holders}
    assert {"Client.report", "RandomisedResponse.randomise"} <= functions
    assert len(functions) <= MOST, sorted(functions)
    elsewhere, raised = set(), set()
    for code, names in holders.items():
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))):
            if isinstance(node, ast.Call):
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                if any(names & named(each) for each in given):
                    elsewhere.add(called(node))
            elif isinstance(node, ast.Raise) and names & named(node):
                raised.add(f"{code.co_qualname}: {ast.unparse(node)}")
    assert elsewhere - {code.co_name for code in holders} == BESIDES
    assert raised == set()
