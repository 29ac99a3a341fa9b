"""Discrete Laplace noise: its exact law, what it costs, and what a release promises of it."""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.central_model import laplace
from deniable.central_model.laplace import DiscreteLaplace, LaplaceRelease, Neighbours, Query
from deniable.mechanisms import Draw, InvalidPrivacyParameter, Number
from deniable.mechanisms.mechanism import uniform_below
from tests.mechanisms.laws import undrawable
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(150))

WORD = 1 << 64


def seeded(seed: int, taken: list[int] | None = None) -> Draw:
    source = random.Random(seed)

    def draw() -> int:
        word = source.getrandbits(64)
        if taken is not None:
            taken.append(word)
        return word

    return draw


def listed(*words: int) -> Draw:
    return iter(words).__next__


def power_bounds(scale: Fraction, distance: int) -> tuple[Fraction, Fraction]:
    """Return Fractions around e^(-distance/scale), from the bare series."""
    below, above = exp_bounds(distance / scale)
    return 1 / above, 1 / below


def probability_bounds(scale: Fraction, z: int) -> tuple[Fraction, Fraction]:
    """Return Fractions around P(z) = r^|z| (1 - r)/(1 + r)."""
    (low, high), (r_low, r_high) = power_bounds(scale, abs(z)), power_bounds(scale, 1)
    return low * (1 - r_high) / (1 + r_high), high * (1 - r_low) / (1 + r_low)


def tail_bounds(scale: Fraction, distance: int) -> tuple[Fraction, Fraction]:
    """Return Fractions around P(|Z| >= distance) = 2 r^distance/(1 + r) for distance >= 1."""
    (low, high), (r_low, r_high) = power_bounds(scale, distance), power_bounds(scale, 1)
    return 2 * low / (1 + r_high), 2 * high / (1 + r_low)


@pytest.mark.parametrize("bound", some(range(1, 40)))
def test_every_integer_below_the_bound_has_one_word_and_the_others_are_rejected(bound: int) -> None:
    size = 1 << (bound - 1).bit_length()
    values, rejected = [], 0
    for low in range(size):
        # Only the low bits count; a rejected word is followed by another, here by 0.
        words = iter((low + (WORD - size), 0))
        value = uniform_below(bound, words.__next__)
        if not list(words):
            assert value == 0
            rejected += 1
        else:
            values.append(value)
    assert values == list(range(bound))
    assert rejected == size - bound < bound


def test_large_bounds_take_several_words_the_first_on_top() -> None:
    bound = 5 * WORD  # 67 bits
    for most, words, value in (
        (bound, (4, 7), 4 * WORD + 7),
        (bound, (WORD - 8 + 4, WORD - 1), bound - 1),
        (bound, (5, 0, 7, WORD - 1, 0, 0), 0),
        (WORD, (WORD - 1,), WORD - 1),
        (WORD + 1, (1, 0), WORD),
    ):
        assert uniform_below(most, listed(*words)) == value


# From uniform integers to the law: all ways through the sampler, each with its exact probability.


@lru_cache
def exp_chance(g: Fraction) -> Fraction:
    """Return e^-g by the series, rounded to 2^-64, so that products of many stay short."""
    return Fraction(round((1 << 64) / exp_bounds(g)[1]), 1 << 64)


