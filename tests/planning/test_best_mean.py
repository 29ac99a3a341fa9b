"""The best matrix of a mean: beside the bound by a program of another form, and in fractions."""

import math
import sys
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from deniable.estimates.curve import quantiles
from deniable.estimates.planning import even_counts, reports_for_quartiles
from deniable.mechanisms import MeanMatrix
from deniable.messages import InvalidManifest, Repeat
from deniable.planning.accuracy import accuracy_facts
from deniable.planning.best_mean import mean_weights
from deniable.planning.calibration import calibrated
from deniable.planning.specification import specified
from tests.support.effort import THOROUGH, some
from tests.support.processes import ROOT
from tests.support.surveys import manifest

GUIDES = ("mathematics", "choosing")

CHECKED = {"0.5": 16.00, "1": 3.989, "2": 0.864, "3": 0.302, "4": 0.125, "6": 0.0255}
"""The bounds of docs/mathematics.md, section 10, for many answers."""


def made(categories: int, epsilon: str) -> MeanMatrix:
    return MeanMatrix(categories, mean_weights(categories, epsilon))


def noise(mechanism: MeanMatrix, category: int) -> Fraction:
    """Return what the mechanism adds to the variance of a report, of a range [-1, 1], exactly."""
    half = Fraction(mechanism.categories - 1, 2)
    x, second = category / half - 1, Fraction(0)
    for y, weight in enumerate(mechanism.row(category)):
        second += Fraction(weight, mechanism.grid) * (mechanism.stands_for(y) / half - 1) ** 2
    return second - x**2


def worst_noise(mechanism: MeanMatrix) -> float:
    # Between two rows, halfway is worst.
    k = mechanism.categories
    answers = range(k) if k < 120 else range(0, k, 13)
    return float(max(noise(mechanism, x) for x in answers))


@cache
def bound(rows: int, epsilon: float, values: int = 81) -> float:
    """Return the least worst noise of all matrices with so many values, of which none is chosen."""
    e, t = math.exp(epsilon), math.tanh(epsilon / 2)
    x, g = np.linspace(-1, 1, rows), 1.5 / t * np.linspace(-1, 1, values)
    g = np.sort([*g, -1 / t, 1 / t])
    n = len(g)
    # Chances row by row, the least of each column, and V.
    size = rows * n + n + 1
    equal, below, limits = np.zeros((2 * rows, size)), [], []
    for i in range(rows):
        own = slice(i * n, i * n + n)
        equal[i, own], equal[rows + i, own] = 1, g
        for sign, factor in ((1, -e), (-1, 1)):
            block = np.zeros((n, size))
            block[:, own] = sign * np.eye(n)
            block[:, rows * n : -1] = factor * np.eye(n)
            below.append(block)
            limits.append(np.zeros(n))
        line = np.zeros((1, size))
        line[0, own], line[0, -1] = g**2, -1
        below.append(line)
        limits.append(np.array([x[i] ** 2]))
    result = linprog(
        np.eye(size)[-1],
        A_ub=np.vstack(below),
        b_ub=np.concatenate(limits),
        A_eq=equal,
        b_eq=[*np.ones(rows), *x],
        method="highs",
    )
    assert result.fun is not None
    return float(result.fun)


@pytest.mark.parametrize("epsilon", CHECKED)
def test_the_bounds_by_a_program_without_symmetry_are_the_papers(epsilon: str) -> None:
    assert bound(11, float(epsilon)) == pytest.approx(CHECKED[epsilon], rel=0.06)


SIZES = [2, 3, 4, 5, 8, 11]
LEVELS = ["0.25", "0.7", "1", "2", "3.3", "4", "5", "6"]


@pytest.mark.parametrize("epsilon", LEVELS if THOROUGH else ["0.25", "3.3", "5"])
def test_noise_is_near_the_least_possible_and_nothing_is_exceeded(epsilon: str) -> None:
    near = 1.03 if float(epsilon) <= 4 else 1.1
    for categories in SIZES if THOROUGH else SIZES[::2]:
        mechanism = made(categories, epsilon)
        least = bound(categories, float(epsilon))
        assert worst_noise(mechanism) <= near * least
        assert mechanism.privacy.satisfies(epsilon, "0")
    # Of more answers the bound is that of any of them, or more.
    for categories in (49, 50, 97, 4096):
        mechanism = made(categories, epsilon)
        assert worst_noise(mechanism) <= near * least
        assert mechanism.privacy.satisfies(epsilon, "0")


@pytest.mark.parametrize("epsilon", LEVELS[: 6 : 1 if THOROUGH else 2])
def test_a_memoised_mean_has_sixteen_responses_and_hardly_more_noise(epsilon: str) -> None:
    for categories in (3, 9, 16):
        few = calibrated("mean", categories, epsilon, repeat=Repeat("memoised", 7))
        mechanism = few.mechanism(categories, epsilon, "0")
        assert isinstance(mechanism, MeanMatrix)
        assert mechanism.responses <= 16
        assert worst_noise(mechanism) <= 1.03 * bound(categories, float(epsilon))


