"""Requests: what they reveal and share, the answers that count, and the erasure after them."""

from collections.abc import Iterator
from itertools import pairwise
from random import SystemRandom
from typing import Any, Final

from deniable.conformance.hostile_collector import (
    CATEGORIES,
    CUT,
    DAY,
    JSON,
    accepted,
    declared,
    problem,
    refused,
)
from deniable.conformance.observations import MOST_SENDS, Conviction
from deniable.conformance.stage import Stage, Unjudgeable, scenario
from deniable.counterparts.loopback import Answer
from deniable.messages import PROBLEM_JSON, RefusalCode, Schedule

NAME: Final = "asked"
_DEVICES: Final = 8
_AT_ONCE: Final = 0.05
_LONGEST_DELAY: Final = 30.0
_SHORT: Final = 3.0
_SESSION: Final = 5.0
_SLACK: Final = 1.5


@scenario("D6", title="no manifest yet", needs=("fetches",))
def nothing_yet(stage: Stage) -> Iterator[Conviction]:
    """Without a manifest a call records nothing, and nothing is sent for it later."""
    stage.fetches[NAME] = lambda _: Answer(
        404, b"<h1>Not Found</h1>", (("content-type", "text/html"),)
    )
    stage.begin(NAME)
    if (outcome := stage.report(NAME)) != "not-recorded":
        yield Conviction("D6", f"without a manifest, report returned {outcome!r}")
    stage.publish(stage.manifest(NAME))
    del stage.fetches[NAME]
    stage.run(26 * 3600)
    if stage.log.sent():
        yield Conviction("D6", "an answer was kept until a manifest arrived, and then sent")
    stage.must_report(NAME)
    stage.deliver(NAME)


@scenario("D6", "D7", title="before the user has agreed")
def before_consent(stage: Stage) -> Iterator[Conviction]:
    """Without consent nothing is recorded or fetched, and after it nothing from before is sent."""
    stage.publish(stage.manifest(NAME))
    stage.open([declared(NAME)])
    stage.run(3600)
    if (outcome := stage.report(NAME)) != "not-recorded":
        yield Conviction("D7", f"without consent, report returned {outcome!r}")
    stage.run(26 * 3600)
    stage.consent()
    stage.run(3 * 3600)
    if stage.log.sent():
        yield Conviction("D7", "an answer given before consent was sent after consent")
    stage.must_report(NAME)
    stage.deliver(NAME)


@scenario("D7", title="two reports at once, many times")
def apart(stage: Stage) -> Iterator[Conviction]:
    """Reports of one moment leave at separate times, which differ from device to device."""
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
    stage.run(2 * 3600)  # both are overdue, and still leave one by one
    if all(abs(first - second) < 1 for first, second in waits):
        yield Conviction("D7", "two reports made at the same moment were always sent together")
    if max(first for first, _ in waits) - min(first for first, _ in waits) < 1:
        yield Conviction("D7", "all reports are sent the same number of seconds after the call")


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
    numbers = [request.connection for request in stage.log.requests]
    if len(numbers) != len({*numbers}):
        yield Conviction("D7", "two requests on one connection")


@scenario("D7", title="starts of an app with an overdue report")
def overdue(stage: Stage) -> Iterator[Conviction]:
    """A report leaves after a random running time, which short sessions use up."""
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
    # One in a hundred of the delays up to 30 s ends within .05 s of a session's start: five of
    # eight do with a probability of 6e-9.
    if at_once > 4:
        yield Conviction("D7", (f"{at_once} of {_DEVICES} starts led to a request at once"))
    if max(delays) < _SHORT:
        yield Conviction("D7", f"after every start, the delay was below {_SHORT:.0f} s")
    if undelivered:
        yield Conviction("D7", "nothing was delivered: short sessions did not use up the delay")


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
"""Changes by a survey's name: those of the app's update, and its manifest's."""


@scenario("D12", title="an update that asks for more", needs=("covers",))
def update(stage: Stage) -> Iterator[Conviction]:
    """A survey that the user was not shown waits for consent; covered surveys continue."""
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
            yield Conviction("D12", f"a survey continued without being shown to the user: {name!r}")
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
            yield Conviction(
                "D1", f"for an undeclared answer or survey, report returned {outcome!r}"
            )
    stage.run(2 * 3600)
    if stage.log.sent():
        yield Conviction("D1", "an undeclared answer was sent")


