"""What epsilon means for one person, beside the best guess that there is."""

from fractions import Fraction
from itertools import combinations

import pytest

from deniable.messages import Manifest
from deniable.planning.calibration import calibrated
from deniable.planning.words import (
    MOST_EPSILON,
    strength_fact,
    strength_warnings,
    too_strong_text,
)
from deniable.presenting.revealed import chance_text
from tests.support.entries import probability
from tests.support.kinds import SURVEYS
from tests.support.processes import ROOT
from tests.support.surveys import manifest

PAGE = (ROOT / "docs/choosing-epsilon.md").read_text("utf-8")


def binary(epsilon: str, delta: str = "0") -> Manifest:
    made = calibrated("randomised-response", 2, epsilon)
    return manifest(categories=("no", "yes"), specification=made, epsilon=epsilon, delta=delta)


def stated(survey: Manifest) -> Fraction:
    """Return the share that the text states, as a number."""
    return Fraction(chance_text(survey.mechanism.privacy.guess).removesuffix(" %")) / 100


def best_guess(survey: Manifest) -> Fraction:
    """Return how often the likelier of two answers is right, of the two that are told best."""
    mechanism = survey.mechanism
    rows = [
        [probability(mechanism, x, y) for y in range(mechanism.responses)]
        for x in range(mechanism.categories)
    ]
    return max(
        sum((max(p, q) for p, q in zip(one, other, strict=True)), Fraction(0)) / 2
        for one, other in combinations(rows, 2)
    )


@pytest.mark.parametrize(  # of large matrices the small ones of their kinds are looked at
    "survey", [survey for survey in SURVEYS if survey.mechanism.categories <= 64]
)
def test_no_guess_is_better_than_stated(survey: Manifest) -> None:
    assert best_guess(survey) <= stated(survey)


@pytest.mark.parametrize(
    ("epsilon", "even", "tenth", "means"),
    [
        ("0.5", "62.3 %", "15.5 %", "plausibly deny any answer"),
        ("1", "73.2 %", "23.2 %", "plausibly deny any answer"),
        ("2", "88.1 %", "45.1 %", "leaves some doubt, but a guess is usually right"),
        ("4", "98.3 %", "85.9 %", "leaves hardly any doubt"),
        ("8", "99.97 %", "99.7 %", "practically reveals the answer"),
    ],
)
def test_the_stated_guess_is_reached_and_rounded_up(
    epsilon: str, even: str, tenth: str, means: str
) -> None:
    survey = binary(epsilon)
    shown = (strength_fact(survey).text or "").replace("\N{NO-BREAK SPACE}", " ")
    assert shown.startswith(f"epsilon {epsilon} ")
    assert means in shown
    assert f"right at most {even} of the time, and a suspicion of 10 % at most {tenth};" in shown
    unit = Fraction(1, 10 ** (2 + len(even.removesuffix(" %").partition(".")[2])))
    assert stated(survey) - unit < best_guess(survey) <= stated(survey)
    # The page says the same of the same epsilon.
    assert f"| {epsilon} | {even} | {tenth} |" in PAGE
    assert means in PAGE


def test_a_caution_stands_from_epsilon_4_on() -> None:
    assert [*strength_warnings(binary("3.999999999"))] == []
    (caution,) = strength_warnings(binary("4"))
    assert "nearly certain. Use 2 or less" in caution


def test_what_is_above_the_most_goes_by_the_pure_guarantee_too() -> None:
    most = str(MOST_EPSILON)
    assert too_strong_text(binary(most)) == ""
    for page in ("choosing-epsilon", "threat-model"):
        assert f"`publish` refuses more than {most}" in (ROOT / f"docs/{page}.md").read_text(
            "utf-8"
        )
    assert f"above {most}, `publish`" in (ROOT / "docs/operations/survey-file.md").read_text(
        "utf-8"
    )
    assert f"an epsilon above {most} without" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert too_strong_text(binary(f"{most}.000000001")) == f"{most}.000000001"
    assert too_strong_text(binary("1", "0.9")) == ""
    assert "with delta 0.99999" in too_strong_text(binary("1", "0.99999"))
