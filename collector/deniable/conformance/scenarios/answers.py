"""Answers: portals, proxies and collectors that say anything, to uploads and to fetches."""

from collections.abc import Iterator
from itertools import pairwise
from random import SystemRandom
from typing import Final

from deniable.conformance.hostile_collector import CUT, Answer
from deniable.conformance.hostile_operator import CATEGORIES, DAY, JSON, accepted, declared, problem
from deniable.conformance.invariants import MOST_SENDS
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.messages import PROBLEM_JSON, RefusalCode, Schedule

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
"""What is said to uploads that no device may take for a word of the collector on its report."""

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
"""By name a Retry-After, and the seconds within which the second send comes, by D8."""


@scenario("D8", title="answers that are none")
def nonsense(stage: Stage) -> Iterator[Conviction]:
    """The same bytes come again, six times in all, from the third on a day apart."""
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
        sends = len(stage.log.sent(name))
        if not sends:
            raise Unjudgeable(f"the report of {name!r} was not sent")
        if sends == 1:
            yield Conviction("D8", f"an answer was taken for the collector's word: {name!r}")
        elif sends < MOST_SENDS:
            yield Conviction("D8", f"a report was sent {sends} times in nine days, not 6: {name!r}")


@scenario("D8", title="Retry-After")
def retry_after(stage: Stage) -> Iterator[Conviction]:
    """A wait that is asked for is rounded up to a minute, ten or an hour, and capped there."""
    for name, (text, _, _) in WAITS.items():
        stage.publish(stage.manifest(name))
        wait = problem(_LIMITED, ("retry-after", text))
        stage.uploads[name] = lambda n, wait=wait: wait if n == 1 else accepted()  # type: ignore[misc]
    stage.begin(*WAITS)
    for name in WAITS:
        stage.must_report(name)
    stage.run(8 * 3600)
    for name, (text, least, most) in WAITS.items():
        times = [sent.request.now for sent in stage.log.sent(name)]
        if not times:
            raise Unjudgeable(f"the report of {name!r} was not sent")
        waited = times[1] - times[0] if len(times) > 1 else 8 * 3600
        if waited < least:
            yield Conviction("D8", f"after Retry-After: {text} it waited {waited:.0f} s")
        if waited > most + 3600:  # others may be due as well, and give way to each other
            yield Conviction("D8", f"Retry-After: {text} put a report off by {waited / 3600:.1f} h")


FETCHED: Final[dict[str, Answer | None]] = {
    "page": Answer(200, _PAGE, _HTML),
    "hung-up": CUT,
    "elsewhere": Answer(302, b"", (("location", "/v1/surveys/page/manifests"),)),
    "at-once": problem(_LIMITED, ("retry-after", "0")),
    "heavy": Answer(200, bytes(300_000), (("content-type", "application/msgpack"),)),
}
"""By a survey's name, what is said whenever its manifests are fetched."""


@scenario("D10", title="a month of fetches", needs=("fetches",))
def month(stage: Stage) -> Iterator[Conviction]:
    """Once a day, or eight times at most, whatever is said and however often the app starts."""
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
        raise Unjudgeable(f"manifests were fetched {len(times)} times in a month")
    if min(gaps) < DAY - 1:
        yield Conviction("D10", f"manifests that came were fetched again {min(gaps):.0f} s later")
