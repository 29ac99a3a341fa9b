"""Decisions and their states, kept through any answer, kill, copy and loss."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from deniable.conformance.adapter import AdapterBroke
from deniable.conformance.hostile_collector import (
    CATEGORIES,
    DAY,
    declared,
    problem,
    refused,
)
from deniable.conformance.observations import Conviction
from deniable.conformance.stage import Stage, Unjudgeable, scenario
from deniable.counterparts.loopback import Answer
from deniable.messages import RefusalCode, Schedule
from deniable.messages.refusals import Remedy

NAME: Final = "asked"
_FINAL: Final = frozenset({Remedy.DROP, Remedy.TOO_LATE})
_YEAR: Final = 365 * DAY


def _started(stage: Stage, **schedule: object) -> None:
    stage.publish(stage.manifest(NAME, **schedule))
    stage.begin(NAME)


def _reported(stage: Stage, *days: float) -> None:
    for day in days:
        stage.run_until_day(day)
        stage.must_report(NAME)
        stage.deliver(NAME)


@scenario("D3", title="a second report in the same epoch")
def again(stage: Stage) -> Iterator[Conviction]:
    """The first answer of an epoch is its only one, also after a restart."""
    _started(stage)
    stage.must_report(NAME, CATEGORIES[0])
    outcomes = [stage.report(NAME, answer) for answer in CATEGORIES]
    stage.deliver(NAME)
    outcomes += [stage.report(NAME, answer) for answer in CATEGORIES]
    stage.reopen()
    stage.run(60)
    outcomes += [stage.report(NAME, answer) for answer in CATEGORIES]
    stage.run(3 * 3600)
    if set(outcomes) != {"repeated"}:
        yield Conviction(
            "D3", f"a later call in an epoch returned {sorted({*outcomes} - {'repeated'})}"
        )


@scenario("D3", title="a successor in the middle of an epoch", needs=("fetches",))
def successor(stage: Stage) -> Iterator[Conviction]:
    """A manifest that begins during an epoch that was decided under its predecessor."""
    _started(stage, schedule=Schedule(stage.midnight, 2 * DAY, 10, DAY))
    stage.must_report(NAME)
    stage.deliver(NAME)
    stage.run_until_day(0.9)
    stage.publish(stage.manifest(NAME, sequence=2, schedule=Schedule(stage.midnight, DAY, 20, DAY)))
    for day in (1.3, 1.8, 2.3, 3.3):
        stage.run_until_day(day)
        stage.report(NAME)
    stage.run(3 * 3600)
    if not any(sent.manifest.sequence == 2 for sent in stage.log.sent()):
        raise Unjudgeable("the successor was not reported after the decided epoch had ended")
    yield from ()


@scenario("D3", title="a clock that is set back", steady=False)
def put_back(stage: Stage) -> Iterator[Conviction]:
    """An epoch from before the last decided one recurs, by the device's clock."""
    _started(stage)
    _reported(stage, 1.4, 5.4)
    for day in (3.4, 1.4, 0.4, 5.5):
        stage.now = stage.midnight + day * DAY
        outcome = stage.report(NAME)
        stage.run(3 * 3600)
        if outcome == "recorded":
            yield Conviction(
                "D3", f"day {day:.0f} was decided after day 5, with the clock set back"
            )


