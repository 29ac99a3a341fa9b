"""The figures of docs/choosing.md are those of the formulas."""

import re
from math import log
from pathlib import Path

import pytest

from deniable.audit.linking import linked_at_best
from deniable.choosing import Candidate, best, best_fresh, candidates, lower_bound
from deniable.mechanisms import TwoRound
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import Specification

GUIDE = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in GUIDE.splitlines()]
WIDE = [row for row in ROWS if len(row) == 6 and row[0][0].isdigit()]
KEPT = [row for row in WIDE if row[1].startswith("two rounds")]
SHARES = [row for row in WIDE if ", " not in row[0]]


@pytest.mark.parametrize("row", SHARES)
def test_the_chosen_mechanisms_need_as_many_users_as_the_table_says(row: list[str]) -> None:
    k = int(row[0].replace(",", ""))
    choice = best(k, "1")
    kind, *parameters = re.findall(r"\d+|^[a-z ]+", row[1])
    assert kind.replace(" ", "-") == choice.candidate.kind
    assert [int(each) for each in parameters] == [*choice.candidate.parameters.values()]
    # A standard error of 1/100 takes n = (cost/k)/(1/100)^2.
    plain = Candidate("randomised-response", k, k, 1, 0).cost(1)
    assert f"{choice.cost / k * 10_000:,.0f}" == f"{int(row[2].replace(',', '')):,}"
    if row[3] != "the same":
        assert row[3].startswith(f"{plain / k * 10_000:,.0f} (")
        times = float(row[3].split("(")[1].split()[0].replace(",", ""))
        assert plain / choice.cost == pytest.approx(times, rel=5e-3)


@pytest.mark.parametrize("row", KEPT)
def test_kept_responses_cost_and_reveal_what_the_table_says(row: list[str]) -> None:
    k, kept, epsilon = (text.replace(",", "") for text in row[0].split(", "))
    fresh = SINGLE if row[1].endswith("one answer") else best_fresh(int(k), epsilon, kept, 30)
    assert re.findall(r"\d+", row[1]) == [str(value) for value in fresh[1:] if fresh != SINGLE]
    kind, *values = fresh
    parameters = {str(at): int(value) for at, value in enumerate(values)}
    cost = Candidate.of(str(kind), int(k), parameters).cost(float(epsilon))
    specification = Specification("two-round", {"kept": kept, "fresh": fresh})
    mechanism = specification.mechanism(int(k), epsilon, "0")
    assert isinstance(mechanism, TwoRound)
    levels = [log(mechanism.constant_odds(reports)) for reports in (2, 30)]
    assert row[2].strip("*") == f"{cost / lower_bound(int(k), float(epsilon)):.4g}"
    assert row[3:] == [f"{levels[0]:.3f}", f"{levels[1]:.2f}", f"{linked_at_best(mechanism):.1%}"]


@pytest.mark.parametrize("row", [row for row in ROWS if len(row) == 3 and row[0][0].isdigit()])
def test_several_questions_cost_what_the_table_says(row: list[str]) -> None:
    *sizes, epsilon = re.findall(r"\d+", row[0])
    questions, size = (int(sizes[0]), 2) if "yes or no" in row[0] else (2, int(sizes[0]))
    one = questions * _least(size, int(epsilon))
    divided = _least(size, int(epsilon) / questions)
    assert [f"{one:.3g}", f"{divided:.3g}"] == row[1:]


def _least(categories: int, epsilon: float) -> float:
    return min(each.cost(epsilon) for each in candidates(categories, epsilon))
