"""What epsilon means for one person, beside the best guess that there is."""

from fractions import Fraction
from itertools import combinations

import pytest

from deniable.messages import Manifest
from deniable.planning.calibration import calibrated
from deniable.planning.words import (
    MOST_EPSILON,
    guess_text,
    strength_warnings,
    too_strong_text,
)
from tests.support.kinds import EXAMPLES, example_survey
from tests.support.surveys import manifest


def binary(epsilon: str, delta: str = "0") -> Manifest:
    made = calibrated("randomised-response", 2, epsilon)
    return manifest(categories=("no", "yes"), specification=made, epsilon=epsilon, delta=delta)


def stated(survey: Manifest) -> Fraction:
    """Return the share that the text states, as a number."""
    assert survey.mechanism.privacy.odds is not None
    return Fraction(guess_text(survey.mechanism.privacy.odds).removesuffix(" %")) / 100


def best_guess(survey: Manifest) -> Fraction:
    """Return how often the likelier of two answers is right, of the two that are told best."""
    mechanism = survey.mechanism
    rows = [
        [mechanism.probability(x, y) for y in range(mechanism.responses)]
        for x in range(mechanism.categories)
    ]
    return max(
        sum((max(p, q) for p, q in zip(one, other, strict=True)), Fraction(0)) / 2
        for one, other in combinations(rows, 2)
    )


@pytest.mark.parametrize(
    ("kind", "at"),
    [(kind, at) for kind, examples in EXAMPLES.items() for at in range(len(examples))],
)
def test_no_guess_is_better_than_stated(kind: str, at: int) -> None:
    survey = example_survey(kind, *EXAMPLES[kind][at])
    if survey.mechanism.categories > 64:
        pytest.skip("its matrix is large; the small ones of its kind are looked at")
    assert best_guess(survey) <= stated(survey)


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [("0.5", "62.3 %"), ("1", "73.2 %"), ("2", "88.1 %"), ("4", "98.3 %"), ("8", "99.97 %")],
)
def test_the_stated_guess_is_reached_and_rounded_up(epsilon: str, text: str) -> None:
    survey = binary(epsilon)
    assert survey.mechanism.privacy.odds is not None
    assert guess_text(survey.mechanism.privacy.odds) == text
    unit = Fraction(1, 10 ** (2 + len(text.removesuffix(" %").partition(".")[2])))
    assert stated(survey) - unit < best_guess(survey) <= stated(survey)


def test_a_caution_stands_from_epsilon_4_on_and_says_what_others_mean() -> None:
    assert [*strength_warnings(binary("3.999999999"))] == []
    (caution,) = strength_warnings(binary("4"))
    caution = caution.replace("\N{NO-BREAK SPACE}", " ")
    for epsilon in ("0.5", "1", "2", "4", "8"):
        odds = binary(epsilon).mechanism.privacy.odds
        assert odds is not None
        assert f"{guess_text(odds)} at epsilon {epsilon}" in caution


def test_what_is_above_the_most_goes_by_the_pure_guarantee_too() -> None:
    most = str(MOST_EPSILON)
    assert too_strong_text(binary(most)) == ""
    assert too_strong_text(binary("10.000000001")) == "10.000000001"
    assert too_strong_text(binary("1", "0.9")) == ""
    assert "with delta 0.99999" in too_strong_text(binary("1", "0.99999"))
