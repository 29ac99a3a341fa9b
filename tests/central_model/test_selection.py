"""Private selection: every row is exact, and no neighbouring row differs by more than promised."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.central_model.selection import MAX_OUTCOMES, ExponentialMechanism, Movement
from deniable.mechanisms import Draw, Number
from tests.mechanisms.laws import undrawable
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))

WORDS = 5
GRID = 1 << 64 * WORDS


@lru_cache
def least_odds(epsilon: Fraction) -> Fraction:
    """Return a bound of e^epsilon from below, from the bare series."""
    return exp_bounds(epsilon)[0]


def words(number: int) -> Draw:
    """Return the draw whose five words, the first one on top, are this number in [0, 2^320)."""
    parts = [number >> shift & (1 << 64) - 1 for shift in (256, 192, 128, 64, 0)]
    return iter(parts).__next__


def assert_indistinguishable(
    one: Sequence[Fraction], other: Sequence[Fraction], epsilon: Fraction
) -> None:
    odds = least_odds(epsilon)
    for p, p_other in zip(one, other, strict=True):
        assert p <= odds * p_other
        assert p_other <= odds * p


TINY = Fraction(1, 10**18)
ZERO, ONE = Fraction(0), Fraction(1)

epsilons = st.sampled_from([TINY, *map(Fraction, ["1/3", "1", "22/7", "10", "40"])])
sensitivities = st.sampled_from([Fraction(1), Fraction(3, 7), Fraction(1, 10**18), Fraction(10**9)])
# In units of sensitivity/epsilon: near one another, around the cap (88 or 176 of them), far beyond.
heights = st.one_of(
    st.just(Fraction(0)),
    st.fractions(-200, 200, max_denominator=100),
    st.sampled_from([Fraction(s * d) for s in (-1, 1) for d in (87, 88, 89, 175, 176, 177)]),
    st.integers(-(10**40), 10**40).map(Fraction),
)
masses = st.one_of(st.integers(1, 9), st.sampled_from([10**9, 2**60, 2**61 - 1]))
parts = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1)]), st.fractions(0, 1, max_denominator=1000)
)


@PROPERTY
@given(
    epsilons,
    sensitivities,
    st.sampled_from(Movement),
    st.lists(st.tuples(heights, parts, st.sampled_from([-1, 1]), masses), min_size=1, max_size=7),
)
# Where the reserve is needed: the better of two falls, one near the cap rises, and the ratio of the
# ideal probabilities is e^epsilon but for 2^-180. Without reserve, rounding breaks it right here.
@example(TINY, Fraction(1), Movement.ANY, [(ZERO, ONE, -1, 1), (Fraction(-173), ONE, 1, 1)])
@example(TINY, Fraction(1), Movement.ANY, [(ZERO, ONE, -1, 1), (Fraction(-166), ONE, 1, 1)])
@example(TINY, Fraction(1), Movement.MONOTONE, [(ZERO, ZERO, 1, 1), (Fraction(-86), ONE, 1, 1)])
@example(ONE, Fraction(1), Movement.MONOTONE, [(ZERO, ONE, 1, 1), (Fraction(-88), ZERO, 1, 1)])
def test_rows_of_neighbouring_data_are_within_e_to_the_epsilon(
    epsilon: Fraction,
    sensitivity: Fraction,
    movement: Movement,
    outcomes: list[tuple[Fraction, Fraction, int, int]],
) -> None:
    mechanism = ExponentialMechanism(
        range(len(outcomes)),
        epsilon,
        sensitivity=sensitivity,
        movement=movement,
        base=[mass for *_, mass in outcomes],
    )
    up = movement is Movement.MONOTONE
    utilities = [height * sensitivity / epsilon for height, *_ in outcomes]
    moved = [
        utility + (1 if up else sign) * part * sensitivity
        for utility, (_, part, sign, _) in zip(utilities, outcomes, strict=True)
    ]
    assert_indistinguishable(mechanism.row(utilities), mechanism.row(moved), epsilon)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "10"])
def test_a_monotone_utility_that_is_not_costs_twice_epsilon(epsilon: str) -> None:
    # Substitution: a record leaves one candidate's count and enters another's.
    mechanism = ExponentialMechanism(["a", "b"], epsilon, sensitivity=1, movement=Movement.MONOTONE)
    one, other = mechanism.row([8, 0]), mechanism.row([7, 1])
    assert other[1] > exp_bounds(Fraction(epsilon))[1] * one[1]
    assert_indistinguishable(one, other, 2 * Fraction(epsilon))


def test_the_reserve_pays_for_the_integers() -> None:
    # The derivation beside the constant, in Fractions; a: a weight's relative error, g: that of a
    # share of at least 2^-191 on the grid of 2^-320, h: the reserve, with e^h >= 1 + h.
    mechanism = ExponentialMechanism("ab", 1, sensitivity=1)
    h = mechanism.epsilon - 2 * mechanism.exponent
    a, g = Fraction(1, 2**120), Fraction(2**191, 2**320)
    assert (1 + g) / ((1 - g) * (1 - a) ** 2) < 1 + h
    assert exp_bounds(Fraction(88))[1] * 2**64 < 2**191 * (1 - a)


@pytest.mark.parametrize("movement", Movement)
@pytest.mark.parametrize("epsilon", ["0.1", "40"])
@pytest.mark.parametrize("utilities", [[0], [5, 5, 5], [0, -100], [0, "-0.5", 1, Fraction(1, 3)]])
def test_a_row_is_the_ideal_one_within_its_stated_error(
    utilities: list[Number], epsilon: str, movement: Movement
) -> None:
    mechanism = ExponentialMechanism(
        range(len(utilities)), epsilon, sensitivity=1, movement=movement
    )
    c = mechanism.exponent
    exact = [Fraction(u) for u in utilities]
    # e^-x with x = min(88, c gap), by the bare series for e^x.
    odds = [exp_bounds(min(Fraction(88), c * (max(exact) - u))) for u in exact]
    bounds = [(1 / above, 1 / below) for below, above in odds]
    least, most = (sum(ends) for ends in zip(*bounds, strict=True))
    error = Fraction(1, 2**112)
    row = mechanism.row(utilities)
    assert sum(row) == 1
    for p, (below, above) in zip(row, bounds, strict=True):
        assert below / most * (1 - error) <= p <= above / least * (1 + error)


@PROPERTY
@given(
    st.lists(heights, min_size=1, max_size=6), st.sampled_from([TINY, Fraction(1), Fraction(40)])
)
def test_each_outcome_gets_exactly_the_words_of_its_probability(
    utilities: list[Fraction], epsilon: Fraction
) -> None:
    # The outcome is a count of boundaries below the word, so it rises with the word: the two ends
    # of an interval settle all that is between.
    mechanism = ExponentialMechanism(range(len(utilities)), epsilon, sensitivity=1)
    row = mechanism.row(utilities)
    ends = list(itertools.accumulate(p * GRID for p in row))
    assert ends[-1] == GRID
    for outcome, (start, end) in enumerate(itertools.pairwise([Fraction(0), *ends])):
        assert start.denominator == end.denominator == 1
        assert start < end
        assert mechanism.choose(utilities, words(int(start))) == outcome
        assert mechanism.choose(utilities, words(int(end) - 1)) == outcome


@pytest.mark.parametrize("utilities", [[0, 0, 0], [10**300, 0, -(10**300)], ["0.5", 7, -7]])
def test_a_choice_takes_five_draws_whatever_the_utilities(utilities: list[Number]) -> None:
    mechanism = ExponentialMechanism("abc", 1, sensitivity=1)
    for word in (0, 1 << 63, 2**64 - 1):
        words = iter([word] * 9)
        mechanism.choose(utilities, words.__next__)
        assert len(list(words)) == 9 - WORDS


MARKER = 7_777_777


@pytest.mark.parametrize(
    ("utilities", "reason"),
    [
        *(([utility, 0], "a utility must") for utility in (float(MARKER), "7777777x")),
        *(([MARKER] * count, "must be 2 utilities") for count in (0, 1, 3)),
    ],
)
def test_there_is_one_exact_utility_for_each_outcome_or_no_draw_and_no_echo(
    utilities: Any, reason: str
) -> None:
    mechanism = ExponentialMechanism("ab", 1, sensitivity=1)
    with pytest.raises((TypeError, ValueError), match=reason) as refusal:
        mechanism.choose(utilities, undrawable)
    assert str(MARKER) not in str(refusal.value)


def test_nothing_of_the_utilities_stays_in_the_object() -> None:
    mechanism = ExponentialMechanism("ab", "0.5", sensitivity=1)
    mechanism.choose([MARKER, 0])
    held = [getattr(mechanism, name) for name in type(mechanism).__slots__]
    assert str(MARKER) not in f"{mechanism!r} {held}"
    assert repr(mechanism) == (
        "ExponentialMechanism(2 outcomes, epsilon=1/2, sensitivity=1, movement=any)"
    )


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        *(({"epsilon": e}, "epsilon must be") for e in (0, "0", Fraction(1, 2**110), "41", -1)),
        *(({"sensitivity": d}, "sensitivity must be positive") for d in (0, -1)),
        *(({"outcomes": range(n)}, "1 to 65536 outcomes") for n in (0, MAX_OUTCOMES + 1)),
        *(({"base": b}, "a positive int for each") for b in ([1], [1, 0], [1, -1], [1, 2**64], [])),
    ],
)
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ExponentialMechanism(**{"outcomes": "ab", "epsilon": 1, "sensitivity": 1, **wrong})


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        *(({"epsilon": 0.5}, "epsilon must be"), ({"sensitivity": 1.0}, "sensitivity must be")),
        ({"movement": "both"}, "not a valid Movement"),
    ],
)
def test_parameters_in_floats_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        ExponentialMechanism("ab", **{"epsilon": 1, "sensitivity": 1, **wrong})