_HTML: Final = (("content-type", "text/html"),)
_PAGE: Final = b"<html>Welcome to the hotel</html>"
_LIMITED: Final = RefusalCode.RATE_LIMITED

NONSENSE: Final[dict[str, Answer | None]] = {
    "cut": CUT,
    "portal": Answer(200, _PAGE, _HTML),
    "proxy": Answer(404, b"<h1>Not Found</h1>", _HTML),
    "redirect": Answer(307, b"", (("location", "/login"),)),
    "moved": Answer(301, b"", (("location", "/login"),)),
    "empty": Answer(200),
    "object": Answer(200, b"{}", JSON),
    "none": Answer(200, b'{"accepted": 0, "duplicates": 0, "refused": []}', JSON),
    "two": Answer(200, b'{"accepted": 1, "duplicates": 1, "refused": []}', JSON),
    "negative": Answer(200, b'{"accepted": 2, "duplicates": -1, "refused": []}', JSON),
    "float": Answer(200, b'{"accepted": 1.0, "duplicates": 0, "refused": []}', JSON),
    "true": Answer(200, b'{"accepted": true, "duplicates": 0, "refused": []}', JSON),
    "unknown-code": Answer(
        200,
        b'{"accepted": 0, "duplicates": 0, "refused": [{"index": 0, "code": "go-away"}]}',
        JSON,
    ),
    "other-index": Answer(
        200,
        b'{"accepted": 0, "duplicates": 0, "refused": [{"index": 1, "code": "bad-key"}]}',
        JSON,
    ),
    "unknown-type": Answer(
        400, b'{"type": "urn:deniable:error:go-away"}', (("content-type", PROBLEM_JSON),)
    ),
    "foreign-type": Answer(400, b'{"type": "about:blank"}', (("content-type", PROBLEM_JSON),)),
    "plain-json": Answer(400, b'{"type": "urn:deniable:error:malformed"}', JSON),
    "other-status": problem(RefusalCode.MALFORMED, status=502),
    "gone": Answer(410, b"", ()),
}
"""Answers to uploads that no device may treat as the collector's verdict on its report."""

WAITS: Final[dict[str, tuple[str, float, float]]] = {
    "zero": ("0", 60, 3600),
    "seven": ("7", 60, 3600),
    "a-minute": ("60", 60, 3600),
    "more": ("61", 600, 3600),
    "an-hour": ("601", 3600, 2 * 3600),
    "huge": ("99999999999999999999999999", 3600, 2 * 3600),
    "negative": ("-5", 1, 3600),
    "garbage": ("soon", 1, 3600),
    "date": ("Fri, 31 Dec 2100 23:59:59 GMT", 1, 3600),
}
"""A Retry-After by name, and the range of seconds for the second send, by D8."""


@scenario("D8", title="answers that no collector sends")
def nonsense(stage: Stage) -> Iterator[Conviction]:
    """The same bytes are sent again, six times in all, from the third on a day apart."""
    for name in NONSENSE:
        stage.publish(stage.manifest(name, schedule=Schedule(stage.midnight, DAY, 3, 60 * DAY)))
        stage.uploads[name] = lambda _, name=name: NONSENSE[name]  # type: ignore[misc]
    stage.begin(*NONSENSE)
    dealt = [CATEGORIES[number % len(CATEGORIES)] for number in range(len(NONSENSE))]
    SystemRandom().shuffle(dealt)
    for name, answer in zip(NONSENSE, dealt, strict=True):
        stage.must_report(name, answer)
    stage.run(9 * DAY)
    for name in NONSENSE:
        sends = len(stage.sends_of(name))
        if sends == 1:
            yield Conviction("D8", f"an answer that no collector sends was accepted: {name!r}")
        elif sends < MOST_SENDS:
            yield Conviction(
                "D8", f"a report was sent {sends} instead of 6 times in nine days: {name!r}"
            )