def test_the_guides_say_where_one_bit_is_better() -> None:
    texts = ((ROOT / f"docs/{name}.md").read_text() for name in GUIDES)
    mathematics, choosing = (" ".join(text.split()) for text in texts)
    saved = []
    for epsilon in ("1", "2", "4"):
        mechanism, t = made(49, epsilon), math.tanh(float(epsilon) / 2)
        each = [float(noise(mechanism, x)) for x in range(49)]
        assert min(each) > 0.98 * max(each)  # nearly the same for all answers
        assert f"{1 / t**2 - max(each):.2f} at {'ε = ' * (epsilon == '1')}{epsilon}" in mathematics
        saved.append(f"{1 - (1 / t**2 - 1) / each[0]:.0%}".replace("%", " %"))
    one, two, four = saved
    said = f"needs {one} fewer reports at epsilon 1, {two} at 2 and {four} at 4."
    assert said in choosing


@pytest.mark.parametrize("categories", some([2, 3, 7, 50, 49, 1000]))
@pytest.mark.parametrize("epsilon", some(["0.0000001", "0.01", "1", "6", "12", "40"]))
def test_every_answer_is_the_exact_mean_of_its_responses(categories: int, epsilon: str) -> None:
    mechanism = made(categories, epsilon)
    for x in {0, 1, categories // 3, categories - 1}:
        weights = mechanism.row(x)
        total = sum(weight * mechanism.stands_for(y) for y, weight in enumerate(weights))
        assert total == x * mechanism.grid
    assert mechanism.privacy.satisfies(epsilon, "0")
    assert mechanism.privacy.odds is not None
    if epsilon in {"0.01", "1", "6"}:  # hardly any of it is given away
        assert mechanism.privacy.epsilon * 1000001 > 1000000 * Fraction(epsilon)


def test_two_answers_have_one_bit_and_the_least_noise_there_is() -> None:
    mechanism, e = made(2, "1"), math.e
    assert mechanism.responses == 2
    # Truth with the chance p = e/(1 + e): variance 4 p (1 - p)/(2 p - 1)^2.
    assert worst_noise(mechanism) == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-9)


def test_an_epsilon_that_says_nothing_is_refused() -> None:
    for epsilon in ("0", "0.000000000000000001"):
        with pytest.raises(InvalidManifest, match="epsilon"):
            mean_weights(5, epsilon)


@pytest.mark.parametrize("tells", ["mean", "levels"])
@pytest.mark.parametrize(
    "categories",
    [
        ("0", "1"),
        ("0.000001", "0.000002", "0.000003"),
        ("0", "0.1", "0.2", "0.3"),
        ("-1", "0", "1", "2"),
    ],
)
def test_a_plan_is_made_of_any_numbers_that_a_survey_may_ask_for(
    categories: tuple[str, ...], tells: str
) -> None:
    for epsilon in ("1", "8"):
        survey = manifest(
            categories=categories,
            epsilon=epsilon,
            specification=specified(tells, len(categories), epsilon),
        )
        facts = {fact.label for fact in accuracy_facts(survey)}
        assert "accuracy" in facts
        of_more = tells == "levels" and len(categories) > 2  # of two, the mean says all
        assert ("quartiles" in facts) is of_more


def test_a_memoised_mean_of_too_many_answers_says_why() -> None:
    with pytest.raises(
        InvalidManifest, match="memoised mean may have at most 16, or equal responses"
    ):
        calibrated("mean", 17, "1", repeat=Repeat("memoised", 7))


@pytest.mark.parametrize("missing", ["numpy", "scipy"])
def test_without_the_collectors_packages_weights_are_refused_by_the_extras_name(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "deniable.planning.best_mean")
    monkeypatch.setitem(sys.modules, missing, None)
    why = rf'needs {missing} for the weights of a mean: pip install "deniable\[collector\]"'
    with pytest.raises(InvalidManifest, match=why):
        calibrated("mean", 5, "1")


@pytest.mark.parametrize(("categories", "steps"), some([(101, 2), (49, 1), (300, 6)]))
def test_planned_quartiles_are_as_near_as_said_and_with_fewer_reports_are_not(
    categories: int, steps: int
) -> None:
    values = [Fraction(x, 7) for x in range(categories)]
    tree = specified("levels", categories, "2").mechanism(categories, "2", "0")
    reports = reports_for_quartiles(tree, values, Fraction(steps, 7))

    def furthest(n: int) -> float:
        """Return how many steps the ends of the intervals are away, of expected counts."""
        found = quantiles(tree, even_counts(tree, n), values)
        reached: list[float] = [max(q.high - q.value, q.value - q.low) for q in found]
        return 7 * max(reached)

    assert furthest(reports) < steps + 0.5
    assert furthest(round(0.9 * reports)) > steps + 0.5