class Ways:
    """Follows every way through a sampler that is likelier than ``least``.

    A way is the list of its turns: how each trial came out and which integer was drawn at first.
    Drawing a second integer means that the attempt was rejected, where the way ends: attempts are
    independent and alike, so one that succeeds has the law of the sample.
    """

    def __init__(self, least: Fraction) -> None:
        self._least = least
        self._left: list[tuple[int, ...]] = [()]

    def trial(self, numerator: int, denominator: int, draw: Draw) -> bool:
        chance = Fraction(numerator, denominator)
        return self._turn([1 - chance, chance]) == 1

    def trial_exp(self, numerator: int, denominator: int, draw: Draw) -> bool:
        chance = exp_chance(Fraction(numerator, denominator))
        return self._turn([1 - chance, chance]) == 1

    def uniform(self, bound: int, draw: Draw) -> int:
        if self._way:
            raise StopIteration
        return self._turn([Fraction(1, bound)] * bound)

    def _turn(self, chances: Sequence[Fraction]) -> int:
        at = len(self._way)
        if at == len(self._script):
            for turn, chance in enumerate(chances):
                if self._mass * chance >= self._least:
                    self._left.append((*self._script, turn))
            raise StopIteration
        turn = self._script[at]
        self._way.append(turn)
        self._mass *= chances[turn]
        return turn

    def law(self, sample: Callable[[], int]) -> dict[int, Fraction]:
        """Return how likely the ways are, all together, that end in each sample."""
        found: dict[int, Fraction] = defaultdict(Fraction)
        while self._left:
            self._script = self._left.pop()
            self._way: list[int] = []
            self._mass = Fraction(1)
            try:
                found[sample()] += self._mass
            except StopIteration:
                continue
        return found


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1)])
def test_a_trial_succeeds_for_exactly_its_share_of_the_integers(
    chance: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for denominator in (chance.denominator, 3 * chance.denominator):
        numerator = int(chance * denominator)
        monkeypatch.setattr(laplace, "uniform_below", Mock(side_effect=range(denominator)))
        trials = [laplace._bernoulli(numerator, denominator, listed()) for _ in range(denominator)]
        assert sum(trials) == numerator


@pytest.mark.parametrize("g", [Fraction(0), Fraction(1, 3), Fraction(4, 5), Fraction(1)])
def test_the_exponential_trial_has_exactly_its_chance(
    g: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One way for each K, and two more where one falls below the least: that much is not followed.
    least = Fraction(1, 10**30)
    ways = Ways(least)
    monkeypatch.setattr(laplace, "_bernoulli", ways.trial)
    law = ways.law(lambda: laplace._bernoulli_exp(g.numerator, g.denominator, listed()))
    below, above = exp_bounds(g)
    assert 1 / above - 2 * least <= law[True] <= 1 / below
    assert 1 - 2 * least <= law[True] + law[False] <= 1


@pytest.mark.parametrize(
    "scale", ["1/40", "1", "5/2", pytest.param("17/3", marks=pytest.mark.long)]
)
def test_the_ways_through_the_sampler_add_up_to_the_law(
    scale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise, ways = DiscreteLaplace(Fraction(scale)), Ways(Fraction(1, 10**15))
    monkeypatch.setattr(laplace, "_bernoulli", ways.trial)
    monkeypatch.setattr(laplace, "_bernoulli_exp", ways.trial_exp)
    monkeypatch.setattr(laplace, "uniform_below", ways.uniform)
    law = ways.law(noise.sample)
    accepted = sum(law.values())
    # For each of up to 17 first integers the ways end in a few turns less likely than 1e-15, which
    # are left out; that and the rounded chances, over accepted > 1/2, stay below the tolerance.
    tolerance = Fraction(1, 10**12)
    for z in range(-int(20 * noise.scale) - 1, int(20 * noise.scale) + 2):
        below, above = probability_bounds(noise.scale, z)
        assert below - tolerance <= law[z] / accepted <= above + tolerance
        assert law[z] == law[-z]
    assert accepted > Fraction(49, 100)


def test_by_default_the_operating_system_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    source, expected = random.Random(7), DiscreteLaplace("2.5").sample(seeded(7))
    monkeypatch.setattr(os, "urandom", lambda n: source.getrandbits(8 * n).to_bytes(n, "big"))
    assert DiscreteLaplace("2.5").sample() == expected


scales = st.one_of(
    st.sampled_from([Fraction(1, 40), Fraction(1), Fraction(2) ** 256]),
    st.fractions(Fraction(1, 40), 10**6, max_denominator=10**6),
)


@PROPERTY
@given(scales, st.integers(-(10**6), 10**6))
def test_the_loss_of_a_shift_is_the_largest_log_ratio(scale: Fraction, shift: int) -> None:
    # ln P(z)/P(z + shift) = (|z + shift| - |z|)/s.
    noise = DiscreteLaplace(scale)
    zs = [0, shift, -shift, -shift // 2, 1, -1, 10**9, -(10**9)]
    assert noise.loss(shift) == max((abs(z + shift) - abs(z)) / scale for z in zs)
    assert noise.loss(shift) == abs(shift) * noise.loss(1)
    assert noise.loss(1) == 1 / noise.scale


@pytest.mark.parametrize("scale", ["1/40", "1/3", "1", "5/2", "100"])
def test_the_tail_and_the_variance_are_those_of_the_law(scale: str) -> None:
    noise = DiscreteLaplace(Fraction(scale))
    s = noise.scale
    assert noise.tail(0) == noise.tail(-1) == 1
    for distance in (1, 2, 7, int(10 * s) + 1):
        if distance <= 80 * s:
            assert noise.tail(distance) == pytest.approx(
                float(tail_bounds(s, distance)[0]), rel=1e-9
            )
    # The variance is 2 sum_{z >= 1} z^2 P(z) = sum_{j >= 1} (2j - 1) P(|Z| >= j).
    terms = (float(2 * j - 1) * noise.tail(j) for j in range(1, int(60 * s) + 2))
    assert noise.variance == pytest.approx(sum(terms), rel=1e-9)


@pytest.mark.parametrize("scale", ["1/40", "5/2", "1234.5"])
@pytest.mark.parametrize("level", [0.01, 0.95, 1 - 2**-40])
@pytest.mark.parametrize("draws", [1, 100])
def test_the_bound_is_the_smallest_that_holds_at_its_level(
    scale: str, level: float, draws: int
) -> None:
    # All draws within [-b, b]: (1 - P(|Z| >= b + 1))^draws, by the bare series.
    s = Fraction(scale)
    b = DiscreteLaplace(s).bound(level, draws)
    with pytest.raises(ValueError, match="level must be in"):
        DiscreteLaplace(s).bound(level - 1)
    assert (1 - tail_bounds(s, b + 1)[1]) ** draws >= Fraction(level)
    if b > 0:
        assert (1 - tail_bounds(s, b)[0]) ** draws < Fraction(level)


@pytest.mark.parametrize("scale", [0, "0.024", -1, 2**256 + 1, Fraction(1, 41)])
def test_the_scale_lies_in_its_domain(scale: Number) -> None:
    with pytest.raises(InvalidPrivacyParameter, match="scale must be in"):
        DiscreteLaplace(scale)


COUNTS = {"devices": Query(1), "ages": Query(1, cells=4)}
added: Callable[..., LaplaceRelease] = partial(LaplaceRelease, neighbours=Neighbours.ADD_REMOVE)
counts_release: Callable[..., LaplaceRelease] = partial(added, COUNTS)


@PROPERTY
@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 4)), min_size=1, max_size=4),
    st.fractions(Fraction(1, 1000), 40, max_denominator=10**6),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(7, 3)]),
    st.data(),
)
def test_neighbouring_data_lose_exactly_epsilon_at_most(
    shapes: list[tuple[int, int]], epsilon: Fraction, step: Fraction, data: st.DataObject
) -> None:
    queries = {f"q{i}": Query(d * step, cells) for i, (d, cells) in enumerate(shapes)}
    release = added(queries, epsilon, step=step)
    # Spread each query's change over its cells in any way; the losses of all cells add up, and a
    # change that uses the sensitivities up loses epsilon, not more and not less.
    loss = Fraction(0)
    for sensitivity, cells in shapes:
        cuts = st.lists(st.integers(0, sensitivity), min_size=cells - 1, max_size=cells - 1)
        for start, end in pairwise([0, *sorted(data.draw(cuts)), sensitivity]):
            loss += release.noise.loss(data.draw(st.sampled_from([-1, 1])) * (end - start))
    assert loss == epsilon