@scenario("D8", title="Retry-After")
def retry_after(stage: Stage) -> Iterator[Conviction]:
    """A requested wait is rounded up to a minute, ten minutes or an hour, its greatest value."""
    for name, (text, _, _) in WAITS.items():
        stage.publish(stage.manifest(name))
        wait = problem(_LIMITED, ("retry-after", text))
        stage.uploads[name] = lambda n, wait=wait: wait if n == 1 else accepted()  # type: ignore[misc]
    stage.begin(*WAITS)
    for name in WAITS:
        stage.must_report(name)
    stage.run(8 * 3600)
    for name, (text, least, most) in WAITS.items():
        times = [sent.request.now for sent in stage.sends_of(name)]
        waited = times[1] - times[0] if len(times) > 1 else 8 * 3600
        if waited < least:
            yield Conviction("D8", f"after Retry-After: {text}, the device waited {waited:.0f} s")
        if waited > most + 3600:  # others may be due as well, and take turns
            yield Conviction(
                "D8", f"Retry-After: {text} postponed a report by {waited / 3600:.1f} h"
            )


FETCHED: Final[dict[str, Answer | None]] = {
    "page": Answer(200, _PAGE, _HTML),
    "hung-up": CUT,
    "elsewhere": Answer(302, b"", (("location", "/v1/surveys/page/manifests"),)),
    "at-once": problem(_LIMITED, ("retry-after", "0")),
    "heavy": Answer(200, bytes(300_000), (("content-type", "application/msgpack"),)),
}
"""Answers to every fetch of a survey's manifests, by its name."""


@scenario("D10", title="a month of fetches", needs=("fetches",))
def month(stage: Stage) -> Iterator[Conviction]:
    """Once a day, or at most eight times, whatever the answers and however often the app starts."""
    names = ["served", *FETCHED]
    long = Schedule(stage.midnight, DAY, 60, DAY)
    stage.publish(stage.manifest("served", schedule=long))
    for name, answer in FETCHED.items():
        stage.fetches[name] = lambda _, answer=answer: answer  # type: ignore[misc]
    stage.open([declared(name) for name in names])
    stage.consent()
    for day in range(30):
        stage.run_until_day(day + 0.3)
        stage.reopen()
        stage.run(40)
        stage.reopen()
        if day % 5 == 0:
            stage.report("served")
    times = [r.now for r in stage.log.requests if r.survey == "served"]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    if len(times) < 15:
        raise Unjudgeable(f"manifests were fetched only {len(times)} times in a month")
    if min(gaps) < DAY - 1:
        yield Conviction(
            "D10", f"manifests that had arrived were fetched again {min(gaps):.0f} s later"
        )


@scenario("D9", title="a report that is delivered and past its grace", needs=("erases",))
def erased(stage: Stage) -> Iterator[Conviction]:
    """No file has a report's bytes once it is useless: refused, accepted or withdrawn."""
    names = ("refused", "accepted", "withdrawn")
    for name in names:
        grace = 60 * DAY if name == "withdrawn" else DAY
        stage.publish(stage.manifest(name, schedule=Schedule(stage.midnight, DAY, 3, grace)))
    stage.uploads["refused"] = lambda _: refused(RefusalCode.OUT_OF_DOMAIN)
    stage.uploads["withdrawn"] = lambda _: CUT
    stage.begin(*names)
    for name in names:
        stage.must_report(name)
    stage.run(3 * 3600)
    stage.run_until_day(1.1)
    if stage.on_disk(*_needles(stage, "refused")):
        yield Conviction("D9", "a report that was refused for good is still on disk a day later")
    stage.run_until_day(3.5)
    if stage.on_disk(*_needles(stage, "accepted")):
        yield Conviction("D9", "a delivered report is still on disk, although its grace is over")
    if not stage.on_disk(*_needles(stage, "withdrawn")):
        raise Unjudgeable("the bytes of a waiting report are not in the state")
    stage.consent("off")
    stage.run(3600)
    if stage.on_disk(*_needles(stage, "withdrawn")):
        yield Conviction("D9", "a report is still on disk after consent was withdrawn")
    stage.close()
    if stage.on_disk(*(needle for name in names for needle in _needles(stage, name))):
        yield Conviction("D9", "a report is still on disk after the app has ended")


def _needles(stage: Stage, name: str) -> tuple[bytes, bytes]:
    """Return a report's payload and signature, which identify it."""
    signed = stage.sends_of(name)[0].signed
    return signed.payload, signed.signature
