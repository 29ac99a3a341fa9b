"""States that are killed, copied, set back or lost; and the bytes that stay on disk."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from deniable.conformance.adapter import AdapterBroke
from deniable.conformance.hostile_collector import CUT
from deniable.conformance.hostile_operator import DAY, declared, refused
from deniable.conformance.scenario import Conviction, scenario
from deniable.conformance.stage import Stage, Unjudgeable
from deniable.messages import RefusalCode, Schedule

NAME: Final = "asked"
_KILLS: Final = 6
_LONGEST: Final = 0.012
"""Seconds, in real time, within which a device is killed after it was asked to report."""
COPY_SECONDS: Final = 3.0
"""Real time before a copy is made: file systems date their files by the second."""


@scenario("D5", title="killed while it reports")
def killed_reporting(stage: Stage) -> Iterator[Conviction]:
    """Killed at six instants between the call and its end, it is asked again for the same epoch."""
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
    for number in range(_KILLS):
        stage.run_until_day(number + 0.45)
        stage.kill_in_report(NAME, number / _KILLS * _LONGEST)
        before = len(stage.log.sent(NAME))
        stage.reopen()
        stage.run(60)
        decided = stage.report(NAME) != "not-recorded"  # as an epoch without a report may be, too
        if decided and len(stage.log.sent(NAME)) == before:
            stage.deliver(NAME)
    if len(stage.log.sent(NAME)) < _KILLS / 2:
        raise Unjudgeable("after most kills an honest survey could not be reported")
    yield from ()


@scenario("D5", title="killed once it has reported")
def killed_reported(stage: Stage) -> Iterator[Conviction]:
    """A report that was told to be recorded is there after a kill, and arrives."""
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
    stage.must_report(NAME)
    stage.kill()
    stage.reopen()
    if stage.report(NAME) != "repeated":
        yield Conviction("D5", "a recorded epoch was not decided any more after a kill")
    stage.run(3 * 3600)
    if not stage.log.sent(NAME):
        yield Conviction("D5", "a recorded report was lost by a kill")


@scenario("D5", title="killed while it sends")
def killed_sending(stage: Stage) -> Iterator[Conviction]:
    """Killed when its request has come and before the answer, it sends the same bytes or none."""
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
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
            yield Conviction("D5", "a recorded epoch was not decided any more after a kill")
        before = len(stage.log.sent(NAME))
        stage.run(3 * 3600)
        if len(stage.log.sent(NAME)) == before:
            yield Conviction("D5", "a recorded report was not sent again after a kill")


@scenario("D5", title="a copy of the state", needs=("mark",))
def cloned(stage: Stage) -> Iterator[Conviction]:
    """The state and all beside it, copied to another place while a report waits."""
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
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
    yield from _later(stage, ("a", "b"))


@scenario("D5", title="a backup in place of the state", needs=("mark",))
def restored(stage: Stage) -> Iterator[Conviction]:
    """An epoch that was decided since the backup is decided in no other way."""
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
    stage.run_until_day(1.4)
    stage.must_report(NAME)
    stage.deliver(NAME)
    stage.close()
    time.sleep(COPY_SECONDS)
    stage.copy_state("a", "backup")
    stage.reopen()
    stage.run_until_day(2.4)
    stage.must_report(NAME)
    stage.deliver(NAME)
    stage.close()
    stage.copy_state("backup", "a")
    stage.reopen()
    stage.run(3600)
    yield from _stranger(stage, "a", "a backup")
    yield from _later(stage, ("a",))


@scenario("D5", title="a state that is lost", needs=("mark",))
def lost(stage: Stage) -> Iterator[Conviction]:
    """All files are gone but the mark, in an epoch that was decided."""
    yield from _robbed(stage, [], "a device that lost its state")


@scenario("D5", title="a mark that is lost", needs=("mark",))
def unmarked(stage: Stage) -> Iterator[Conviction]:
    """Only the mark is gone: nobody can tell whether this is the newest state."""
    yield from _robbed(stage, stage.offers["mark"], "a state without its mark")


def _robbed(stage: Stage, gone: Sequence[str], who: str) -> Iterator[Conviction]:
    stage.publish(stage.manifest(NAME))
    stage.begin(NAME)
    stage.run_until_day(1.4)
    stage.must_report(NAME)
    stage.deliver(NAME)
    stage.close()
    stage.lose_state(gone)
    stage.reopen()
    stage.run(3600)
    if gone:
        yield from _stranger(stage, "a", who)
    else:
        yield from _decides_nothing(stage, who)
    yield from _later(stage, ("a",))


def _stranger(stage: Stage, device: str, who: str) -> Iterator[Conviction]:
    """Judge that a state whose past nobody knows has no consent, no reports and no epoch yet."""
    requests = [r for r in stage.log.requests if r.device == device and r.now > stage.now - 3600]
    if requests:
        yield Conviction("D5", f"{who} went on with a consent that may have been taken back")
    yield from _decides_nothing(stage, who)


def _decides_nothing(stage: Stage, who: str) -> Iterator[Conviction]:
    stage.consent()
    outcomes = [stage.report(NAME)]
    stage.run(2 * 3600)
    outcomes.append(stage.report(NAME))
    stage.run(2 * 3600)
    if "recorded" in outcomes:
        yield Conviction("D5", f"{who} decided an epoch that had begun before")


def _later(stage: Stage, devices: Sequence[str]) -> Iterator[Conviction]:
    """Have each device report in the epoch after the next, as a device of its own."""
    stage.run_until_day(4.4)
    for device in devices:
        stage.open([declared(NAME)], device)
        stage.consent()
        stage.run(2 * 3600)
        stage.must_report(NAME)
        stage.deliver(NAME)
    yield from ()


@scenario("D9", title="delivered, and past its grace", needs=("erases",))
def erased(stage: Stage) -> Iterator[Conviction]:
    """No file has a report's bytes once it is of no more use: refused, accepted or withdrawn."""
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
        yield Conviction("D9", "a delivered report is still on disk, though its grace is over")
    if not stage.on_disk(*_needles(stage, "withdrawn")):
        raise Unjudgeable("the bytes of a report are not found in the state even while it waits")
    stage.consent("off")
    stage.run(3600)
    if stage.on_disk(*_needles(stage, "withdrawn")):
        yield Conviction("D9", "a report is still on disk after consent was taken back")
    stage.close()
    if stage.on_disk(*(needle for name in names for needle in _needles(stage, name))):
        yield Conviction("D9", "a report is on disk once the app has ended")


def _needles(stage: Stage, name: str) -> tuple[bytes, bytes]:
    """Return the payload and the signature of a report, which are its own."""
    sent = stage.log.sent(name)
    if not sent:
        raise Unjudgeable(f"the report of {name!r} was not sent")
    return sent[0].signed.payload, sent[0].signed.signature
