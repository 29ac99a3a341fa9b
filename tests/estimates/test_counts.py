"""Counts come in as integers of any type, and as nothing else, wherever they come in."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import estimates
from deniable.estimates import Model
from deniable.mechanisms import ClampedGeometric, RandomisedResponse
from deniable.mechanisms.answering import answer_labels
from deniable.messages import Specification
from deniable.planning.calibration import calibrated
from tests.support.surveys import MANIFEST, manifest

COUNTS = [120, 90, 100, 110, 127]

FACADE: Any = estimates
NAMES = {name: getattr(FACADE, name) for name in FACADE.__all__}
FUNCTIONS = {name: each for name, each in NAMES.items() if inspect.isfunction(each)}
TAKING = {
    name: function
    for name, function in FUNCTIONS.items()
    if "counts" in (taken := inspect.signature(function).parameters)
    and {"mechanism", "manifest"} & set(taken)
    and name != "conditional"  # of five counts there is no joint survey; test_margins.py
}
QUESTIONS = (("plan", "free", "paid"), ("theme", "light", "dark", "system"))
SEVERAL = manifest(
    categories=answer_labels(QUESTIONS),
    specification=calibrated("one-question", 5, "1", settings={"dimensions": QUESTIONS}),
)
GIVEN: list[dict[str, Any]] = [
    {"mechanism": RandomisedResponse(5, "1"), "manifest": MANIFEST},
    {
        "mechanism": ClampedGeometric(5, Fraction(4, 5)),
        "manifest": manifest(
            categories=("0", "1", "2", "3", "4"),
            specification=Specification("numeric", {"ratio": (4, 5)}),
        ),
    },
]


def results(function: Callable[..., Any], given: dict[str, Any], counts: Any) -> str:
    values = [Fraction(x) for x in range(5)]
    if function is estimates.margins:
        given = {"manifest": SEVERAL}
    given = given | {
        "counts": counts,
        "epoch": 0,
        "weights": values,
        "values": values,
        "categories": "abcde",
        "level": 0.9,
    }
    wanted = inspect.signature(function).parameters
    if "model" in wanted:
        given["model"] = Model.FIXED
    return repr(function(**{name: given[name] for name in wanted if name in given}))


@pytest.mark.parametrize("given", GIVEN, ids=["two-valued", "general"])
@pytest.mark.parametrize("function", TAKING.values(), ids=TAKING)
def test_small_integers_of_numpy_do_not_wrap_around(
    function: Callable[..., Any], given: dict[str, Any]
) -> None:
    exact = results(function, given, COUNTS)
    for dtype in (np.int8, np.uint8, np.int16, np.int64):
        assert results(function, given, np.array(COUNTS, dtype)) == exact


@pytest.mark.parametrize("given", GIVEN, ids=["two-valued", "general"])
@pytest.mark.parametrize("function", TAKING.values(), ids=TAKING)
@pytest.mark.parametrize("kind", [float, np.float64, Fraction, Decimal])
def test_what_is_no_integer_is_refused_and_not_truncated(
    function: Callable[..., Any], given: dict[str, Any], kind: Callable[[float], Any]
) -> None:
    for wrong in ([kind(120.5), *COUNTS[1:]], [kind(c) for c in COUNTS]):
        with pytest.raises(TypeError, match="counts are integers"):
            results(function, given, wrong)


@pytest.mark.parametrize("wrong", [{1.7: 2}, {"3": 1}, {True: 5, 2.0: 1}])
def test_counts_go_by_whole_numbers_of_responses(wrong: dict[Any, int]) -> None:
    with pytest.raises(TypeError, match="numbers of responses"):
        estimates.debias(RandomisedResponse(5, "1"), wrong)


def test_more_reports_than_64_bits_count_are_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        estimates.debias(RandomisedResponse(5, "1"), [1 << 62] * 5)