@PROPERTY
@given(
    st.lists(st.integers(-(10**30), 10**30), min_size=5, max_size=5),
    st.integers(0, 2**32),
    st.sampled_from(["1", "0.01", Fraction(7, 3)]),
)
def test_noise_is_added_in_whole_steps_and_knows_nothing_of_the_values(
    steps: list[int], seed: int, step: Number
) -> None:
    # Same words: the same noise, and as many of them, whatever the values.
    unit = Fraction(step)
    queries = {"one": Query(unit), "four": Query(2 * unit, 4)}
    release = LaplaceRelease(queries, "0.1", neighbours=Neighbours.SUBSTITUTION, step=step)
    exact = [count * unit for count in steps]
    taken: tuple[list[int], list[int]] = ([], [])
    noisy = release.publish({"one": exact[:1], "four": exact[1:]}, seeded(seed, taken[0]))
    alone = release.publish({"four": [0] * 4, "one": [0]}, seeded(seed, taken[1]))
    assert taken[0] == taken[1]
    draw = seeded(seed)
    noise = [release.noise.sample(draw) * unit for _ in range(5)]
    assert [*alone["one"], *alone["four"]] == noise
    assert [*noisy["one"], *noisy["four"]] == [e + z for e, z in zip(exact, noise, strict=True)]


