"""What figures reveal: among how many devices one hides, and where it hides among none."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.accounting import shuffled_epsilon
from deniable.estimates import Histogram, estimate_histogram
from deniable.estimates.revealed import Revealed, Unbounded
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Enrolment, Manifest, Repeat, Schedule
from deniable.presenting import histogram_of
from deniable.presenting.revealed import revealed_at_worst
from deniable.reading import EpochCounts, EpochStanding, EpochState
from deniable.stores.values import Counts
from tests.support.effort import some
from tests.support.rsa_keys import RSA_KEYS
from tests.support.surveys import DAY, START, manifest

ISSUERS = (b"1" * 32, b"2" * 32)
MILLIONTH = Fraction(1, 10**6)


def _vouched(issuers: int, step: int = 100) -> Manifest:
    return manifest(enrolment=Enrolment("certificate", ISSUERS[:issuers]), minimum_reports=step)


def _read(survey: Manifest, parts: list[int], *epochs: int, sealed: bool = True) -> Histogram:
    standing = EpochStanding(EpochState.SEALED if sealed else EpochState.OPEN)
    by_issuer: Counts = {ISSUERS[i]: {0: part} for i, part in enumerate(parts)}
    told, counts = by_issuer if sealed else None, {0: sum(parts)}
    asked = epochs or (0,)
    read = [EpochCounts(survey.survey_id, at, counts, 0, standing, told) for at in asked]
    return histogram_of(survey, read)


def _among(revealed: Revealed) -> int | None:
    return None if revealed.epsilon is None else revealed.devices


def test_a_device_hides_among_the_smallest_group_that_figures_tell_apart() -> None:
    one, two = _vouched(1), _vouched(2)
    for survey, parts, sealed, group in (
        (one, [199], True, 199),  # fewer than two steps
        (one, [200], True, 100),  # perhaps two, and figures between
        (two, [199], True, 199),
        (two, [150, 150], True, None),  # steps crossed with issuers: perhaps a single report
        (two, [300], True, 100),  # sealed, and issuers are not shown apart
        (two, [300], False, None),  # they may be, once it is sealed
        (_vouched(1, 1), [5000], True, None),
        (manifest(minimum_reports=100), [199], True, 199),
        (manifest(minimum_reports=100), [200], True, None),  # open: a step of fakes but for one
        (manifest(minimum_reports=100, repeat=Repeat("memoised", 2)), [150], True, None),
    ):
        revealed = _read(survey, parts, sealed=sealed).revealed()
        assert _among(revealed) == group, (parts, revealed.why)
        if group is not None:
            assert revealed.epsilon == shuffled_epsilon(survey.mechanism, group, MILLIONTH)


def test_fakes_come_off_each_group() -> None:
    figures = _read(_vouched(1), [250])
    assert [_among(figures.revealed(honest=share)) for share in (1, 0.9, 0.7, 0.6)] == [
        *(100, 75, 25),
        None,  # all of a step
    ]
    for share in ("90", "90.0001", "99.9999999"):
        sentence = figures.revealed(honest=float(share) / 100).sentence
        assert f"This holds if at least {share} % of the devices" in sentence
    with pytest.raises(ValueError, match="share of honest devices"):
        figures.revealed(honest=0)


def test_epochs_compose() -> None:
    survey = _vouched(1)
    together = _read(survey, [150], 0, 1, 2).revealed()
    alone = shuffled_epsilon(survey.mechanism, 150, MILLIONTH / 3)
    assert (together.epochs, together.epsilon) == (3, 3 * alone)
    assert "figures of 3 epochs together are" in together.sentence
    anybody = replace(together, epsilon=None, level=None, why=Unbounded.OPEN)
    assert "may reveal as much as all reports of a device, up to 3: anybody" in anybody.sentence
    many = Revealed.of(survey.mechanism, [(n, n) for n in range(150, 170)], step=100)
    assert many.epsilon == 20 * shuffled_epsilon(survey.mechanism, 150, MILLIONTH / 20)


def test_delta_is_small_beside_one_in_all_reports() -> None:
    for n in (2, 999, 10**4, 10**7 - 1):
        revealed = Histogram.of_counts(RandomisedResponse(2, "1"), [n - 1, 1]).revealed()
        assert revealed.delta * n <= Fraction(1, 100)


def test_the_sentence_tells_the_promise_first_and_never_in_its_place() -> None:
    rating = Histogram.of_counts(RandomisedResponse(5, "1"), [1032, 1009, 1236, 1479, 1610])
    assert rating.revealed().sentence == (
        "One report makes a guess between two answers right at most 62.8 % of the time; without "
        "it, half of the time. The report is at most 2.72 times as likely with the person's answer "
        "as with any other. Further reports of the same person may reveal more. "
        "These published figures are at most 1.07 times as likely with the answer of one of "
        "6,366 honest devices as with any other, except with a chance of 1 in 1,000,000. This "
        "holds if all of the devices that reported are honest."
    )
    kept = estimate_histogram(manifest(repeat=Repeat("memoised", 2)), 0, [1, 2, 3, 4, 5])
    assert kept.revealed().sentence.endswith(
        "These figures may reveal as much as a single report: devices keep their responses, and "
        "two histograms that differ by one device show the response that it keeps."
    )


def _chance_above(odds: float, n: int) -> float:
    """Return the chance that the histogram of n devices favours one's answer by more than odds.

    Of randomised response with three categories and epsilon 1; the device has the answer 0 and all
    others have 2. The histogram's law with the device's answer x is a multinomial one times
    sum_y h_y P(x, y)/(n P(2, y)).
    """
    low, high = 1 / (math.e + 2), math.e / (math.e + 2)
    near = np.arange(n + 1)
    near = near[np.abs(near - n * low) < 9 * math.sqrt(n * low)]
    h0, h1 = near[:, None], near[None, :]
    mass = stats.binom.pmf(h0, n, low) * stats.binom.pmf(h1, n - h0, low / (1 - low))
    rest = (n - h0 - h1) * low / high
    with_0, with_1 = (math.e * h0 + h1 + rest) / n, (h0 + math.e * h1 + rest) / n
    # With 2 it is the multinomial law itself.
    above = with_0 / np.minimum(with_1, 1) > odds
    return float((mass * with_0)[above].sum())


@pytest.mark.parametrize("n", some([2000, 6366]))
def test_the_stated_odds_are_exceeded_no_more_often_than_the_sentence_says(n: int) -> None:
    revealed = Histogram.of_counts(RandomisedResponse(3, "1"), [n - 2, 1, 1]).revealed()
    stated = r"figures are at most ([\d.]+) times.*chance of 1 in ([\d,]+)\."
    said = re.search(stated, revealed.sentence)
    assert said is not None
    assert revealed.epsilon is not None
    odds, chance = float(said[1]), 1 / int(said[2].replace(",", ""))
    assert _chance_above(odds, n) <= chance
    assert _chance_above(1 + 0.8 * (odds - 1), n) > chance / 100  # and it says no nonsense
    # Delta is no such chance: the odds of epsilon are exceeded far more often.
    assert _chance_above(math.exp(revealed.epsilon), n) > 100 * chance


def test_before_there_are_reports_the_worst_is_told() -> None:
    worst = revealed_at_worst(_vouched(1))
    assert worst.startswith(
        "at worst, for one epoch and a reader who sees nothing else: figures are at "
    )
    assert "one of 100 honest devices" in worst
    for survey in (_vouched(2), manifest(minimum_reports=100), _vouched(1, 0)):
        assert "figures may reveal as much as a single report: " in revealed_at_worst(survey)


def test_the_collector_itself_has_a_number_only_where_nobody_can_tell_whose_a_report_is() -> None:
    keys = tuple(key.modulus for key in RSA_KEYS[:2])
    enrolment = Enrolment("blind", issuer="issuer.example.org", keys=keys)
    schedule = Schedule(START, DAY, 2, DAY)
    blind = manifest(enrolment=enrolment, schedule=schedule, minimum_reports=100)
    kept = replace(blind, repeat=Repeat("memoised", 2))
    for survey, relayed, epochs, distrusted, told in (
        (blind, True, (0,), 0, True),
        (blind, False, (0,), 0, False),
        (_vouched(1), True, (0,), 0, False),  # the issuer knows account and key
        (blind, True, (0, 1), 0, False),
        (kept, True, (0,), 0, False),
        (blind, True, (0,), 250, False),
    ):
        standing = EpochStanding(EpochState.SEALED)
        told_apart = (distrusted, standing, None, relayed)
        read = [EpochCounts(survey.survey_id, at, {0: 250}, *told_apart) for at in epochs]
        figures = histogram_of(survey, read)
        assert figures.anonymity_set == (250 if survey.enrolment.mode == "blind" else None)
        revealed = figures.revealed(honest=0.9)
        notes = [note for note in revealed.document().notes if note.startswith("The collector its")]
        assert bool(notes) == (revealed.to_collector is not None) == told
        if told:
            assert revealed.to_collector is not None
            # Of all reports, not of the 100 that readers may set apart; a tenth is fake.
            expected = shuffled_epsilon(survey.mechanism, 225, MILLIONTH)
            assert revealed.to_collector.epsilon == expected
            assert "one of 225 honest devices" in notes[0]
            assert figures.revealed(honest=0.001).to_collector is None
