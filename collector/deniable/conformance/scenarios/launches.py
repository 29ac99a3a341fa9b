"""Launches, calls and consent: what requests show and share, and what the user was shown."""

from collections.abc import Iterator
from typing import Any, Final

from deniable.conformance.hostile_collector import Answer
from deniable.conformance.hostile_operator import CATEGORIES, declared
from deniable.conformance.invariants import shares_connections
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.messages import Schedule

NAME: Final = "asked"
_DEVICES: Final = 8
_AT_ONCE: Final = 0.05
_LONGEST_DELAY: Final = 30.0
_SHORT: Final = 3.0
_SESSION: Final = 5.0
_SLACK: Final = 1.5


@scenario("D6", title="no manifest yet", needs=("fetches",))
def nothing_yet(stage: Stage) -> Iterator[Conviction]:
    """Without a manifest a call records nothing, and nothing of it is sent later."""
    stage.fetches[NAME] = lambda _: Answer(
        404, b"<h1>Not Found</h1>", (("content-type", "text/html"),)
    )
    stage.begin(NAME)
    if (outcome := stage.report(NAME)) != "not-recorded":
        yield Conviction("D6", f"without a manifest report was {outcome!r}")
    stage.publish(stage.manifest(NAME))
    del stage.fetches[NAME]
    stage.run(26 * 3600)
    if stage.log.sent():
        yield Conviction("D6", "an answer was kept until there was a manifest, and then sent")
    stage.must_report(NAME)
    stage.deliver(NAME)


@scenario("D6", "D7", title="before the user has agreed")
def before_consent(stage: Stage) -> Iterator[Conviction]:
    """Without consent nothing is recorded or looked up, and after it nothing of before is sent."""
    stage.publish(stage.manifest(NAME))
    stage.open([declared(NAME)])
    stage.run(3600)
    if (outcome := stage.report(NAME)) != "not-recorded":
        yield Conviction("D7", f"without consent report was {outcome!r}")
    stage.run(26 * 3600)
    stage.consent()
    stage.run(3 * 3600)
    if stage.log.sent():
        yield Conviction("D7", "an answer from before consent was sent after it")
    stage.must_report(NAME)
    stage.deliver(NAME)


@scenario("D7", title="two reports at once, many times")
def apart(stage: Stage) -> Iterator[Conviction]:
    """Reports of one moment leave at times of their own, that differ from device to device."""
    names = ("first", "second")
    schedule = Schedule(stage.midnight, 86_400, 60, 86_400)
    for name in names:
        stage.publish(stage.manifest(name, schedule=schedule))
    stage.begin(*names)
    waits = []
    for day in range(_DEVICES):
        stage.run_until_day(day + 0.5)
        began = stage.now
        for name in names:
            stage.must_report(name)
        stage.run(2 * 3600)
        times = [stage.log.sent(name)[-1].request.now - began for name in names]
        if min(times) < 0:
            raise Unjudgeable("a report was not sent within two hours")
        waits.append(times)
    stage.run_until_day(_DEVICES + 0.5)
    for name in names:
        stage.must_report(name)
    stage.close()
    stage.pass_time(4 * 3600)
    stage.reopen()
    stage.run(2 * 3600)  # both are overdue, and go one by one all the same
    if all(abs(first - second) < 1 for first, second in waits):
        yield Conviction("D7", "two reports of one moment always left together")
    if max(first for first, _ in waits) - min(first for first, _ in waits) < 1:
        yield Conviction("D7", "reports leave so many seconds after the call, always the same")


@scenario("D7", title="connections", needs=("own_connections",))
def connections(stage: Stage) -> Iterator[Conviction]:
    """A collector that keeps connections open sees no second request on one."""
    for name in ("first", "second"):
        stage.publish(stage.manifest(name))
    stage.begin("first", "second")
    for name in ("first", "second"):
        stage.must_report(name)
    for name in ("first", "second"):
        if not stage.log.sent(name):
            stage.deliver(name)
    if shares_connections(stage.log):
        yield Conviction("D7", "two requests on one connection")


@scenario("D7", title="starts of an app with a report that is overdue")
def overdue(stage: Stage) -> Iterator[Conviction]:
    """A report leaves after a random time of running, whose rest short sessions use up."""
    stage.publish(stage.manifest(NAME))
    at_once, delays, undelivered = 0, [], 0
    for number in range(_DEVICES):
        device = f"device-{number}"
        stage.now = stage.midnight + 9 * 3600
        stage.begin(NAME, device=device)
        stage.must_report(NAME)
        if stage.log.sent(device=device):
            raise Unjudgeable("the report was sent during the call")
        stage.close()
        stage.pass_time(26 * 3600)
        before, ran = len(stage.log.requests), 0.0
        while not stage.log.sent(device=device) and ran < _LONGEST_DELAY + _SESSION * _SLACK:
            stage.reopen()
            began = stage.now
            stage.run(_SESSION, until=lambda: bool(stage.log.sent(device=device)))  # noqa: B023
            ran += stage.now - began
            stage.close()
            stage.pass_time(3600)
        requests = stage.log.requests[before:]
        at_once += any(request.since_start <= _AT_ONCE for request in requests)
        undelivered += not stage.log.sent(device=device)
        delays.append(ran)
    # Of delays up to 30 s one in a hundred ends within .05 s of a session's start: five of eight
    # do with a probability of 6e-9.
    if at_once > 4:
        yield Conviction("D7", f"{at_once} of {_DEVICES} starts were at once followed by a request")
    if max(delays) < _SHORT:
        yield Conviction("D7", f"the delay after a start was below {_SHORT:.0f} s, every time")
    if undelivered:
        yield Conviction("D7", "short sessions did not use up the delay: nothing was delivered")


UNCHANGED: Final = "unchanged"

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
