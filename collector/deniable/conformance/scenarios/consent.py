"""Consent and answers: what was shown, and what the world may see of an answer."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from deniable.conformance.hostile_collector import CUT
from deniable.conformance.hostile_operator import CATEGORIES, declared
from deniable.conformance.replies import accepted
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage

UNCHANGED: Final = "unchanged"
_EACH: Final = 3

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
