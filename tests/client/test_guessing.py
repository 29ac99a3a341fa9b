"""How often a guess is right with a response: against every question, prior and best guess."""

import re
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp, prod

import pytest

from deniable.mechanisms import RandomisedResponse, SurveyMechanism, TwoRound, guess_within
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.subset import Subset
from deniable.messages import Schedule
from deniable.terms.sentences import learnt
from tests.support.geometric import clamped
from tests.support.kinds import KINDS, SURVEYS
from tests.support.surveys import DAY, START, manifest

HALF = Fraction(1, 2)
MECHANISMS: dict[str, SurveyMechanism] = {
    "two": RandomisedResponse(2, "1"),
    "five": RandomisedResponse(5, "1"),
    "delta": RandomisedResponse(4, "0.5", "0.1"),
    "two rounds": TwoRound(Subset(4, 1), "1", "3"),
    "numbers": clamped(6, Fraction(3, 4)),
    "subsets": DesignMechanism(Subset(5, 2), "1"),
    "some points": DesignMechanism(Affine(5, 7, 1, 3), "0.5", "0.01"),
    **{name: survey.mechanism for name, survey in KINDS.items() if name != "mean"},
}


def matrix(mechanism: SurveyMechanism) -> list[list[Fraction]]:
    return [
        [Fraction(n, sum(row)) for n in row]
        for row in map(mechanism.row, range(mechanism.categories))
    ]


def best(rows: list[list[Fraction]], prior: dict[int, Fraction], question: set[int]) -> Fraction:
    """Return how often the best guess at whether the answer is in the question is right."""
    right = Fraction(0)
    for response in range(len(rows[0])):
        yes = sum(p * rows[x][response] for x, p in prior.items() if x in question)
        no = sum(p * rows[x][response] for x, p in prior.items() if x not in question)
        right += max(yes, no)
    return right


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_question_and_no_prior_gains_more_and_one_gains_as_much(name: str) -> None:
    mechanism = MECHANISMS[name]
    rows, k = matrix(mechanism), mechanism.categories
    gain = mechanism.privacy.guess - HALF
    attained = Fraction(0)
    priors = [{x: HALF, y: HALF} for x, y in combinations(range(k), 2)]
    priors += [{x: Fraction(2, 3), y: Fraction(1, 3)} for x, y in permutations(range(k), 2)]
    priors += [{x: Fraction(1, k) for x in range(k)}]
    priors += [{x: Fraction(2 * (x + 1), k * (k + 1)) for x in range(k)}]
    for prior, size in product(priors, range(1, k)):
        for question in map(set, combinations(range(k), size)):
            yes = sum(p for x, p in prior.items() if x in question)
            found = best(rows, prior, question) - max(yes, 1 - yes)
            assert found <= gain
            attained = max(attained, found)
    assert attained == gain
    # The odds alone never promise less.
    odds = mechanism.privacy.odds
    assert odds is not None
    assert mechanism.privacy.guess <= guess_within(odds)


@pytest.mark.parametrize(("epsilon", "epochs"), [("0.5", 4), ("1", 3), ("1", 6)])
def test_a_guess_from_all_responses_is_right_as_often_as_is_said(epsilon: str, epochs: int) -> None:
    schedule = Schedule(START, DAY, epochs, DAY)
    survey = manifest(categories=("no", "yes"), epsilon=epsilon, schedule=schedule)
    rows = matrix(survey.mechanism)
    runs = [*product((0, 1), repeat=epochs)]
    histories = [[Fraction(prod(row[y] for y in run)) for run in runs] for row in rows]
    exact = best(histories, {0: HALF, 1: HALF}, {0})  # of answers that stay the same
    stated = re.findall(r"at most ([\d.]+)% of the time", " ".join(learnt(survey, str)))
    assert stated
    assert 100 * exact <= Fraction(stated[0])
    # What holds for answers that change as well is no tighter than the odds of them all.
    bound = exp(float(epsilon) * epochs)
    assert float(stated[0]) == pytest.approx(100 * bound / (1 + bound), abs=0.1)


def test_of_a_mean_no_shares_are_said_to_be_learnt() -> None:
    for survey in SURVEYS:
        said = next(learnt(survey, str))
        assert said.startswith("Others learn roughly how many devices") == (
            survey.kind.name != "mean"
        )
        assert said.startswith("Others learn roughly the average of all answers") != (
            survey.kind.name != "mean"
        )


def test_two_answers_attain_what_odds_and_delta_allow() -> None:
    # P = (a, 1-a), Q = (1-a, a) with a - E (1-a) = delta.
    odds, delta = Fraction(3), Fraction(1, 10)
    a = (odds + delta) / (odds + 1)
    assert a - odds * (1 - a) == delta
    assert best([[a, 1 - a], [1 - a, a]], {0: HALF, 1: HALF}, {0}) == guess_within(odds, delta)
    assert guess_within(odds, Fraction(1)) == 1


def test_of_many_answers_the_odds_bound_it() -> None:
    mechanism = clamped(65, Fraction(99, 100))
    rows = matrix(mechanism)
    apart = sum(abs(a - b) for a, b in zip(rows[0], rows[-1], strict=True)) / 2
    odds = mechanism.privacy.odds
    assert odds is not None
    assert (1 + apart) / 2 <= mechanism.privacy.guess == odds / (odds + 1)
