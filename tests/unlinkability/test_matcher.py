"""The matcher itself, on trails that are made up: it accuses nobody, and sees what it says it sees.

``FALSE_ALARM`` bounds that a world without a leak is accused; the seeds here are fixed.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.support.surveys import START
from tests.unlinkability.matcher import Verdict, join, smallest_share, smallest_shift
from tests.unlinkability.people import EPOCH_SECONDS, HALF
from tests.unlinkability.trails import Pairing, Trail

_Change = Callable[[Random, Trail, Trail], Trail]


def made_up(devices: int, epochs: int, change: _Change, seed: int = 0) -> list[Pairing]:
    """Return trails that share nothing, but for what a change makes of the right ones."""
    chance = Random(seed)
    pairings = []
    for epoch in range(epochs):
        begin = START + epoch * EPOCH_SECONDS
        sides = [
            [
                Trail(device, begin + at + HALF * chance.random(), chance.randbytes(64), (259, 256))
                for device in range(devices)
            ]
            for at in (0.0, HALF)
        ]
        right = [change(chance, *pair) for pair in zip(*sides, strict=True)]
        chance.shuffle(right)
        pairings.append(Pairing(sides[0], right))
    return pairings


def unchanged(_chance: Random, _left: Trail, right: Trail) -> Trail:
    return right


def test_trails_that_share_nothing_are_matched_by_chance_alone() -> None:
    verdicts = [join(made_up(40, 4, unchanged, seed)) for seed in range(20)]
    assert all(not verdict.leaks for verdict in verdicts)
    # Two epochs each, one right pair an epoch: Poisson of 40, 80 or more two times in 10^8.
    assert sum(verdict.hits for verdict in verdicts) < 80
    # Each is standard normal: the sum of 20 squares is below 2 or above 80 one time in 10^7.
    for trait in ("interval", "hour", "order"):
        assert 2 < sum(verdict.z[trait] ** 2 for verdict in verdicts) < 80
    # What all have alike tells nothing.
    assert {(each.z["answer sizes"], each.rank["answer sizes"]) for each in verdicts} == {(0, 0.5)}


@pytest.mark.parametrize("devices", [60, pytest.param(250, marks=pytest.mark.long)])
def test_the_power_that_is_stated_is_there(devices: int) -> None:
    epochs = 4
    pairs = devices * epochs // 2

    def seen(share: float, change: _Change) -> Verdict:
        def some(chance: Random, left: Trail, right: Trail) -> Trail:
            return change(chance, left, right) if chance.random() < share else right

        return join(made_up(devices, epochs, some))

    def same_bytes(chance: Random, left: Trail, right: Trail) -> Trail:
        return replace(right, content=right.content + left.content[:12])

    def same_order(chance: Random, left: Trail, right: Trail) -> Trail:
        return replace(right, at=left.at + HALF + chance.uniform(-7200, 7200))

    # Who is found has rank 1, so that the mean rises by half the share of those who are.
    assert "hits" in seen(smallest_share(pairs, epochs // 2), same_bytes).leaks
    assert "bytes" in seen(2 * smallest_shift(pairs), same_bytes).leaks
    assert "all together" in seen(2.5 * smallest_shift(pairs), same_order).leaks
