"""What the clock asks for in the life of a survey: L1 to L4."""

from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.intake import Action, Due, due, finished
from deniable.messages import Schedule
from deniable.messages.receipt import KEPT_SECONDS
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


def seal(*epochs: int) -> list[Due]:
    return [Due(Action.SEAL, epoch) for epoch in epochs]


def prune(*epochs: int) -> list[Due]:
    return [Due(Action.PRUNE, epoch) for epoch in epochs]


def test_before_the_first_grace_is_over_nothing_is_due() -> None:
    for now in (0, START - 1, START + DAY, CLOSES[0] - 0.001):
        assert due(SURVEY, [], None, now) == []


def test_l1_an_epoch_is_sealed_when_its_grace_is_over() -> None:
    assert due(SURVEY, [], None, CLOSES[0]) == seal(0)
    assert due(SURVEY, [], None, CLOSES[1] + 1) == seal(0, 1)
    assert due(SURVEY, [Sealed(0, CLOSES[0], CLOSES[1])], None, CLOSES[1]) == seal(1)


def test_l1_when_a_survey_was_ended_what_had_begun_is_sealed_at_once() -> None:
    opens = SURVEY.schedule.opens(1)
    assert due(SURVEY, [], opens - 1, opens - 1) == seal(0)
    assert due(SURVEY, [], opens, opens) == seal(0, 1)
    # What begins after the end is sealed in its time: another's clock may have run ahead.
    assert due(SURVEY, [Sealed(0, opens, CLOSES[0])], opens - 1, CLOSES[1] - 1) == []
    assert due(SURVEY, [Sealed(0, opens, CLOSES[0])], opens - 1, CLOSES[1]) == seal(1)


def test_l2_receipts_are_pruned_a_day_after_the_seal_that_stands() -> None:
    late = CLOSES[0] + 1_000
    held = [Sealed(0, late)]
    assert due(SURVEY, held, None, late + KEPT_SECONDS - 1) == seal(1)
    assert due(SURVEY, held, None, late + KEPT_SECONDS) == [*seal(1), *prune(0)]
    assert due(SURVEY, [Sealed(0, late, late + DAY)], None, CLOSES[1]) == seal(1)


def test_l3_a_survey_ends_with_its_last_seal() -> None:
    two = [Sealed(0, CLOSES[0], CLOSES[1]), Sealed(1, CLOSES[1], CLOSES[2])]
    assert due(SURVEY, two, None, CLOSES[2] - 1) == []
    assert due(SURVEY, two, None, CLOSES[2]) == [*seal(2), END]
    assert due(SURVEY, [*two, Sealed(2, CLOSES[2])], None, CLOSES[2]) == [END]
    assert due(SURVEY, [*two, Sealed(2, CLOSES[2])], CLOSES[2], CLOSES[2]) == []


def test_l3_a_last_epoch_that_was_sealed_early_ends_nothing() -> None:
    assert due(SURVEY, [Sealed(2, START)], None, START) == []
    assert due(SURVEY, [Sealed(2, START)], None, CLOSES[1]) == [*seal(0, 1), END, *prune(2)]


def test_l4_what_is_done_is_not_asked_for_again_whatever_the_clock_says() -> None:
    everything = [Sealed(epoch, CLOSES[2], CLOSES[2] + DAY) for epoch in range(3)]
    for now in (0, START, CLOSES[0], CLOSES[2] + 10 * DAY):
        assert due(SURVEY, everything, CLOSES[2], now) == []
    assert due(SURVEY, [Sealed(0, CLOSES[0])], None, 0) == []


def test_a_survey_is_finished_when_all_is_pruned_and_it_has_ended() -> None:
    everything = [Sealed(epoch, CLOSES[2], CLOSES[2] + DAY) for epoch in range(3)]
    assert finished(SURVEY, everything, CLOSES[2])
    assert not finished(SURVEY, everything, None)
    assert not finished(SURVEY, [*everything[:2], Sealed(2, CLOSES[2])], CLOSES[2])
    assert not finished(SURVEY, everything[:2], CLOSES[2])


@settings(derandomize=True, deadline=None)
@given(
    clock=st.lists(st.integers(START - DAY, START + 8 * DAY), max_size=20),
    ended=st.none() | st.integers(START - DAY, START + 5 * DAY),
)
@example(clock=[START + 8 * DAY, START, START + 8 * DAY], ended=None)
def test_whatever_the_clock_does_each_is_done_once_and_in_order(
    clock: list[int], ended: int | None
) -> None:
    seals: dict[int, Sealed] = {}
    ended_at = ended
    done: list[Due] = []
    for now in [*clock, START + 20 * DAY, START + 22 * DAY]:
        for each in due(SURVEY, seals.values(), ended_at, now):
            done.append(each)
            match each:
                case Due(Action.SEAL, int(epoch)):
                    early = ended_at is not None and ended_at >= SURVEY.schedule.opens(epoch)
                    assert now >= CLOSES[epoch] or early
                    seals[epoch] = Sealed(epoch, now)
                case Due(Action.PRUNE, int(epoch)):
                    assert now - seals[epoch].sealed_at >= KEPT_SECONDS
                    seals[epoch] = Sealed(epoch, seals[epoch].sealed_at, now)
                case Due(Action.END):
                    assert len(seals) == 3
                    ended_at = now
    assert len(done) == len(set(done))
    assert set(done) == {*seal(0, 1, 2), *prune(0, 1, 2), *([] if ended is not None else [END])}
    assert finished(SURVEY, seals.values(), ended_at)