@scenario("D3", title="a clock that jumps by years", steady=False, needs=("lifetime", "fetches"))
def jump(stage: Stage) -> Iterator[Conviction]:
    """Ten years later, or earlier, at most the lifetime's allowance was spent."""
    schedule = Schedule(stage.midnight, DAY, 2, DAY)
    stage.publish(stage.manifest(NAME, schedule=schedule))
    stage.begin(NAME, lifetime_epsilon="3")
    _reported(stage, 0.5, 1.4)
    for sequence, years in ((2, 10), (3, 20), (4, -5), (5, 30)):
        stage.now = stage.midnight + years * _YEAR + DAY / 2
        begins = int(stage.now // DAY) * DAY
        schedule = Schedule(begins, DAY, 1, DAY)
        stage.publish(stage.manifest(NAME, sequence=sequence, schedule=schedule))
        stage.run(26 * 3600)
        stage.now = begins + DAY / 2
        stage.report(NAME)
        stage.run(3 * 3600)
    yield from _spent(stage, 3)


@scenario("D3", title="more surveys than the lifetime budget allows", needs=("lifetime",))
def lifetime(stage: Stage) -> Iterator[Conviction]:
    """Surveys that together cost more than the device will ever spend."""
    _answer_costly(stage, [f"costly-{number}" for number in range(4)], 2)
    yield from _spent(stage, 4)


@scenario("D4", title="a lifetime budget spent on refused reports", needs=("lifetime",))
def refused_lifetime(stage: Stage) -> Iterator[Conviction]:
    """The cost of a report that is refused stays spent."""
    names = [f"costly-{number}" for number in range(6)]
    for name in names:
        stage.uploads[name] = lambda _: refused(RefusalCode.OUT_OF_DOMAIN)
    _answer_costly(stage, names, 4)
    yield from _spent(stage, 4, "D4")


def _answer_costly(stage: Stage, names: Sequence[str], days: int) -> None:
    """Answer surveys on this many days, at a cost beyond a lifetime's epsilon of 4."""
    for name in names:
        stage.publish(stage.manifest(name, schedule=Schedule(stage.midnight, DAY, days, DAY)))
    stage.open([declared(name) for name in names], lifetime_epsilon="4")
    stage.consent()
    for day in range(days):
        stage.run_until_day(day + 0.5)
        for name in names:
            stage.report(name)
    stage.run(3 * 3600)
    if not stage.log.sent():
        raise Unjudgeable("nothing was reported within the lifetime budget")


@scenario("D3", title="a lifetime budget whose state is lost", needs=("lifetime", "mark"))
def lost_lifetime(stage: Stage) -> Iterator[Conviction]:
    """The spending of a state stays when all of it is gone but the mark."""
    two_days = Schedule(stage.midnight, DAY, 2, DAY)
    stage.publish(stage.manifest(NAME, schedule=two_days))
    stage.begin(NAME, lifetime_epsilon="3")
    _reported(stage, 0.4, 1.4)
    stage.close()
    stage.lose_state()
    later = Schedule(stage.midnight + 4 * DAY, DAY, 2, DAY)
    stage.publish(stage.manifest(NAME, sequence=2, schedule=later))
    stage.reopen(lifetime_epsilon="3")
    stage.consent()
    for day in (4.4, 5.4):
        stage.run_until_day(day)
        stage.report(NAME)
    stage.run(3 * 3600)
    yield from _spent(stage, 3)


def _spent(stage: Stage, allowance: int, rule: str = "D3") -> Iterator[Conviction]:
    spent = len({sent.identity for sent in stage.log.sent()})
    if spent > allowance:
        yield Conviction(rule, f"epsilon {spent} was spent, but the lifetime budget is {allowance}")


@scenario("D4", "D8", title="every refusal of a report or a request")
def every_refusal(stage: Stage) -> Iterator[Conviction]:
    """Each code ends or delays the bytes of a report, and never its decision."""
    surveys: dict[str, RefusalCode] = {}
    for code in RefusalCode:
        surveys[f"one-{code.value}"] = code
        if code.http_status is not None:
            surveys[f"all-{code.value}"] = code
    said: dict[str, Answer] = {}
    for name, code in surveys.items():
        stage.publish(stage.manifest(name))
        said[name] = refused(code) if name.startswith("one-") else problem(code)
        stage.uploads[name] = lambda _, name=name: said[name]  # type: ignore[misc]
    stage.begin(*surveys)
    for name in surveys:
        stage.must_report(name)
    stage.run(3 * 3600)
    for name, code in surveys.items():
        if code.remedy in _FINAL and len(stage.sends_of(name)) > 1:
            what = f"{said[name].status} {said[name].body.decode()}"
            yield Conviction("D8", f"a report was sent again after {what}, which is final")
    outcomes = [stage.report(name) for name in surveys]
    stage.reopen()
    stage.run(3 * 3600)
    if "recorded" in (*outcomes, *(stage.report(name) for name in surveys)):
        yield Conviction("D4", "the same epoch was recorded again after a refusal")
    stage.run(3 * DAY)
    for name, code in surveys.items():
        if code.remedy not in _FINAL and len(stage.sends_of(name)) == 1:
            what = f"{said[name].status} {said[name].body.decode()}"
            yield Conviction("D8", f"a report was dropped after {what}, which only delays it")


@scenario("D4", title="consent that is withdrawn and given again")
def wavering(stage: Stage) -> Iterator[Conviction]:
    """Withdrawn consent drops a waiting report; its epoch stays decided when consent returns."""
    for name in ("waiting", "delivered"):
        stage.publish(stage.manifest(name))
    stage.begin("waiting", "delivered")
    stage.must_report("delivered")
    stage.deliver("delivered")
    stage.must_report("waiting")
    stage.consent("off")
    before = len(stage.log.requests)
    outcomes = [stage.report(name) for name in ("waiting", "delivered")]
    stage.run(3 * 3600)
    if len(stage.log.requests) > before or "recorded" in outcomes:
        yield Conviction("D4", "something was recorded or sent after consent was withdrawn")
    stage.consent("on")
    stage.run(300)
    for name in ("waiting", "delivered"):
        if stage.report(name) == "recorded":
            text = "turning consent off and on again made a decided epoch undecided"
            yield Conviction("D4", text)
    stage.run(3 * 3600)
    if stage.log.sent("waiting"):
        yield Conviction(
            "D4", "a report was sent that should have been erased when consent was withdrawn"
        )


_KILLS: Final = 6
_LONGEST: Final = 0.012
"""Real seconds after the call of report within which a device is killed."""
COPY_SECONDS: Final = 3.0
"""Real seconds before a copy is created: file systems date their files by the second."""


@scenario("D5", title="killed while it reports")
def killed_reporting(stage: Stage) -> Iterator[Conviction]:
    """Killed at six instants during a call, it is asked again for the same epoch."""
    _started(stage)
    for number in range(_KILLS):
        stage.run_until_day(number + 0.45)
        stage.kill_in_report(NAME, number / _KILLS * _LONGEST)
        before = len(stage.log.sent(NAME))
        stage.reopen()
        stage.run(60)
        decided = stage.report(NAME) != "not-recorded"  # like an epoch without a report
        if decided and len(stage.log.sent(NAME)) == before:
            stage.deliver(NAME)
    if len(stage.log.sent(NAME)) < _KILLS / 2:
        raise Unjudgeable("most kills prevented later reports to an honest survey")
    yield from ()


@scenario("D5", title="killed once it has reported")
def killed_reported(stage: Stage) -> Iterator[Conviction]:
    """A report returned as recorded is there after a kill, and arrives."""
    _started(stage)
    stage.must_report(NAME)
    stage.kill()
    stage.reopen()
    if stage.report(NAME) != "repeated":
        yield Conviction("D5", "a recorded epoch was no longer decided after a kill")
    stage.run(3 * 3600)
    if not stage.log.sent(NAME):
        yield Conviction("D5", "a recorded report was lost after a kill")


@scenario("D5", title="killed while it sends")
def killed_sending(stage: Stage) -> Iterator[Conviction]:
    """Killed between its request and the answer, it sends the same bytes or none."""
    _started(stage)
    for day in range(3):
        stage.run_until_day(day + 0.45)
        stage.must_report(NAME)
        stage.meanwhile = lambda request: stage.kill() if request.is_upload else None
        try:
            stage.run(2 * 3600)
        except AdapterBroke:
            stage.meanwhile = lambda _: None
        else:
            raise Unjudgeable("the report was not sent")
        stage.reopen()
        if stage.report(NAME) != "repeated":
            yield Conviction("D5", "a recorded epoch was no longer decided after a kill")
        before = len(stage.log.sent(NAME))
        stage.run(3 * 3600)
        if len(stage.log.sent(NAME)) == before:
            yield Conviction("D5", "a recorded report was not sent again after a kill")


@scenario("D5", title="a copy of the state", needs=("mark",))
def cloned(stage: Stage) -> Iterator[Conviction]:
    """The state and all files beside it, copied to another place while a report waits."""
    _started(stage)
    stage.run_until_day(1.4)
    stage.must_report(NAME)
    stage.close()
    time.sleep(COPY_SECONDS)
    stage.copy_state("a", "b")
    stage.reopen()
    stage.deliver(NAME)
    stage.open([declared(NAME)], "b")
    stage.run(3600)
    yield from _stranger(stage, "b", "a copy")
    _later(stage, ("a", "b"))


@scenario("D5", title="a backup that replaces the state", needs=("mark",))
def restored(stage: Stage) -> Iterator[Conviction]:
    """An epoch that was decided since the backup is not decided differently."""
    _started(stage)
    _reported(stage, 1.4)
    stage.close()
    time.sleep(COPY_SECONDS)
    stage.copy_state("a", "backup")
    stage.reopen()
    _reported(stage, 2.4)
    stage.close()
    stage.copy_state("backup", "a")
    stage.reopen()
    stage.run(3600)
    yield from _stranger(stage, "a", "a backup")
    _later(stage, ("a",))


@scenario("D5", title="a state that is lost", needs=("mark",))
def lost(stage: Stage) -> Iterator[Conviction]:
    """All files except the mark are gone, in an epoch that was decided."""
    yield from _robbed(stage, [], "a device that lost its state")


@scenario("D5", title="a mark that is lost", needs=("mark",))
def unmarked(stage: Stage) -> Iterator[Conviction]:
    """Only the mark is gone: it is unknown whether this is the newest state."""
    yield from _robbed(stage, stage.offers["mark"], "a state without its mark")


def _robbed(stage: Stage, gone: Sequence[str], who: str) -> Iterator[Conviction]:
    _started(stage)
    _reported(stage, 1.4)
    stage.close()
    stage.lose_state(gone)
    stage.reopen()
    stage.run(3600)
    if gone:
        yield from _stranger(stage, "a", who)
    else:
        yield from _decides_nothing(stage, who)
    _later(stage, ("a",))


def _stranger(stage: Stage, device: str, who: str) -> Iterator[Conviction]:
    """Check that a state of unknown past has no consent, no reports and no current epoch."""
    requests = [r for r in stage.log.requests if r.device == device and r.now > stage.now - 3600]
    if requests:
        yield Conviction("D5", f"{who} relied on consent that may have been withdrawn")
    yield from _decides_nothing(stage, who)


def _decides_nothing(stage: Stage, who: str) -> Iterator[Conviction]:
    stage.consent()
    outcomes = [stage.report(NAME)]
    stage.run(2 * 3600)
    outcomes.append(stage.report(NAME))
    stage.run(2 * 3600)
    if "recorded" in outcomes:
        yield Conviction("D5", f"{who} decided an epoch that had already begun")


def _later(stage: Stage, devices: Sequence[str]) -> None:
    """Let each device report in the epoch after the next, as a separate device."""
    stage.run_until_day(4.4)
    for device in devices:
        stage.open([declared(NAME)], device)
        stage.consent()
        stage.run(2 * 3600)
        stage.must_report(NAME)
        stage.deliver(NAME)
