"""What sentences say of a number, computed once more in another way."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable.budget import NANO
from deniable.client import SlidingCeiling
from deniable.documents import Fact
from deniable.estimates import Accuracy, Model, covariance, decoder_of, estimate_histogram
from deniable.estimates.accuracy import default_largest_share
from deniable.estimates.forms import Unit
from deniable.messages import Manifest, Schedule
from deniable.planning import plan
from deniable.planning.facts import plan_document
from deniable.planning.plans import Figure
from deniable.planning.specification import AUTO, specified
from deniable.presenting.cautions import bias_text
from deniable.presenting.estimate import estimate_statement
from deniable.presenting.histogram import supporting_text
from deniable.presenting.rows import category_rows, chosen_rows
from deniable.publishing.changes import changes
from deniable.publishing.document import published_facts, survey_facts
from deniable.publishing.following import reserved
from deniable.simulation import SimulatedReports
from tests.mechanisms.laws import entries
from tests.support.devices import NAME, Bench
from tests.support.effort import some
from tests.support.kinds import SURVEYS
from tests.support.surveys import DAY, DECLARED, START, manifest

SMALL = [one for one in SURVEYS if one.mechanism.categories * one.mechanism.responses <= 1 << 12]


def answers(count: int) -> tuple[str, ...]:
    return tuple(f"answer {number}" for number in range(count))


def percent(text: str) -> Fraction:
    return Fraction(text) / 100


def texts(facts: Iterator[Fact], label: str) -> list[str]:
    return [fact.text for fact in facts if fact.label == label]


@pytest.mark.parametrize("survey", SMALL, ids=lambda survey: survey.specification.kind)
def test_shares_of_the_time_are_those_of_the_matrix(survey: Manifest) -> None:
    mechanism, tenth = survey.mechanism, Fraction(1, 1000)
    law, k = entries(mechanism), mechanism.categories
    # A response stands for the answers that send it most often, if others send it less often.
    stands = [
        {x for x in range(k) if law[x][y] > min(row[y] for row in law)}
        for y in range(mechanism.responses)
    ]
    if mechanism.truth is not None:
        truths = [law[x][x] for x in range(k)]
        (privacy,) = texts(survey_facts(survey, (), None, frozenset()), "privacy")
        ((side, number),) = re.findall(r"sent with probability at (most|least) ([\d.]+)%", privacy)
        over = percent(number) - max(truths) if side == "most" else min(truths) - percent(number)
        assert 0 <= over < tenth
    elif supporting := supporting_text(mechanism):
        among = [
            [sum(p for p, s in zip(row, stands, strict=True) if z in s) for z in range(k)]
            for row in law
        ]
        own = max(among[x][x] for x in range(k))
        others = [among[x][z] for x in range(k) for z in range(k) if x != z]
        miss, hit = map(percent, re.findall(r"([\d.]+)%", supporting))
        assert abs(miss - min(others)) <= tenth / 2
        assert abs(hit - own) <= tenth / 2


@given(st.floats(1e-9, 1e9), st.sampled_from([Unit.SHARE, Unit.NUMBER]))
def test_bounds_in_digits_are_on_their_own_side(influence: float, unit: Unit) -> None:
    moved = Fraction(influence) / (1 if unit is Unit.SHARE else 100)
    moved = min(moved, Fraction(100)) if unit is Unit.SHARE else moved  # all that is possible
    told = re.search(r"off by up to ([\d,.]+)", bias_text("it", influence, unit))
    assert told
    stated = Fraction(told[1].replace(",", ""))
    # Two digits, or whole numbers; and no more than that, but for what floats are off by.
    assert (
        moved * (1 - Fraction(1, 10**8))
        <= stated
        <= moved * Fraction(11, 10) + Fraction(moved > 99)
    )


@given(st.floats(-150, 150), st.floats(0.01, 99), st.sampled_from([*Unit][1:]), st.booleans())
def test_a_limit_of_the_impossible_is_on_its_own_side(
    low: float, width: float, unit: Unit, above: bool
) -> None:
    high = low + width
    share = estimate_histogram(manifest(), 0, [9] * 5).share("good")
    one = replace(share, unit=unit, low=low, high=high, value=high + 1 if above else low - 1)
    told = re.search(r": at (most|least) ([-−+\d.,e]+)[ ]", estimate_statement(one))
    assert told
    stated = Fraction(told[2].replace(",", "").replace("−", "-")) / (
        100 if unit is Unit.DIFFERENCE else 1
    )
    assert told[1] == ("least" if above else "most")
    assert stated <= low + 1e-6 if above else stated >= high - 1e-6


@given(st.floats(1e-6, 1e9))
def test_the_reports_of_a_plan_reach_what_is_stated(size: float) -> None:
    stated = Fraction(Figure("", 1.0).amount(size))
    assert (
        Fraction(size) * (1 - Fraction(1, 10**9)) <= stated <= Fraction(size) * Fraction(102, 100)
    )


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_delta_is_added_to_a_bound_and_is_no_share_of_reports(epsilon: str) -> None:
    before, after = (manifest(epsilon=epsilon, delta=delta) for delta in ("0", "0.01"))
    after = replace(after, specification=specified("randomised-response", 5, epsilon, "0.01"))
    (told,) = (change.text for change in changes(before, after) if change.field == "delta")
    assert told.endswith(": delta may be added to each probability that epsilon limits")
    one, other = entries(after.mechanism)[:2]
    odds = Fraction(np.exp(float(epsilon)))
    worst = sum(max(p - odds * q, Fraction(0)) for p, q in zip(one, other, strict=True))
    assert Fraction("0.0099") < worst < Fraction("0.01001")
    # The share of reports that favour the answer by more than epsilon is many times delta.
    assert sum(p for p, q in zip(one, other, strict=True) if p > odds * q) > 10 * Fraction("0.01")


@pytest.mark.long
def test_the_least_epsilon_that_is_told_is_the_least_that_does() -> None:
    k, reports, half = 8, 20_000, 0.02
    largest = default_largest_share(k)

    def draft(epsilon: str) -> Manifest:
        made = specified(AUTO, k, epsilon)
        return manifest(categories=answers(k), epsilon=epsilon, specification=made)

    def needed(epsilon: str) -> float:
        """Return the reports that a share up to the largest takes, whatever the others are."""
        shares = np.linspace(0, largest, 21)
        populations = (t * np.eye(k)[0] + (1 - t) * np.eye(k)[1] for t in shares)
        mechanism = draft(epsilon).mechanism
        variances = [covariance(mechanism, f, 1, Model.SAMPLED)[0, 0] for f in populations]
        return float(max(variances)) * (1.959964 / half) ** 2

    made = plan(draft("1"), Accuracy.half_width(half))
    facts = iter(plan_document(made, draft, reports).facts)
    (text,) = texts(facts, "reports")
    told = re.search(
        r"the smallest epsilon at which they reach the requested precision is ([\d.]+)", text
    )
    assert told
    grid = [f"{hundredths / 100:g}" for hundredths in range(122, 156)]
    # A design is chosen within .2 % of the best.
    assert needed(told[1]) <= reports
    assert all(
        needed(epsilon) > 0.995 * reports for epsilon in grid if float(epsilon) < float(told[1])
    )


@pytest.mark.parametrize(("k", "epsilon"), some([(2, "1"), (3, "8"), (5, "4"), (50, "6")]))
@pytest.mark.parametrize("n", some([100, 30, 500]))
def test_chance_alarms_about_as_often_as_the_note_says(n: int, k: int, epsilon: str) -> None:
    made = specified("randomised-response", k, epsilon)
    survey = manifest(categories=answers(k), epsilon=epsilon, specification=made)
    q, p = (float(row[1]) for row in entries(survey.mechanism)[:2])
    counts = ((n - c, c, *[0] * (k - 2)) for c in range(n + 1))
    shares = [estimate_histogram(survey, 0, each).share("answer 1") for each in counts]
    low, high = (np.array([getattr(share, end) for share in shares]) for end in ("low", "high"))
    for truth in (0.0006, 0.0023, 0.0036, 0.01, 0.02, 0.05, 0.08, 0.1, 0.3, 0.5, 0.9, 0.99):
        law = stats.binom.pmf(np.arange(n + 1), n, truth * p + (1 - truth) * q)
        for alarm, verdict in (
            (low > truth, shares[0].above(truth)),
            (high < truth, shares[0].below(truth)),
        ):
            told = re.search(r"in up to about ([\d.]+) % of checks: ([\d.]+) times", verdict.note)
            oftener = re.search(r"up to (\d) times as frequent if reports are few", verdict.note)
            assert told
            assert oftener
            many = n >= 100 and epsilon == "1" and truth >= 0.01
            most = 1.3 if many else int(oftener[1])
            assert law[alarm].sum() <= most * float(percent(told[1]))
            assert float(told[2]) == pytest.approx(52 * float(percent(told[1])), rel=0.05)


@pytest.mark.parametrize("epsilon", some(["1", "4", "10"]))
@pytest.mark.parametrize("truth", some([0.3, 0.001, 0.999]))
def test_a_count_of_those_who_answered_holds_at_least_as_often_as_the_share(
    truth: float, epsilon: str
) -> None:
    n, runs, held, random = 2_000, 400, 0, np.random.default_rng(39)
    survey = manifest(categories=answers(2), epsilon=epsilon)
    law = np.array(entries(survey.mechanism), dtype=float)
    for _ in range(runs):
        gave = int(random.binomial(n, truth))
        counts = random.multinomial([gave, n - gave], law / law.sum(axis=1, keepdims=True)).sum(0)
        share = estimate_histogram(survey, 0, counts.tolist()).share("answer 0")
        text = share.sentence.replace(",", "")
        told = re.search(r"(\d+)( \((\d+) to (\d+)\))? of the 2000 devices that answered", text)
        assert told
        low, high = (int(told[3]), int(told[4])) if told[2] else (0, int(told[1]))
        if "at least" in text:
            low, high = int(told[1]), n
        assert n * share.low >= low - 1e-6
        assert n * share.high <= high + 1e-6
        held += low <= gave <= high
    # At 95 %, fewer hold with a probability of 1e-6.
    assert held >= stats.binom.ppf(1e-6, runs, 0.95)


@pytest.mark.parametrize("survey", some(SMALL), ids=lambda survey: str(survey.specification)[:60])
def test_counts_are_of_those_who_answered_the_question(survey: Manifest) -> None:
    histogram = estimate_histogram(
        survey, 0, [40 + 3 * y for y in range(survey.mechanism.responses)]
    )
    rows = category_rows(histogram)
    asked = {
        f"{margin.question}: {answer}": margin.n
        for margin in histogram.margins
        for answer in margin.answers
    }
    for row in rows:
        n = asked.get(row["category"], histogram.n)
        ends = n * row["estimate"], n * row["low"], n * row["high"]
        assert (row["answered"], row["count"], row["count_low"], row["count_high"]) == (n, *ends)
        share = histogram.share(row["category"])
        assert not (share.high - share.low <= 0.5) or f" of the {n:,} devices" in share.sentence


def test_fakes_that_show_no_sign_are_not_said_to_be_all() -> None:
    histogram = estimate_histogram(manifest(), 0, [11] * 5)
    (text,) = (c.text for c in histogram.cautions_of(chosen_rows(histogram)) if "Fewer" in c.text)
    assert 0.995 < (histogram.poisoning.detectable_share or 0) < 1
    assert text.startswith("Anyone can send reports to this survey. Fake devices that answer like ")
    assert "Fewer than about 55 such fake reports (99 %) may go unnoticed" in text


@pytest.mark.parametrize("k", [5, 30])
def test_so_many_reports_make_intervals_as_narrow_as_the_caution_says(k: int) -> None:
    survey = manifest(categories=answers(k))
    mechanism, histogram = survey.mechanism, estimate_histogram(survey, 0, [7] * k)
    rows = chosen_rows(histogram)
    (text,) = (one.text for one in histogram.cautions_of(rows) if one.code == "few-reports")
    told = re.search(r"such intervals of ± ([\d.]+) percentage points need about ([\d,]+)", text)
    assert told
    width, reports = float(told[1]) / 100, int(told[2].replace(",", ""))

    def widest(n: int) -> float:
        """Return the widest half interval of the first row, if counts are those expected."""
        found = []
        for share in np.linspace(0, 1, 41):
            f = np.array([share, *[(1 - share) / (k - 1)] * (k - 1)])
            counts = np.round(n * decoder_of(mechanism).response_shares(f)).astype(int)
            row = chosen_rows(estimate_histogram(survey, 0, counts.tolist())).rows
            (own,) = (
                (each for each in row if each["category"] == "answer 0") if share else (row[0],)
            )
            found.append((own["simultaneous_high"] - own["simultaneous_low"]) / 2)
        return float(max(found))

    # In two digits, rounded up: a tenth less may do, and a fifth less does not.
    assert widest(reports) <= width * 1.001
    assert widest(int(0.8 * reports)) > width


@pytest.mark.parametrize(("epsilon", "epochs"), some([*product(("0.7", "1", "3"), (30, 365))]))
def test_the_ceiling_that_a_survey_is_said_to_need_is_the_least(epsilon: str, epochs: int) -> None:
    asked = manifest(epsilon=epsilon, schedule=Schedule(START, DAY, epochs, DAY))
    cost = reserved([asked], START)
    facts = published_facts(asked, (), (), cost, START)
    (text,) = (text for text in texts(facts, "warning") if "lifetime_epsilon" in text)
    (needed,) = re.findall(r'lifetime_epsilon = "(\d+)"', text)
    assert (int(needed) - 1) * NANO < cost <= int(needed) * NANO


def test_a_ceiling_that_was_lowered_is_not_said_to_have_held(tmp_path: Path) -> None:
    with Bench(tmp_path) as bench:
        client = bench.ready()
        for day in range(3):
            bench.clock.time = START + day * DAY
            assert client.report(NAME, "good").ok
        client.close()
        for lowered in (
            {"surveys": [replace(DECLARED, max_total_epsilon="1.5")]},
            {"lifetime_epsilon": "1.5"},
            {"sliding": SlidingCeiling("1.5", 7)},
        ):
            again = bench.client(**lowered)
            page = again.explain()
            budget = page.budget
            assert budget is not None
            assert budget.spent == 3 * NANO
            (together,) = re.findall(r"epsilon (?:at most )?([\d.]+)\)", page.brief())
            assert Fraction(together) * NANO >= budget.spent
            text = " ".join(budget.sentences(str, kept=False))
            for most, held in (
                (r"More than ([\d.]+) is never set aside", budget.reserved),
                (r"at most ([\d.]+) is spent", budget.recent),
            ):
                for number in re.findall(most, text):
                    assert Fraction(number) * NANO >= held
            again.close()


@pytest.mark.long
@pytest.mark.parametrize("of", ["rows", "columns", "all"])
def test_all_cells_of_a_table_hold_at_once_as_often_as_its_note_says(of: str) -> None:
    survey = next(one for one in SURVEYS if one.specification.kind == "joint")
    (rows, *first), (columns, *second) = survey.dimensions
    shape, runs = (len(first), len(second)), 100
    truth = np.random.default_rng(5).dirichlet([3] * (shape[0] * shape[1]))
    table = truth.reshape(shape)
    true = {
        "rows": np.vstack([table / table.sum(axis=1, keepdims=True), table.sum(axis=0)]),
        "columns": np.hstack([table / table.sum(axis=0), table.sum(axis=1, keepdims=True)]),
        "all": table,
    }[of]
    reports, held = SimulatedReports(survey.mechanism, truth, seed=3), 0
    for run in range(runs):
        made = estimate_histogram(survey, 0, reports.counts(20_000, run).tolist()).cross(
            rows, columns, of
        )
        assert "hold for all cells at once" in made.document().notes[0]
        held += all(
            cell.low <= share <= cell.high
            for cells, shares in zip(made.cells, true, strict=True)
            for cell, share in zip(cells, shares, strict=True)
        )
    # Each by itself, a dozen hold in some 60 %. At 95 %, fewer than so many do with 1e-5.
    assert held >= stats.binom.ppf(1e-5, runs, 0.95)
