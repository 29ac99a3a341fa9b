"""Consent and answers: what was shown, and what the world may see of an answer."""

import math
from collections import defaultdict
from collections.abc import Iterator
from random import SystemRandom
from typing import Any, Final

from deniable.conformance.hostile_collector import CUT
from deniable.conformance.hostile_operator import CATEGORIES, declared
from deniable.conformance.replies import accepted
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage, Unjudgeable

UNCHANGED: Final = "unchanged"
_EACH: Final = 3
_OFTEN: Final = 18
FALSE_ALARM: Final = 1e-6
"""The probability at most that a device whose times are of no answer is convicted."""

CHANGES: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "ceiling": ({"max_epsilon": "2"}, {"epsilon": "2"}),
    "raised": ({"max_epsilon": "2"}, {}),
    "question": ({"question": "Who are you?"}, {"question": "Who are you?"}),
    "list": (
        {"categories": [*CATEGORIES, "hourly"]},
        {"categories": (*CATEGORIES, "hourly")},
    ),
    "delta": ({"max_delta": "0.001"}, {}),
    "shorter": ({"min_epoch_seconds": 43_200}, {}),
    "kept": ({"max_kept_epsilon": "1"}, {}),
    "longer": ({"max_grace_seconds": 91 * 86_400}, {}),
}
"""By a survey's name, what an update of the app declares otherwise, and its manifest with it."""


@scenario("D12", title="an update that asks for more", needs=("covers",))
def update(stage: Stage) -> Iterator[Conviction]:
    """A survey that the user was not shown waits until asked; those that were covered go on."""
    keeps = "memoised" in stage.offers.get("repeat", ())
    changes = {name: CHANGES[name] for name in CHANGES if keeps or name != "kept"}
    names = [UNCHANGED, "lowered", *changes]
    for name in names:
        stage.publish(stage.manifest(name, epsilon="0.5"))
    stage.open([declared(name) for name in names])
    stage.consent()
    stage.run(300)
    stage.must_report(UNCHANGED)
    stage.run_until_day(1.4)
    after = [declared(UNCHANGED), declared("lowered", max_epsilon="0.5"), declared("new")]
    stage.publish(stage.manifest("new"))
    for name, (declares, manifest) in changes.items():
        after.append(declared(name, **declares))
        stage.publish(stage.manifest(name, sequence=2, **{"epsilon": "0.5", **manifest}))
    before = len(stage.log.requests)
    stage.reopen(after)
    stage.run(26 * 3600)
    for name in (UNCHANGED, "lowered"):
        stage.must_report(name)
    waiting = ["new", *changes]
    outcomes = {name: stage.report(name) for name in waiting}
    stage.run(2 * 3600)
    touched = {request.survey for request in stage.log.requests[before:]}
    touched |= {sent.manifest.name for sent in stage.log.sent()} - {UNCHANGED, "lowered"}
    for name in waiting:
        if name in touched or outcomes[name] != "not-recorded":
            yield Conviction("D12", f"a survey went on that the user was not shown: {name!r}")
    stage.consent()
    stage.run(3600)
    for name in waiting:
        stage.must_report(name)


@scenario("D1", title="answers and surveys that nobody declared")
def undeclared(stage: Stage) -> Iterator[Conviction]:
    """The app's bug is an error, and nothing is recorded or sent."""
    stage.publish(stage.manifest(UNCHANGED))
    stage.begin(UNCHANGED)
    for name, answer in ((UNCHANGED, "Sometimes"), (UNCHANGED, ""), ("another", CATEGORIES[0])):
        if (outcome := stage.report(name, answer)) != "raised":
            yield Conviction("D1", f"an undeclared answer or survey was {outcome!r}")
    stage.run(2 * 3600)
    if stage.log.sent():
        yield Conviction("D1", "an undeclared answer was sent")


@scenario("D1", title="the same life with each answer")
def whatever_the_answer(stage: Stage) -> Iterator[Conviction]:
    """Outcomes, and the number and sizes of requests, are the same whatever is answered."""
    names = [f"{answer}-{number}" for answer in CATEGORIES for number in range(_EACH)]
    for name in names:
        stage.publish(stage.manifest(name))
        stage.uploads[name] = lambda n: CUT if n == 1 else accepted()
    stage.begin(*names)
    lives: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    for name in names:
        outcome = stage.report(name, answer := name.partition("-")[0])
        lives[answer].append((outcome,))
    stage.run(6 * 3600)
    for name in names:
        answer, sizes = name.partition("-")[0], [len(s.request.body) for s in stage.log.sent(name)]
        lives[answer].append((tuple(sizes),))
    first = lives[CATEGORIES[0]]
    for answer in CATEGORIES[1:]:
        if lives[answer] != first:
            yield Conviction("D1", "whether or how a report is made depends on the answer")


@scenario("D1", title="the times of many answers")
def times(stage: Stage) -> Iterator[Conviction]:
    """Answers are dealt to surveys at random: none of them is mostly the first or last to leave."""
    answers = [answer for answer in CATEGORIES for _ in range(_OFTEN)]
    SystemRandom().shuffle(answers)
    dealt = {f"timed-{number}": answer for number, answer in enumerate(answers)}
    for name in dealt:
        stage.publish(stage.manifest(name))
    stage.begin(*dealt)
    for name, answer in dealt.items():
        stage.must_report(name, answer)
    stage.run(3 * 3600)
    order = [*dict.fromkeys(sent.manifest.name for sent in stage.log.sent())]
    if len(order) < len(dealt):
        raise Unjudgeable(f"{len(order)} of {len(dealt)} reports came in three hours")
    for place, part in (("first", order[:_OFTEN]), ("last", order[-_OFTEN:])):
        for answer in CATEGORIES:
            count = sum(dealt[name] == answer for name in part)
            if tail(count) < FALSE_ALARM / 2 / len(CATEGORIES):
                seen = f"{count} of the {_OFTEN} reports to leave {place} have one answer"
                yield Conviction("D1", f"{seen}: its time tells it")


def tail(count: int) -> float:
    """Return the probability that an answer has so many of a third of all places, or more."""
    others = (len(CATEGORIES) - 1) * _OFTEN
    ways = (math.comb(_OFTEN, k) * math.comb(others, _OFTEN - k) for k in range(count, _OFTEN + 1))
    return sum(ways) / math.comb(others + _OFTEN, _OFTEN)
