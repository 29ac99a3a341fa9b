"""What sentences say of shares near 0 and 1, against the exact law of every count."""

import re

import numpy as np
import pytest
from scipy import stats

from deniable.estimates import Estimate, Histogram
from deniable.estimates.frequencies import most_by_chance
from deniable.mechanisms import RandomisedResponse
from deniable.presenting.estimate import estimate_statement
from tests.support.effort import some

N = 200
TRUTHS = (0.0, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 0.7, 0.98, 1.0)


def _said(share: Estimate) -> tuple[float, float]:
    """Return the limits that a sentence states, as it rounds them."""
    if limit := re.match(r"Fewer than ([\d.]+) %", share.sentence):
        return 0.0, float(limit[1]) / 100
    if limit := re.match(r"More than ([\d.]+) %", share.sentence):
        return float(limit[1]) / 100, 1.0
    return share.low, share.high


@pytest.mark.parametrize("epsilon", some(["3", "1", "6"]))
@pytest.mark.parametrize("categories", [2, 5])
def test_a_stated_limit_holds_as_often_as_its_level_says(epsilon: str, categories: int) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    q, kappa = float(mechanism.lie), float(mechanism.truth - mechanism.lie)
    shares = []
    for count in range(N + 1):
        rest = np.full(categories - 1, (N - count) // (categories - 1))
        rest[0] += N - count - rest.sum()
        shares.append(Histogram.of_counts(mechanism, [count, *rest.tolist()]).share("0"))
    said = np.array([_said(share) for share in shares])
    impossible = np.array([not 0 <= share.value <= 1 for share in shares])
    widths = np.array([share.high - share.low for share in shares])
    for share in shares:
        assert "-" not in estimate_statement(share)
        assert not re.search(r"\b\d{3,}\.\d %", estimate_statement(share).replace("100.0 %", ""))
    # No interval is shorter for an estimate that is further astray.
    values = np.array([share.value for share in shares])
    for beyond in (widths[values < 0], widths[values > 1]):
        assert beyond == pytest.approx(np.full(len(beyond), beyond[0]))
    for truth in TRUTHS:
        law = stats.binom.pmf(np.arange(N + 1), N, q + kappa * truth)
        holds = (said[:, 0] <= truth) & (truth <= said[:, 1])
        assert law[holds].sum() >= 0.93
        near = impossible & (abs(truth - (values > 1)) < widths)
        if law[near].sum() > 1e-12:  # of those in doubt beside a limit none misses
            assert holds[near].all()


@pytest.mark.parametrize("k", [50, 200])
def test_chance_exceeds_the_number_it_is_said_to_in_few_histograms(k: int) -> None:
    mechanism = RandomisedResponse(k, "1")
    law = np.full(k, float(mechanism.lie))
    law[0] = float(mechanism.truth)  # everybody has the first answer
    generator = np.random.default_rng(1)
    often = most_by_chance(k, 0.025)
    outside = np.array(
        [
            Histogram.of_counts(
                mechanism, generator.multinomial(20_000, law).tolist()
            ).outside.sum()
            for _ in range(200)
        ]
    )
    assert (outside > often).mean() < 0.05
    # The mean, which is no such limit.
    assert (outside > 0.025 * k / 2).mean() > 0.05


@pytest.mark.parametrize("counts", [(300, 300, 400), (1000, 0, 0), (1, 0, 0)])
def test_all_answers_together_are_those_of_all(counts: tuple[int, ...]) -> None:
    histogram = Histogram.of_counts(RandomisedResponse(3, "1"), counts)
    for share in (
        histogram.share(["0", "1", "2"]),
        histogram.share(["0", "1"]) + histogram.share("2"),
    ):
        assert (share.low, share.high) == pytest.approx((1, 1))
        assert re.match(r"All of the devices .* \(whatever was counted\)\.", share.sentence)
