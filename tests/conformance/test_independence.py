"""What of a report tells its answer: all is found, how surely, and how seldom wrongly."""

from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from deniable.conformance.scenarios.noise import (
    DRAWS,
    FALSE_ALARM,
    Traits,
    tail,
    telling,
    traits,
)
from tests.support.effort import effort
from tests.support.entries import probability
from tests.support.processes import ROOT

OPEN = DRAWS["randomised-response"]
LEVEL = FALSE_ALARM / len(DRAWS)
DEALT = [answer for answer in range(OPEN.size) for _ in range(OPEN.reports)]


def sends(random: Random) -> list[list[Any]]:
    """Return the sends of as many reports as the kit asks for, of a right device."""

    def sent(number: int, now: float) -> Any:
        request = SimpleNamespace(
            device=f"device-{number // 60}",
            now=now,
            body=b"x" * 170,
            method="POST",
            path="/v1/reports",
            headers=(("content-length", "170"), ("user-agent", "x")),
        )
        return SimpleNamespace(request=request)

    return [
        [sent(number, at := random.uniform(1e9, 1e9 + 7200)), sent(number, at + 3600)]
        for number in range(len(DEALT))
    ]


@cache
def seen() -> Traits:
    return traits(sends(Random(7)), OPEN.size, sizes=True)


def test_a_tail_counts_both_sides_and_the_count_itself() -> None:
    for count, exact in ((0, 1 / 8), (3, 1 / 8), (1, 1 / 2), (2, 1 / 2)):
        assert tail(binom, count, 3, 0.5) == pytest.approx(min(1.0, 2 * exact))
    assert tail(hypergeom, 2, 4, 2, 2) == pytest.approx(2 / 6)


def test_of_a_right_device_no_trait_tells_an_answer() -> None:
    """Of 40 deals one is convicted with a probability of 8e-6 at most."""
    random = Random(7)
    for _ in range(effort(40)):
        random.shuffle(dealt := [*DEALT])
        assert not [*telling(seen(), dealt, LEVEL)]


@pytest.mark.parametrize("leak", ["order", "size", "head", "sends"])
def test_whatever_of_a_report_is_its_answer_is_found(leak: str) -> None:
    random = Random(8)
    random.shuffle(dealt := [*DEALT])
    reports = sends(random)
    dues = sorted(report[0].request.now for report in reports)
    for answer, report in zip(dealt, reports, strict=True):
        first, _ = report
        match leak:
            case "order":
                first.request.now = dues.pop(0 if answer == 0 else -1)
            case "size":
                first.request.body += bytes(answer)
            case "head":
                first.request.headers = (*first.request.headers, ("accept", "*" * answer))
            case "sends":
                del report[1 + (answer == 2) :]
    assert [*telling(traits(reports, OPEN.size, sizes=True), dealt, LEVEL)]


def power_of_traits(share: float) -> float:
    """Return how often a trait convicts that is one answer in a share of reports, else a coin."""
    classes = sum(len({*values}) for values in seen().values() if len({*values}) > 1)
    level = LEVEL / (classes * OPEN.size)
    having, others = np.arange(81), np.arange(161)
    chances: Any = binom.pmf(having, 80, (1 + share) / 2)[:, None] * binom.pmf(
        others, 160, (1 - share) / 2
    )
    sizes = having[:, None] + others
    law = hypergeom(240, 80, sizes)
    tails: Any = 2 * np.minimum(law.cdf(having[:, None]), law.sf(having[:, None] - 1))
    return float(np.sum(chances, where=tails < level))


def power_of_noise(draws: int, chance: float, shown: float, tested: int) -> float:
    """Return how often so many draws convict a device that draws likely responses too often."""
    level = LEVEL / 2 / tested
    counts = [count for count in range(draws + 1) if tail(binom, count, draws, chance) < level]
    return float(np.sum(binom.pmf(counts, draws, shown)))


def test_the_guide_states_the_power_of_the_kit() -> None:
    once, twice = (np.exp(e) / (np.exp(e) + 2) for e in (1, 2))
    tested = 2 * (OPEN.size + 1)
    half = {each: power_of_noise(80, once, each + (1 - each) * once, tested) for each in (0.8, 1)}
    rows = [
        ("No noise for one of the three answers", half[1]),
        ("No noise in 80 % of the reports of one answer", half[0.8]),
        ("All answers drawn at twice the epsilon", power_of_noise(240, once, twice, tested)),
        *(
            (
                f"A two-valued trait that reveals one answer in {each} % of reports",
                power_of_traits(each / 100),
            )
            for each in (40, 50, 60, 70)
        ),
    ]
    number = DRAWS["mean"]  # of which each response to each answer is a test
    row = probability(number.specification.mechanism(3, number.epsilon, "0"), 0, 0)
    biased = power_of_noise(number.reports, 0.5, float(row), 2 * number.size)
    rows += [("A mean, in 270 reports, that rounds numbers between rows down", biased)]
    guide = (ROOT / "docs/conformance.md").read_text()
    for what, power in rows:
        stated = f"{np.floor(power * 1000) / 10:.1f} %"
        assert f"| {what} | {stated} |" in guide
