"""Counts that honest devices do not cause: seldom flagged where there are none, else found."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from deniable.audit import SolutionMatrix
from deniable.estimates import decoder_of, estimate_histogram
from deniable.estimates.decoders import TwoValuedDecoder
from deniable.estimates.decoders.dense import left_inverse, solution_matrix
from deniable.estimates.influences import influence
from deniable.estimates.poisoning import FALSE_ALARM
from deniable.estimates.poisoning import Tests as SharedTests
from deniable.mechanisms import Mechanism, RandomisedResponse, TwoRound
from deniable.mechanisms.subset import Subset
from deniable.messages import Manifest, Repeat, Specification
from tests.estimates.matrices import (
    FREQUENCIES,
    MECHANISMS,
    NON_SQUARE,
    SURVEYED,
    Floats,
    debias,
    detectable_share,
    fewest_fakes,
    fixed_law,
    impossible_counts,
    query_influence,
    sampled_law,
    worst_shifts,
)
from tests.support.effort import THOROUGH
from tests.support.kinds import KINDS
from tests.support.surveys import MANIFEST, manifest


def names_answers(mechanism: Mechanism) -> bool:
    return isinstance(decoder_of(mechanism), TwoValuedDecoder)


SMALL: dict[str, Mechanism] = {
    **MECHANISMS,
    "two-round": TwoRound(Subset(3, 1), "1", "2"),
    # Randomised response with unequal lies, and by entries.
    "lopsided": SolutionMatrix([[6, 3, 1], [3, 6, 1], [3, 3, 4]], 10),
    # The third category is told by responses that no other gives often: of few reports, those who
    # hold it decide how far its estimate may fall.
    "uneven": SolutionMatrix([[95, 2, 3], [97, 1, 2], [37, 25, 38]], 100),
}
SEVEN: dict[str, Mechanism] = {
    **SURVEYED,
    "randomised response": RandomisedResponse(7, "2"),
    "two-round": TwoRound(Subset(7, 1), "2", "4"),
}
SURVEYS = [
    MANIFEST,
    manifest(
        specification=Specification("two-round", {"kept": "2", "fresh": ("subset", 1)}),
        repeat=Repeat("memoised", 4),
    ),
    KINDS["matrix"],
]
ALL = {**SMALL, **{f"seven {name}": mechanism for name, mechanism in SEVEN.items()}}
if not THOROUGH:
    # Some of each structure: closed forms, square and not, few and more categories.
    SMALL = {name: SMALL[name] for name in ("coin", "two-round", "wide", "uneven", "numeric")}
    SEVEN = {name: SEVEN[name] for name in ("randomised response", "matrix")}
    ALL = {**SMALL, "lopsided": ALL["lopsided"], "seven numeric": ALL["seven numeric"]}
every_small = pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
every = pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)


def alarm(mechanism: Mechanism, counts: tuple[int, ...] | list[int], chance: float) -> bool:
    responses, categories = impossible_counts(mechanism, counts, chance)
    return bool(responses.any() or categories.any())


def expected_counts(
    mechanism: Mechanism, f: Floats, n: int, fakes: Floats | None = None, share: float = 0.0
) -> list[int]:
    """Return the mean counts of honest devices and fakes, rounded."""
    mean = (1 - share) * (f @ solution_matrix(mechanism))
    if fakes is not None:
        mean += share * fakes
    return [round(n * x) for x in mean.tolist()]


@every_small
def test_honest_devices_are_flagged_at_most_so_often_exactly(mechanism: Mechanism) -> None:
    # All populations of quarters, of which the vertices are the worst, and all fixed devices.
    k = mechanism.categories
    quarters = [each for each in product(range(5), repeat=k) if sum(each) == 4]
    laws = [sampled_law(mechanism, [Fraction(one, 4) for one in each], 6) for each in quarters]
    laws += [fixed_law(mechanism, each) for each in combinations_with_replacement(range(k), 4)]
    flags = cache(alarm)
    for law in laws:
        flagged = dict.fromkeys((0.5, 0.1, 0.01), Fraction())
        for counts, p in law:
            for chance in flagged:
                flagged[chance] += p * (p > 0 and flags(mechanism, counts, chance))
        assert all(share <= chance for chance, share in flagged.items())


@every
def test_flags_of_responses_are_exact_binomial_tails(mechanism: Mechanism) -> None:
    matrix = solution_matrix(mechanism)
    generator = np.random.default_rng(5)
    two_valued = names_answers(mechanism)
    tests = 2 * mechanism.responses + (0 if two_valued else mechanism.categories)
    seen = set()
    for n, chance in product((3, 40, 5000), (0.3, 0.01)):
        for law in generator.dirichlet(np.ones(mechanism.responses), size=40):
            counts = generator.multinomial(n, law)
            few = binom.cdf(counts, n, matrix.min(axis=0))
            many = binom.sf(counts - 1, n, matrix.max(axis=0))
            expected = np.minimum(few, many) < chance / tests
            responses, _ = impossible_counts(mechanism, counts.tolist(), chance)
            assert responses.tolist() == expected.tolist()
            seen |= set(expected.tolist())
    assert seen == {False, True}


def least_flagged(mechanism: Mechanism, j: int, response: int, n: int) -> float:
    """Return from which share of fakes that all send one response on category j is flagged."""
    f = np.full(mechanism.categories, 1 / (mechanism.categories - 1))
    f[j] = 0
    fakes = np.eye(mechanism.responses)[response]
    low, high = 0.0, 0.5
    while high - low > 1e-7:
        share = (low + high) / 2
        counts = expected_counts(mechanism, f, n, fakes, share)
        low, high = (low, share) if impossible_counts(mechanism, counts)[1][j] else (share, high)
    assert 0 < low < high < 0.5
    return high


def chernoff(matrix: Floats, g: Floats, surprise: float, n: int) -> float:
    """Return t with P(mean of g <= -t) <= e^-surprise, whatever each of n devices' answer is."""

    def limit(log_s: float) -> float:
        s = math.exp(log_s)
        return float(surprise / n + math.log((matrix @ np.exp(-s * g)).max())) / s

    near = math.log(2 * surprise / n / (matrix @ g**2).max()) / 2
    return float(minimize_scalar(limit, bounds=(near - 2, near + 4), method="bounded").fun)


