"""What the clock asks for in the life of a survey, and reports bear out: L1 to L5."""

from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.intake import Action, Due, due, finished
from deniable.intake.life import BELIEVED_SECONDS
from deniable.messages import Schedule
from deniable.messages.schedule import EARLY_SECONDS
from deniable.stores.values import KEPT_SECONDS, Seal
from tests.support.effort import effort
from tests.support.surveys import DAY, START, manifest

SURVEY = manifest(schedule=Schedule(START, DAY, 3, DAY // 2))
CLOSES = [SURVEY.schedule.closes(epoch) for epoch in range(3)]
END = Due(Action.END)


def sealed(epoch: int, at: int, pruned_at: int | None = None) -> Seal:
    """Return a seal, as far as it matters."""
    return Seal(epoch, at, 0, b"", pruned_at)


Row = tuple[list[Seal], int | None, float, int | None, list[Due]]


def dues(action: Action, *epochs: int) -> list[Due]:
    return [Due(action, epoch) for epoch in epochs]


ask, seal, prune = (partial(dues, each) for each in (Action.ASK, Action.SEAL, Action.PRUNE))
OPENS, LATE = SURVEY.schedule.opens(1), CLOSES[0] + 1_000
BELIEVED = CLOSES[0] + BELIEVED_SECONDS
TWO = [sealed(0, CLOSES[0], CLOSES[1]), sealed(1, CLOSES[1], CLOSES[2])]
ALL = [sealed(epoch, CLOSES[2], CLOSES[2] + DAY) for epoch in range(3)]
EARLY = [sealed(0, OPENS, CLOSES[0])]
NEVER: list[Row] = [
    ([], None, now, 2, []) for now in (0, START - 1, START + DAY, CLOSES[0] - 0.001)
]
SILENT: list[Row] = [([], None, now, None, []) for now in (*CLOSES, CLOSES[2] + 80 * DAY)]
DONE: list[Row] = [
    (ALL, CLOSES[2], now, 2, []) for now in (0, START, CLOSES[0], CLOSES[2] + 10 * DAY)
]


@pytest.mark.parametrize(
    ("held", "ended_at", "now", "newest", "wanted"),
    [
        *NEVER,
        # L1: an epoch is sealed when its grace is over; of a survey that was ended, at once what
        # had begun. What begins after the end in its time: another's clock may have run ahead.
        ([], None, CLOSES[0], 2, seal(0)),
        ([], None, CLOSES[1] + 1, 2, seal(0, 1)),
        (TWO[:1], None, CLOSES[1], 2, seal(1)),
        ([], OPENS - 1, OPENS - 1, 2, seal(0)),
        ([], OPENS, OPENS, 2, seal(0, 1)),
        (EARLY, OPENS - 1, CLOSES[1] - 1, 2, []),
        (EARLY, OPENS - 1, CLOSES[1], 2, seal(1)),
        # L2: receipts are pruned a day after the seal that stands.
        ([sealed(0, LATE)], None, LATE + KEPT_SECONDS - 1, 2, seal(1)),
        ([sealed(0, LATE)], None, LATE + KEPT_SECONDS, 2, [*seal(1), *prune(0)]),
        ([sealed(0, LATE, LATE + DAY)], None, CLOSES[1], 2, seal(1)),
        # L3: a survey ends with its last seal; one that was sealed early ends nothing.
        (TWO, None, CLOSES[2] - 1, 2, []),
        (TWO, None, CLOSES[2], 2, [*seal(2), END]),
        ([*TWO, sealed(2, CLOSES[2])], None, CLOSES[2], 2, [END]),
        ([*TWO, sealed(2, CLOSES[2])], CLOSES[2], CLOSES[2], 2, []),
        ([sealed(2, START)], None, START, 2, []),
        ([sealed(2, START)], None, CLOSES[1], 2, [*seal(0, 1), END, *prune(2)]),
        # L4: what is done is not asked for again, whatever the clock says.
        *DONE,
        ([sealed(0, CLOSES[0])], None, 0, 2, []),
        # L5: what no report bears out is not sealed. A later epoch that has begun shows what is
        # over, whatever the time; who ended it has had the word.
        *SILENT,
        ([], None, CLOSES[2], 0, seal(0)),
        ([], None, CLOSES[2] + 80 * DAY, 2, [*seal(0), *ask(1, 2)]),
        ([], CLOSES[2] - 1, CLOSES[2] + 80 * DAY, None, seal(0, 1, 2)),
        # Behind the time in which it is believed the clock is not, and nothing ends by it.
        ([], None, BELIEVED - 1, 0, seal(0)),
        ([], None, BELIEVED, 0, ask(0)),
        (TWO, None, CLOSES[2] + BELIEVED_SECONDS, 2, ask(2)),
    ],
)
def test_so_much_is_due(
    held: list[Seal], ended_at: int | None, now: float, newest: int | None, wanted: list[Due]
) -> None:
    assert due(SURVEY, held, ended_at, newest, now) == wanted


def test_a_survey_is_finished_when_all_is_pruned_and_it_has_ended() -> None:
    assert finished(SURVEY, ALL, CLOSES[2])
    assert not finished(SURVEY, ALL, None)
    assert not finished(SURVEY, [*ALL[:2], sealed(2, CLOSES[2])], CLOSES[2])
    assert not finished(SURVEY, ALL[:2], CLOSES[2])


@dataclass
class Life:
    """The survey, and devices that know the time.

    Attributes:
        time: as it is.
        newest: of the epochs of which a report was counted.
    """

    time: int = START
    newest: int | None = None
    seals: dict[int, Seal] = field(default_factory=dict)
    ended_at: int | None = None
    done: list[Due] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)

    def report(self) -> None:
        """Count a report of now, if a collector with the right time may."""
        epoch = SURVEY.schedule.epoch_at(self.time + EARLY_SECONDS)  # devices may be early
        if epoch is not None and epoch not in self.seals and self.ended_at is None:
            self.newest = max(epoch, self.newest or 0)

    def keep_up(self, offset: int) -> None:
        """Do what a collector does whose clock is ahead by so many seconds."""
        now = self.time + offset
        self.asked.clear()
        for each in due(SURVEY, self.seals.values(), self.ended_at, self.newest, now):
            match each:
                case Due(Action.ASK, int(epoch)):
                    self.asked.add(epoch)
                    continue
                case Due(Action.SEAL, int(epoch)):
                    assert self.newest is not None
                    assert epoch <= self.newest, "it may not have begun"
                    early = CLOSES[epoch] - self.time
                    assert early <= max(0, offset)
                    assert early <= 0 or offset <= MOST_AHEAD, "such a clock seals nothing early"
                    self.seals[epoch] = sealed(epoch, now)
                case Due(Action.PRUNE, int(epoch)):
                    kept = self.seals[epoch]
                    assert now - kept.sealed_at >= KEPT_SECONDS
                    self.seals[epoch] = sealed(epoch, kept.sealed_at, now)
                case Due(Action.END):
                    assert set(self.seals) == {0, 1, 2}
                    self.ended_at = now
            self.done.append(each)


MOST_AHEAD = BELIEVED_SECONDS + DAY + DAY // 2 + EARLY_SECONDS
_OFFSETS = st.sampled_from([0, DAY, -DAY, 80 * DAY, -80 * DAY]) | st.integers(-9 * DAY, 99 * DAY)


@settings(max_examples=effort(500))
@given(
    history=st.lists(
        st.tuples(st.integers(0, 2 * DAY), st.booleans(), st.lists(_OFFSETS, max_size=3)),
        max_size=12,
    ),
    reports_of_the_last=st.booleans(),
)
@example([(0, True, [80 * DAY] * 3), (DAY, True, [0])], True)
@example([(0, True, [8 * DAY]), (0, True, [0, 9 * DAY + 301])], True)
def test_whatever_clocks_and_reports_do_nothing_is_sealed_that_these_do_not_bear_out(
    history: list[tuple[int, bool, list[int]]], reports_of_the_last: bool
) -> None:
    life = Life()
    for passed, reported, offsets in history:
        life.time += passed
        if reported:
            life.report()
        for offset in offsets:
            life.keep_up(offset)
    # From now on the time is known, and what is due is done.
    right_since = life.time
    while life.time < max(START + 200 * DAY, right_since + 2 * DAY):
        life.time += DAY // 2
        if reports_of_the_last:
            life.report()
        life.keep_up(0)

    over = set(range(life.newest + 1)) if life.newest is not None else set()
    assert set(life.seals) | life.asked == over
    assert all(right_since > CLOSES[epoch] + BELIEVED_SECONDS - DAY for epoch in life.asked)
    assert len(life.done) == len(set(life.done))
    assert (life.ended_at is not None) == (set(life.seals) == {0, 1, 2})
    assert life.ended_at is None or finished(SURVEY, life.seals.values(), life.ended_at)
