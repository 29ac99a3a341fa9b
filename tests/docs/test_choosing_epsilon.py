"""The figures of the README, docs/choosing-epsilon.md and its picture are those of the formulas."""

import math
import re
from fractions import Fraction

from deniable.budget import DEFAULT_LIFETIME_EPSILON
from deniable.estimates import reports_for_half_width
from deniable.mechanisms import RandomisedResponse
from deniable.planning import best
from tests.support.processes import ROOT

PAGE = (ROOT / "docs/choosing-epsilon.md").read_text("utf-8")
PICTURE = (ROOT / "docs/choosing-epsilon.svg").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines()]


def suspicion(before: float, epsilon: str) -> float:
    """Return, in percent, what a suspicion becomes: by Bayes, from a tight bound on the odds."""
    odds = before / (1 - before) * math.exp(float(epsilon))
    return 100 * odds / (1 + odds)


def test_suspicions_and_reports_are_those_of_the_formulas() -> None:
    rows = [row for row in ROWS if len(row) == 4 and row[0][0].isdigit()]
    assert [row[0] for row in rows] == ["0.5", "1", "2", "4", "8"]
    for epsilon, even, tenth, reports in rows:
        for cell, before in ((even, 0.5), (tenth, 0.1)):
            value = cell.removesuffix(" %")
            unit = 10 ** -len(value.split(".")[1])  # a bound is rounded up
            assert 0 <= float(value) - suspicion(before, epsilon) < unit
        needed = reports_for_half_width(best(5, epsilon).mechanism(), 0.02)
        assert reports == f"{needed:,}"
        assert f"± 2 points: {needed:,} reports<" in PICTURE
        sent = float(RandomisedResponse(5, epsilon).truth) * 100
        text = f"{sent:.1f}" if sent > 99 else f"{sent:.0f}"
        assert f">{text} send the truth<" in PICTURE
        assert f"{text} at {epsilon}" in PAGE or f"{text} at epsilon {epsilon}" in PAGE


def test_the_readme_s_figures_are_those_of_its_survey() -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    mechanism = best(5, "1").mechanism()
    assert mechanism.hit is not None
    assert (
        f"two of them, and {100 * float(mechanism.hit):.0f} % of the time the true answer is"
        in readme
    )
    needed, at_once = (
        reports_for_half_width(mechanism, 0.05, level=level) for level in (0.95, 0.99)
    )
    assert f"{needed:,} reports, each share up to 40 % is accurate to ± 5 percentage" in readme
    assert f"for all of them at once, you need {at_once:,}." in readme


def test_the_default_budget_lasts_as_long_as_is_said() -> None:
    rows = [row for row in ROWS if len(row) == 2 and row[0].endswith(" reports")]
    assert len(rows) == 4
    for count, epsilon in rows:
        assert int(count.split()[0]) == Fraction(str(DEFAULT_LIFETIME_EPSILON)) / Fraction(epsilon)
    assert re.search(rf"budget, which is {DEFAULT_LIFETIME_EPSILON} unless", PAGE)