def test_published_numbers_are_exact_whatever_they_were_given_as() -> None:
    release = added({"q": Query("0.5", 4)}, 1, step="0.5")
    values: list[Number] = ["-2.5", Decimal("-2.50"), Fraction(-5, 2), -2]
    noisy = release.publish({"q": values}, seeded(3))["q"]
    noise = release.publish({"q": [0] * 4}, seeded(3))["q"]
    assert [a - b for a, b in zip(noisy, noise, strict=True)] == [Fraction(-5, 2)] * 3 + [-2]
    assert all(isinstance(number, Fraction) for number in noisy)


def test_the_error_covers_all_cells_together() -> None:
    release = counts_release("0.5")
    assert release.error(0.9) == release.noise.bound(0.9, draws=5)
    fine = added({"q": Query(1)}, 1, step="0.25")
    assert fine.error() == Fraction(fine.noise.bound(0.95), 4)
    assert added({"q": Query(1)}, 40).error(0.5) == 0


MARKER = 7_777_777


@pytest.mark.parametrize(
    ("value", "error", "reason"),
    [
        (float(MARKER), TypeError, "not float"),
        (Fraction(MARKER, 2), ValueError, "multiple of the step; round it first"),
        ("7777777.5", ValueError, "multiple of the step; round it first"),
        ("7777777x", InvalidPrivacyParameter, "must be a decimal"),
    ],
)
def test_a_value_that_is_not_exact_is_refused_without_draw_and_without_echo(
    value: object, error: type[Exception], reason: str
) -> None:
    values: list[Any] = [MARKER, 0, 0, value]
    with pytest.raises(error, match=f"value of ages.*{reason}") as refusal:
        counts_release("0.5").publish({"devices": [0], "ages": values}, undrawable)
    assert str(MARKER) not in str(refusal.value)


@pytest.mark.parametrize(
    "values",
    [
        *({}, {"devices": [MARKER]}, {"devices": [MARKER], "ages": [0] * 4, "more": [0]}),
        *({"devices": [MARKER], "ages": ages} for ages in ([0] * 3, {"7777777": 0})),
        *({"devices": [], "ages": [0] * 4}, {"devices": MARKER, "ages": [0] * 4}),
        {"devices": "7", "ages": [0] * 4},
        {"devices": [0], "ages": np.array([MARKER] * 4)},
    ],
)
def test_the_cells_are_those_declared_without_draw_and_without_echo(values: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"devices|ages") as refusal:
        counts_release("0.5").publish(values, undrawable)
    assert str(MARKER) not in str(refusal.value)


def test_nothing_of_the_values_stays_in_the_object() -> None:
    release = counts_release("0.5")
    release.publish({"devices": [MARKER], "ages": [MARKER] * 4})
    held = [getattr(release, name) for name in type(release).__slots__]
    assert str(MARKER) not in f"{release!r} {held}"
    assert repr(release) == (
        "LaplaceRelease(devices, ages; epsilon=1/2, neighbours=add-remove, step=1)"
    )
    assert repr(release.noise) == "DiscreteLaplace(4)"


@pytest.mark.parametrize(
    ("query", "step"),
    [
        *((Query(sensitivity), 1) for sensitivity in (0, -1, "0.5")),
        *((Query(1, cells), 1) for cells in (0, -1, True, 1.0)),  # type: ignore[arg-type]
        *((Query(1), step) for step in ("0.3", 0, -1)),
    ],
)
def test_a_query_has_a_sensitivity_in_steps_and_cells(query: Query, step: Number) -> None:
    with pytest.raises(ValueError, match=r"sensitivity of q must|step must|q must have"):
        added({"q": query}, 1, step=step)
    with pytest.raises(ValueError, match="at least one query"):
        added({}, 1)


@pytest.mark.parametrize("epsilon", [0, "0", "41", -1, Fraction(1, 2**300)])
def test_a_release_has_an_epsilon_that_can_be_met(epsilon: Number) -> None:
    with pytest.raises(InvalidPrivacyParameter, match=r"epsilon must be|scale must be"):
        counts_release(epsilon)