DENSE = {name: each for name, each in ALL.items() if not names_answers(each)}


@pytest.mark.parametrize("mechanism", DENSE.values(), ids=DENSE)
def test_flags_of_categories_follow_the_sharpest_bound(mechanism: Mechanism) -> None:
    matrix, n = solution_matrix(mechanism), 10**8
    surprise = math.log((2 * mechanism.responses + mechanism.categories) / FALSE_ALARM)
    for j, g in enumerate(left_inverse(matrix)):
        # The estimate of a category that nobody holds comes to share * min g.
        found = -least_flagged(mechanism, j, int(g.argmin()), n) * g.min()
        best = chernoff(matrix, g, surprise, n)
        # Never flagged too soon, but for what rounded counts do, and not much too late.
        assert best * (1 - 1e-3) <= found <= best * 1.02


@every
def test_fakes_show_from_the_detectable_share_on_at_best(mechanism: Mechanism) -> None:
    n = 10**6
    share = detectable_share(mechanism, n)
    assert share is not None
    rarest = solution_matrix(mechanism).min(axis=0)

    def shown(share: float) -> bool:
        """Return whether some population and some fakes leave some category too rare."""
        for f, fakes in product(np.eye(mechanism.categories), np.eye(mechanism.responses)):
            counts = expected_counts(mechanism, f, n, fakes, share)
            responses, categories = impossible_counts(mechanism, counts)
            if (responses & (np.array(counts) < n * rarest)).any() or categories.any():
                return True
        return False

    assert shown(1.03 * share)
    assert not shown(0.97 * share)
    assert detectable_share(RandomisedResponse(1000, "1"), 100) is None  # all could be fake


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.specification.kind)
def test_a_histogram_states_what_fakes_can_do(survey: Manifest) -> None:
    mechanism, counts = survey.mechanism, [1000 + 13 * y for y in range(len(survey.categories))]
    histogram, n = estimate_histogram(survey, 0, counts), sum(counts)
    stated = histogram.poisoning
    assert stated.influence == influence(mechanism)
    assert stated.detectable_share == detectable_share(mechanism, n)
    assert stated.bias(0.05) == pytest.approx(0.05 * influence(mechanism))


