"""A device that breaks one rule is convicted of that one."""

import sys

import pytest

from deniable.conformance import Verdict, hello, judge, play_all
from tests.conformance.mutants import MUTANTS


@pytest.mark.parametrize(
    "name",
    [n if "fetches-while" in n else pytest.param(n, marks=pytest.mark.long) for n in MUTANTS],
)
def test_a_device_that_breaks_a_rule_fails_at_that_rule_alone(name: str) -> None:
    rules, _ = MUTANTS[name]
    command = f"{sys.executable} -m tests.conformance.mutants {name}"
    judgements = judge(play_all(command, hello(command)["offers"], rules[:1]))
    failed = {judgement.rule for judgement in judgements if judgement.verdict is Verdict.FAILS}
    assert rules[0] in failed
    assert failed <= {*rules}
