"""What the clock asks for in the life of a survey, and reports bear out: L1 to L5."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.intake import Action, Due, due, finished
from deniable.intake.life import BELIEVED_SECONDS
from deniable.messages import Schedule
from deniable.messages.schedule import EARLY_SECONDS
from deniable.stores.values import KEPT_SECONDS
from tests.support.effort import effort
from tests.support.surveys import DAY, START, manifest

SURVEY = manifest(schedule=Schedule(START, DAY, 3, DAY // 2))
CLOSES = [SURVEY.schedule.closes(epoch) for epoch in range(3)]
END = Due(Action.END)


@dataclass(frozen=True)
class Sealed:
    """A seal, as far as it matters."""

    epoch: int
    sealed_at: int
    pruned_at: int | None = None


def owed(
    seals: Iterable[Sealed], ended_at: int | None, now: float, *, newest: int | None = 2
) -> list[Due]:
    """Return what is due, reports of so many epochs having been counted."""
    return due(SURVEY, seals, ended_at, newest, now)


def ask(*epochs: int) -> list[Due]:
    return [Due(Action.ASK, epoch) for epoch in epochs]


def seal(*epochs: int) -> list[Due]:
    return [Due(Action.SEAL, epoch) for epoch in epochs]


def prune(*epochs: int) -> list[Due]:
    return [Due(Action.PRUNE, epoch) for epoch in epochs]


def test_before_the_first_grace_is_over_nothing_is_due() -> None:
    for now in (0, START - 1, START + DAY, CLOSES[0] - 0.001):
        assert owed([], None, now) == []


def test_l1_an_epoch_is_sealed_when_its_grace_is_over() -> None:
    assert owed([], None, CLOSES[0]) == seal(0)
    assert owed([], None, CLOSES[1] + 1) == seal(0, 1)
    assert owed([Sealed(0, CLOSES[0], CLOSES[1])], None, CLOSES[1]) == seal(1)


def test_l1_when_a_survey_was_ended_what_had_begun_is_sealed_at_once() -> None:
    opens = SURVEY.schedule.opens(1)
    assert owed([], opens - 1, opens - 1) == seal(0)
    assert owed([], opens, opens) == seal(0, 1)
    # What begins after the end is sealed in its time: another's clock may have run ahead.
    assert owed([Sealed(0, opens, CLOSES[0])], opens - 1, CLOSES[1] - 1) == []
    assert owed([Sealed(0, opens, CLOSES[0])], opens - 1, CLOSES[1]) == seal(1)


def test_l2_receipts_are_pruned_a_day_after_the_seal_that_stands() -> None:
    late = CLOSES[0] + 1_000
    held = [Sealed(0, late)]
    assert owed(held, None, late + KEPT_SECONDS - 1) == seal(1)
    assert owed(held, None, late + KEPT_SECONDS) == [*seal(1), *prune(0)]
    assert owed([Sealed(0, late, late + DAY)], None, CLOSES[1]) == seal(1)


def test_l3_a_survey_ends_with_its_last_seal() -> None:
    two = [Sealed(0, CLOSES[0], CLOSES[1]), Sealed(1, CLOSES[1], CLOSES[2])]
    assert owed(two, None, CLOSES[2] - 1) == []
    assert owed(two, None, CLOSES[2]) == [*seal(2), END]
    assert owed([*two, Sealed(2, CLOSES[2])], None, CLOSES[2]) == [END]
    assert owed([*two, Sealed(2, CLOSES[2])], CLOSES[2], CLOSES[2]) == []


def test_l3_a_last_epoch_that_was_sealed_early_ends_nothing() -> None:
    assert owed([Sealed(2, START)], None, START) == []
    assert owed([Sealed(2, START)], None, CLOSES[1]) == [*seal(0, 1), END, *prune(2)]


def test_l4_what_is_done_is_not_asked_for_again_whatever_the_clock_says() -> None:
    everything = [Sealed(epoch, CLOSES[2], CLOSES[2] + DAY) for epoch in range(3)]
    for now in (0, START, CLOSES[0], CLOSES[2] + 10 * DAY):
        assert owed(everything, CLOSES[2], now) == []
    assert owed([Sealed(0, CLOSES[0])], None, 0) == []


def test_a_survey_is_finished_when_all_is_pruned_and_it_has_ended() -> None:
    everything = [Sealed(epoch, CLOSES[2], CLOSES[2] + DAY) for epoch in range(3)]
    assert finished(SURVEY, everything, CLOSES[2])
    assert not finished(SURVEY, everything, None)
    assert not finished(SURVEY, [*everything[:2], Sealed(2, CLOSES[2])], CLOSES[2])
    assert not finished(SURVEY, everything[:2], CLOSES[2])


def test_l5_what_no_report_bears_out_is_not_sealed() -> None:
    for now in (*CLOSES, CLOSES[2] + 80 * DAY):
        assert owed([], None, now, newest=None) == []
    assert owed([], None, CLOSES[2], newest=0) == seal(0)
    # A later epoch that has begun shows what is over, whatever the time.
    assert owed([], None, CLOSES[2] + 80 * DAY, newest=2) == [*seal(0), *ask(1, 2)]
    # Who ended it has had the word.
    assert owed([], CLOSES[2] - 1, CLOSES[2] + 80 * DAY, newest=None) == seal(0, 1, 2)


def test_l5_behind_the_time_in_which_it_is_believed_the_clock_is_not() -> None:
    last = CLOSES[0] + BELIEVED_SECONDS
    assert owed([], None, last - 1, newest=0) == seal(0)
    assert owed([], None, last, newest=0) == ask(0)
    # Nor does anything end that is to be asked for.
    two = [Sealed(0, CLOSES[0], CLOSES[1]), Sealed(1, CLOSES[1], CLOSES[2])]
    assert owed(two, None, CLOSES[2] + BELIEVED_SECONDS) == ask(2)


@dataclass
class Life:
    """The survey, and devices that know the time.

    Attributes:
        time: as it is.
        newest: of the epochs of which a report was counted.
    """

    time: int = START
    newest: int | None = None
    seals: dict[int, Sealed] = field(default_factory=dict)
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
        for each in owed(self.seals.values(), self.ended_at, now, newest=self.newest):
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
                    self.seals[epoch] = Sealed(epoch, now)
                case Due(Action.PRUNE, int(epoch)):
                    kept = self.seals[epoch]
                    assert now - kept.sealed_at >= KEPT_SECONDS
                    self.seals[epoch] = Sealed(epoch, kept.sealed_at, now)
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