@every_small
def test_the_fakes_said_to_be_there_are_there_but_so_seldom_exactly(mechanism: Mechanism) -> None:
    # Six honest devices with all answers alike, and up to three fakes that all send one response,
    # whatever they look like to the tests: the bound may exceed their number in a share of cases.
    chance, responses, most, fewest = 0.5, mechanism.responses, 0, cache(fewest_fakes)
    for category in range(mechanism.categories):
        f = [Fraction(int(x == category)) for x in range(mechanism.categories)]
        law = [(counts, p) for counts, p in sampled_law(mechanism, f, 6) if p]
        for fakes, response in product((0, 1, 3), range(responses)):
            wrong = Fraction()
            for counts, p in law:
                seen = tuple(c + fakes * (y == response) for y, c in enumerate(counts))
                bound = fewest(mechanism, seen, chance)
                most = max(most, bound)
                wrong += p * (bound > fakes)
            assert wrong <= chance
    assert most > 0


@every
def test_fewer_fakes_than_the_bound_explain_no_flag_and_so_many_do(mechanism: Mechanism) -> None:
    # The bound by its definition: by the binomial tails, and the inequality at each number.
    matrix, n, chance = solution_matrix(mechanism), 400, 0.3
    rarest, likeliest = matrix.min(axis=0), matrix.max(axis=0)
    two_valued = names_answers(mechanism)
    tests = SharedTests(decoder_of(mechanism), chance)
    depth = -left_inverse(matrix).min(axis=1)

    def explained(counts: list[int], fakes: int) -> bool:
        honest = n - fakes
        if honest == 0:
            return True
        seen = np.array(counts)
        tails = binom.cdf(np.minimum(seen, honest), honest, rarest)
        others = binom.cdf(np.minimum(n - seen, honest), honest, 1 - likeliest)
        if min(tails.min(), others.min()) < tests.chance:
            return False
        if two_valued:
            return True
        best = n * debias(mechanism, counts) + fakes * depth
        return bool((best >= -honest * tests.chance_below_zero(honest)).all())

    bounds = set()
    for response, share in product(range(mechanism.responses), (0.0, 0.3, 0.6, 1.0)):
        f = np.full(mechanism.categories, 1 / mechanism.categories)
        counts = expected_counts(mechanism, f, n, np.eye(mechanism.responses)[response], share)
        counts[response] += n - sum(counts)
        bound = fewest_fakes(mechanism, counts, chance)
        assert (bound > 0) is alarm(mechanism, counts, chance)
        assert bound <= n * share + 1
        assert explained(counts, bound)
        fewer = {*range(0, bound, 1 if THOROUGH else 20), *range(max(bound - 3, 0), bound)}
        assert not any(explained(counts, fakes) for fakes in fewer)
        bounds.add(bound)
    assert max(bounds) > n / 3


@every_small
def test_no_fakes_bias_an_estimate_or_query_further_and_some_as_far(mechanism: Mechanism) -> None:
    # The exact bias, whatever two fakes beside two devices send.
    shares, fakes = FREQUENCIES[mechanism.categories], 2
    f, weights = np.array(shares, dtype=float), np.array([0.5, -2.0, 3.0])[: len(shares)]
    law, biases = [*sampled_law(mechanism, shares, 2)], []
    for sent in combinations_with_replacement(range(mechanism.responses), fakes):
        mean = np.zeros(len(shares))
        for counts, chance in law:
            seen = [count + sent.count(y) for y, count in enumerate(counts)]
            mean += float(chance) * debias(mechanism, seen)
        biases.append(mean - f)
    found, moved = np.array(biases), np.array(biases) @ weights
    down, up = worst_shifts(mechanism, f, 0.5)
    assert found.min(axis=0) == pytest.approx(down, rel=1e-9)
    assert found.max(axis=0) == pytest.approx(up, rel=1e-9)
    kernel = decoder_of(mechanism).kernels(weights)
    shifts = 0.5 * (kernel.min() - weights @ f), 0.5 * (kernel.max() - weights @ f)
    assert (moved.min(), moved.max()) == pytest.approx(shifts, rel=1e-9)


def test_no_report_moves_what_is_the_same_for_all_answers_but_one_that_never_occurs() -> None:
    for mechanism in ALL.values():
        assert query_influence(mechanism, np.full(mechanism.categories, -0.3)) == 0.0
    assert query_influence(NON_SQUARE["a response that never occurs"], np.ones(3)) == 1.0
