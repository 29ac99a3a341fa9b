"""What a survey of a mean tells: the mean, and nothing else."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest

from deniable.estimates import Histogram, decoder_of, estimate_histogram
from deniable.mechanisms import MeanMatrix
from deniable.planning.specification import specified
from deniable.presenting.fields import histogram_csv
from tests.estimates.matrices import fewest_fakes, mean
from tests.support.entries import probability
from tests.support.surveys import manifest
from tests.vectors.mechanisms import MEAN

SMALL = MeanMatrix(5, tuple(map(tuple, MEAN["weights"])))
VALUES = [Fraction(10 + x) for x in range(5)]
MINUTES = manifest(
    categories=tuple(map(str, range(0, 245, 5))), specification=specified("mean", 49, "1")
)
LAST = MINUTES.mechanism.responses - 1


def expected_counts(answers: list[float], n: int) -> list[int]:
    law = decoder_of(MINUTES.mechanism).response_shares(np.array(answers))
    return [round(n * share) for share in law]


EVEN = [1 / 49] * 49
COUNTS = expected_counts(EVEN, 20_000)


def test_the_estimate_is_unbiased_and_its_variance_too_by_enumeration() -> None:
    answers = (0, 1, 4)
    rows = [[float(p) for p in map(Fraction, SMALL.row(x))] for x in answers]
    lam = np.mean(rows, axis=0) / SMALL.grid
    n, value, square, stated = 4, 0.0, 0.0, 0.0
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) != n:
            continue
        ways = comb(n, counts[0]) * comb(n - counts[0], counts[1])
        chance = ways * prod(float(p) ** c for p, c in zip(lam, counts, strict=True))
        found = mean(SMALL, counts, VALUES)
        value += chance * found.value
        square += chance * found.value**2
        stated += chance * found.standard_error**2
    assert value == pytest.approx(10 + sum(answers) / 3, rel=1e-12)
    assert stated == pytest.approx(square - value**2, rel=1e-9)


def test_noise_alone_is_bounded_by_that_of_some_answer() -> None:
    found = estimate_histogram(MINUTES, 0, COUNTS)
    n, rows = found.n, np.array([MINUTES.mechanism.row(x) for x in range(49)], dtype=float)
    assert isinstance(MINUTES.mechanism, MeanMatrix)
    g = np.array([5 * float(MINUTES.mechanism.stands_for(y)) for y in range(LAST + 1)])
    noise = (rows / MINUTES.mechanism.grid) @ g**2 - (5.0 * np.arange(49)) ** 2
    # The same devices in four epochs: a fourth of the noise, and the sampling of one.
    four = estimate_histogram(MINUTES, range(4), [4 * count for count in COUNTS])
    drawn = found.mean().standard_error ** 2 - noise.min() / n
    assert four.mean().standard_error ** 2 == pytest.approx(
        found.mean().standard_error ** 2 / 4 + 3 / 4 * drawn, rel=1e-3
    )


def test_epochs_are_compared_and_devices_in_both_widen_no_difference_but_a_mean() -> None:
    now, before = (
        estimate_histogram(MINUTES, epoch, counts)
        for epoch, counts in ((3, expected_counts([0.0] * 24 + [1 / 25] * 25, 20_000)), (2, COUNTS))
    )
    change = now.mean() - before.mean()
    assert change.value == pytest.approx(60, abs=0.1)
    assert change.distinguishable
    apart = np.hypot(now.mean().standard_error, before.mean().standard_error)
    assert change.standard_error == pytest.approx(apart, rel=1e-3)
    both = (now.mean() + before.mean()) * 0.5
    assert apart / 2 < both.standard_error < apart


QUESTIONS: list[Callable[[Histogram], object]] = [
    lambda it: it.share("5"),
    lambda it: it.query([1.0] * 49),
    lambda it: it.quantile(0.5),
    lambda it: it.between("5", "10"),
    lambda it: it.view("projected"),
    lambda it: it.changed_from(it),
    lambda _: decoder_of(MINUTES.mechanism).kernels(np.eye(49)[3]),
    lambda _: Histogram.of_counts(MINUTES.mechanism, COUNTS),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_else_is_asked_is_refused_with_what_to_do(
    question: Callable[[Histogram], object],
) -> None:
    with pytest.raises(ValueError, match='tells = "distribution"'):
        question(estimate_histogram(MINUTES, 0, COUNTS))


def test_every_surface_has_the_mean_and_no_shares() -> None:
    found = estimate_histogram(MINUTES, 0, COUNTS)
    assert found.categories == ()
    told = found.mean()
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert written["categories"] == []
    assert written["numeric"]["mean"]["estimate"] == told.value
    assert (written["numeric"]["quartiles"], written["numeric"]["bins"]) == ([], [])
    assert {row["response"] for row in written["responses"]} <= {*MINUTES.responses}
    assert all(len(column) == 1 for column in found.columns().values())
    assert "mean,120" in histogram_csv(found)
    text = " ".join(str(found).split())
    assert "Only the mean can be estimated from these reports: " in text
    assert "share" not in text.replace("shared", "")
    wide = estimate_histogram(MINUTES, 0, {0: 3, LAST: 4})
    assert "Mostly noise so far: at this epsilon, a 95 % interval of " in str(wide)
    one = estimate_histogram(MINUTES, 0, {3: 1})
    assert one.mean().low == 0
    assert one.mean().high == 240
    json.dumps(one.to_dict(), allow_nan=False)
    assert "Mostly noise so far." in [caution.text for caution in one.cautions]
    eager = replace(MINUTES, minimum_reports=0)
    assert not any(
        "at least 0" in caution.text for caution in estimate_histogram(eager, 0, COUNTS).cautions
    )
    # An estimate beyond the range has its interval at the end.
    beyond = estimate_histogram(MINUTES, 0, {LAST: 400, LAST - 1: 10}).mean()
    assert beyond.value > 240
    assert beyond.high == 240


def test_fakes_move_the_mean_as_said_and_too_many_are_seen() -> None:
    n, found = sum(COUNTS), estimate_histogram(MINUTES, 0, COUNTS)
    assert isinstance(MINUTES.mechanism, MeanMatrix)
    most = 5 * float(MINUTES.mechanism.stands_for(LAST))
    assert found.mean().influence == pytest.approx(most, rel=1e-9)
    assert found.poisoning.influence == pytest.approx(most / 240, rel=1e-9)
    poisoned = [*COUNTS[:-1], COUNTS[-1] + 1]
    after = estimate_histogram(MINUTES, 0, poisoned).mean().value
    assert (n + 1) * after - n * found.mean().value == pytest.approx(most, rel=1e-6)
    assert found.poisoning.fewest_fakes == 0
    many = estimate_histogram(MINUTES, 0, [*COUNTS[:-1], COUNTS[-1] + 20_000])
    assert 0 < many.poisoning.fewest_fakes <= 20_000
    assert many.impossible
    assert many.cautions[0].code == "not-to-be-used"


@pytest.mark.parametrize("answer", [0, 2, 4])
def test_honest_devices_are_flagged_no_more_often_than_said_by_enumeration(answer: int) -> None:
    # Twelve devices with one answer: every flag among all counts, with its chance.
    chances = [float(probability(SMALL, answer, y)) for y in range(3)]
    flagged, n, alarm = 0.0, 12, 0.2
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) == n and fewest_fakes(SMALL, counts, alarm):
            ways = comb(n, counts[0]) * comb(n - counts[0], counts[1])
            flagged += ways * prod(p**c for p, c in zip(chances, counts, strict=True))
    assert flagged <= alarm
