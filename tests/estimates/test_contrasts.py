"""Margins, shares within groups, and their differences and multiples, beside their formulas."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from operator import sub, truediv
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from deniable.estimates import Accuracy, Estimate, Histogram, estimate_histogram
from deniable.estimates.comparison import compare
from deniable.estimates.decoders import checked_tally, decoder_of
from deniable.estimates.forms import Sample
from deniable.estimates.means import margins
from deniable.estimates.queries import Ends, difference_ends
from deniable.estimates.questions import association
from deniable.estimates.ratios import multiple_ends
from deniable.estimates.series import Point, Series
from deniable.messages import Manifest
from deniable.planning.calibration import calibrated
from deniable.planning.plans import plan, reports_together
from deniable.planning.specification import answered_best
from deniable.presenting.estimate import estimate_text
from deniable.reading import EpochStanding, EpochState
from deniable.simulation.bulk import SimulatedReports
from tests.estimates.matrices import estimated_covariance
from tests.estimates.test_fakes_of_figures import SHARE, histogram_of, shifts_of
from tests.support.effort import some
from tests.support.surveys import manifest

DIMENSIONS = (("plan", "free", "paid"), ("theme", "A", "B", "C"), ("beta", "no", "yes"))
SHAPE = (2, 3, 2)
TABLE = np.array([4, 6, 1, 2, 3, 4, 10, 5, 2, 8, 1, 4]).reshape(SHAPE) / 50
PLACES = np.indices(SHAPE).reshape(3, -1)
SUMS = [TABLE.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]


def answered(kind: str, epsilon: str = "2", **answered: Any) -> Manifest:
    settings = answered_best(kind, DIMENSIONS, epsilon, largest_share=0.0) | answered
    specification = calibrated(kind, 0, epsilon, settings=settings)
    return manifest(
        categories=specification.of_kind.labels(DIMENSIONS),
        epsilon=epsilon,
        specification=specification,
    )


JOINT = [
    answered("joint"),
    answered("joint", mechanism=("randomised-response",)),
    answered("joint", mechanism=("affine", 13, 1, 3)),
]
ONE = answered("one-question")


def expected(asked: Manifest, n: int) -> list[int]:
    decoder = decoder_of(asked.mechanism)
    frequencies = TABLE.reshape(-1) if len(decoder.parts) == 1 else np.concatenate(SUMS)
    return [round(n * share) for share in decoder.response_shares(frequencies)]


every_joint = pytest.mark.parametrize("asked", JOINT, ids=lambda one: str(one.specification))
DISTANCES = st.floats(1e-3, 2.0)


@given(st.floats(-0.5, 1.5), st.floats(-1.0, 2.0), *[DISTANCES] * 4, st.floats(-1, 1))
def test_a_multiple_ends_where_one_less_so_many_times_the_other_is_as_good_as_0(
    value: float, b: float, x: float, y: float, u: float, v: float, correlation: float
) -> None:
    assume(abs(b) > 1e-3 and b + v > 1e-3)
    one, other = Ends(value - x, value, value + u), Ends(b - y, b, b + v)
    low, high = multiple_ends(one, other, correlation)
    if b > 0:
        assert low <= max(value / b, 0.0) + 1e-9
        assert high >= value / b - 1e-9
    for q, end in ((low, 0), (high, 1)):
        if 0 < q < math.inf:
            times = Ends(q * other.low, q * b, q * other.high)
            apart = float(difference_ends(one, times, correlation)[end])
            assert apart == pytest.approx(0, abs=1e-6 * (1 + q))
    if low == 0:
        assert one.low <= 0
    assert (high == math.inf) == (other.low <= 0)


@every_joint
def test_a_difference_of_two_groups_has_the_error_of_both_with_their_covariance(
    asked: Manifest,
) -> None:
    counts = expected(asked, 10**6)
    found = estimate_histogram(asked, 0, counts)
    one, other = (found.share({"theme": "B"}, given={"plan": plan}) for plan in ("paid", "free"))
    matrix = estimated_covariance(asked.mechanism, counts)
    slope = np.zeros(SHAPE)
    for at, share, sign in ((1, one, 1), (0, other, -1)):
        size = found.share({"plan": ("free", "paid")[at]}).value
        slope[at] -= sign * share.value / size
        slope[at, 1] += sign / size
    error = math.sqrt(slope.reshape(-1) @ matrix @ slope.reshape(-1))
    less = one - other
    assert less.value == one.value - other.value
    assert less.standard_error == pytest.approx(error, rel=1e-6)
    # Of a million reports intervals are as good as normal.
    assert less.high - less.low == pytest.approx(2 * 1.959964 * error, rel=0.01)
    times = one / other
    assert times.value == one.value / other.value
    assert (less.low > 0) == (times.low > 1)
    assert one.at(0.5).low > one.low


def test_a_group_that_may_be_nobody_s_has_no_interval_and_neither_has_what_is_made_of_it() -> None:
    found = estimate_histogram(JOINT[0], 0, {7: 40, 8: 30, 9: 20})
    one, other = (found.share({"theme": "B"}, given={"plan": plan}) for plan in ("free", "paid"))
    assert one.too_small
    assert (one.low, one.high) == (0, 1)
    for figure, ends in (
        (one - other, (-1, 1)),
        (other - one, (-1, 1)),
        (one / other, (0, math.inf)),
    ):
        assert (figure.low, figure.high) == ends
    for figure in (one, one - other, other / one):
        assert figure.sentence.startswith("Too few reports to tell ")
        assert "interval" not in figure.sentence
        assert figure.sentence.count("A group is too small") == 1
        assert "small-group" in {caution.code for caution in figure.cautions}


def test_by_what_is_estimated_at_0_or_below_there_is_no_multiple_but_a_lower_end() -> None:
    counts = expected(JOINT[0], 10**5)
    found = estimate_histogram(JOINT[0], 0, counts)
    one, other = (found.share({"theme": "B"}, given={"plan": plan}) for plan in ("paid", "free"))
    assert other.parts is not None
    both, group = other.parts
    parts = both.plus(group, -1.05 * other.value), group
    nobody = replace(other, parts=parts, value=-0.05 * other.value)
    times, less = one / nobody, one - nobody
    assert less.low > 0
    assert (times.low > 1) == less.distinguishable
    assert math.isnan(times.value)
    assert "not known (95 % interval from " in times.sentence


def test_two_epochs_of_a_group_are_compared_and_a_group_with_all() -> None:
    before, now = (
        estimate_histogram(JOINT[0], epoch, expected(JOINT[0], 50_000 + epoch)) for epoch in (0, 5)
    )
    shares = [one.share({"theme": "B"}, given={"plan": "paid"}) for one in (before, now)]
    change = shares[1] - shares[0]
    errors = [share.standard_error for share in shares]
    assert change.standard_error >= math.hypot(*errors) * (1 - 1e-9)
    assert "plan: paid, rating-of-marriage on 19 November 2023 against 14 N" in change.sentence
    assert not change.distinguishable
    everybody = before.share({"theme": "B"})
    assert (shares[0] - everybody).value == shares[0].value - everybody.value
    assert (everybody / shares[0]).distinguishable


def test_the_sentence_of_two_answers_says_what_their_rows_say() -> None:
    survey = manifest(categories=("no", "yes"), epsilon="2")
    before = estimate_histogram(survey, 0, [3_100, 1_900])
    for yes in (1_800, 1_850):  # p is .03, and .3
        change = compare(estimate_histogram(survey, 1, [5_000 - yes, yes]), None, before)
        row = change.rows[1].estimate
        assert row.distinguishable == (yes == 1_800)
        assert (": a clear change since " in change.sentence) == row.distinguishable
        low, high = (estimate_text(row, end) for end in (row.low, row.high))
        assert f"{low} to {high})" in change.sentence


def sides(shares: tuple[float, float], n: int, run: int) -> list[Histogram]:
    """Return the figures of two surveys of yes and no, with these shares of yes."""
    return [
        estimate_histogram(
            made := manifest(name=name, categories=("no", "yes"), epsilon="2"),
            0,
            SimulatedReports(made.mechanism, np.array([1 - share, share]), at)
            .counts(n, run)
            .tolist(),
        )
        for at, (name, share) in enumerate(zip(("android", "ios"), shares, strict=True))
    ]


def test_two_surveys_have_a_ratio_with_an_interval_that_holds_as_often_as_said() -> None:
    runs = 200
    for shares, n in some([((0.1, 0.02), 2_600), ((0.05, 0.05), 500), ((0.6, 0.3), 300)]):
        missed = 0
        for run in range(runs):
            one, other = sides(shares, n, run)
            ratio = compare(one, "yes", other).ratio
            assert ratio is not None
            larger = shares if ratio.samples[0] is one.sample else shares[::-1]
            missed += not ratio.low <= larger[0] / larger[1] <= ratio.high
        # At 95 %, more misses have a chance below 1e-4.
        assert missed <= stats.binom.isf(1e-4, runs, 0.05)


@pytest.mark.parametrize("answer", [None, "yes"])
def test_the_ratio_of_two_surveys_is_told_if_they_clearly_differ(answer: str | None) -> None:
    android, ios = sides((0.3, 0.1), 9_000, 0)
    for told in (compare(android, answer, ios), compare(ios, answer, android)):
        ratio = told.ratio
        assert ratio is not None
        assert ratio.value == pytest.approx(android.share("yes").value / ios.share("yes").value)
        ends = [estimate_text(ratio, end) for end in (ratio.value, ratio.low, ratio.high)]
        words = 'n android, "yes" is {} times as frequent as in ios (95 % interval {} to {})'
        assert f" I{words.format(*ends)}." in told.sentence
        assert f"i{words.format(*ends)}" in " ".join(str(told).split())
    one, other = sides((0.4, 0.03), 300, 0)
    rare = compare(one, answer, other)
    assert rare.ratio is not None
    assert rare.ratio.high == math.inf
    assert ' In android, "yes" is at least ' in rare.sentence
    one, other = sides((0.3, 0.3), 300, 0)
    assert "times as frequent" not in compare(one, answer, other).sentence


def test_of_an_open_epoch_it_is_so_far_and_an_answer_keeps_its_case() -> None:
    ios, android = (
        estimate_histogram(
            manifest(name=name, categories=("No", "Yes"), epsilon="2"),
            0,
            counts,
            standing=EpochStanding(EpochState.OPEN),
        )
        for name, counts in (("ios", [3_100, 1_900]), ("android", [2_100, 2_900]))
    )
    assert compare(ios, "No", android).sentence.startswith('So far, "No" is higher in ios ')
    assert compare(ios, "No", None).sentence.startswith("So far, an estimated ")
    assert compare(ios, None, android).sentence.startswith("So far, a clear difference ")


def test_of_counts_that_honest_devices_do_not_cause_nothing_is_concluded() -> None:
    found = estimate_histogram(JOINT[0], 0, {0: 3_000})
    leaders, table = found.leaders(1), found.cross("plan", "theme")
    assert leaders.sentence.startswith("Nobody can tell which answer leads in ")
    assert leaders.certain == ()
    assert table.sentence.startswith("Nobody can tell whether plan and theme are related.")
    assert "Do not use these figures" in leaders.sentence
    assert "Do not use these figures" in table.sentence


def test_of_several_epochs_two_questions_are_related_as_they_are_in_each() -> None:
    asked = answered("joint", "6")
    apart = expected(asked, 3_000)
    unrelated = np.einsum("i,j,k->ijk", *SUMS).reshape(-1)
    none = (3_000 * decoder_of(asked.mechanism).response_shares(unrelated)).round().astype(int)
    for epochs in (1, 5):
        span = range(epochs)
        related, not_related = (
            estimate_histogram(asked, span, [epochs * count for count in counts])
            for counts in (apart, none.tolist())
        )
        (table, other) = (one.cross("plan", "theme") for one in (related, not_related))
        assert table.together
        assert not other.together
        assert "plan and theme are related. " in table.sentence
        assert "no clear sign that plan and theme are related." in other.sentence
    # Of 60 reports in 5 epochs, 12 devices may have sent all: too few.
    few = estimate_histogram(asked, range(5), dict.fromkeys(range(12), 5))
    assert few.cross("plan", "theme").test is None
    assert few.cross("plan", "theme").sentence.startswith("Too few reports to tell whether ")


def test_where_the_same_devices_answer_in_all_epochs_few_tests_find_a_relation_by_chance() -> None:
    asked, rng, runs = answered("joint", "6"), np.random.default_rng(7), 400
    matrix = np.array([decoder_of(asked.mechanism).response_shares(row) for row in np.eye(12)])
    unrelated = np.einsum("i,j,k->ijk", *SUMS).reshape(-1)
    answers = [np.arange(size)[:, None] == place for size, place in zip(SHAPE, PLACES, strict=True)]
    plan, theme, _ = (chosen.astype(float) for chosen in answers)
    found = 0
    for devices in rng.multinomial(1_000, unrelated, size=runs):
        counts = sum(rng.multinomial(devices, matrix).sum(axis=0) for _ in range(4))
        tally = checked_tally(counts.tolist(), len(counts), 4)
        test = association(Sample(asked.mechanism, tally), plan, theme)
        found += test is not None and test.p_value < 0.05
    # At most 5 % of such tests do; more than allowed here in at most 1e-6 of cases.
    assert found <= stats.binom.isf(1e-6, runs, 0.05)


def test_no_fakes_move_what_two_groups_are_compared_by_further_than_is_said() -> None:
    truth = np.random.default_rng(7).dirichlet(np.ones(12))
    histogram = histogram_of(JOINT[0].mechanism, truth)
    for contrast in (sub, truediv):

        def figure(one: Histogram, contrast: Callable[..., Estimate] = contrast) -> Estimate:
            return contrast(*(one.share("0", given=["0", to]) for to in "12"))

        moved, stated = shifts_of(histogram, figure)
        assert (moved <= stated + 1e-6).all()
        assert SHARE > 0 < moved.max()


def test_a_multiple_without_an_upper_end_has_its_lower_end_in_the_document() -> None:
    counts = {0: 32, 1: 15, 2: 63, 3: 97}
    # The difference says that the first is ahead, so it is at least once as frequent.
    survey = manifest(categories=("a", "b", "c", "d"), epsilon="2")
    ahead = estimate_histogram(survey, 0, counts).ahead("a", "b")
    assert ahead.difference.low > 0
    assert (ahead.ratio.low, ahead.ratio.high) == (1, math.inf)
    (table,) = ahead.document().tables
    assert table.columns[2].texts(table.rows)[-1] == "from 1 up"
    assert (table.records()[-1]["low"], table.records()[-1]["high"]) == (1, None)


@pytest.mark.parametrize(("answers", "count"), [(2, 1), (3, 2), (4, 3), (9, 3)])
def test_three_lead_or_all_but_one_of_fewer(answers: int, count: int) -> None:
    asked = manifest(categories=[f"answer {number}" for number in range(answers)])
    counts = dict.fromkeys(range(asked.mechanism.responses), 100)
    assert estimate_histogram(asked, 0, counts).leaders().count == count
    # 1,010 against 1,000 reports may be chance.
    close = estimate_histogram(manifest(epsilon="4"), 0, [1_000, 1_010, 600, 50, 50]).leaders(2)
    assert '"very poor"; their order is not certain (95 % confidence' in close.sentence
    first = estimate_histogram(manifest(epsilon="4"), 0, [900, 1_500, 890, 880, 50])
    for number, ranks in ((2, "second is"), (3, "second and third are")):
        told = first.leaders(number).sentence
        assert f', "poor" leads; {ranks} among "very poor", "fair" and "good" (95 %' in told


def test_who_leads_is_one_answer_on_every_surface() -> None:
    # One less and one more than it takes to be ahead of one, and ahead of all at once.
    for first, text, uncertain in (
        (1_010, '"poor" and "very poor" are too close to say which leads.', False),
        (1_100, '"poor" and "very poor" are too close to say which leads.', True),
        (1_300, '"poor" leads.', False),
    ):
        found = estimate_histogram(manifest(epsilon="4"), 0, [1_000, first, 600, 50, 50])
        assert found.document().sentence.split("at once). ")[1].startswith(text)
        leaders, pair = found.leaders(1), found.ahead("poor", "very poor")
        assert (leaders.certain == ("poor",)) == (text == '"poor" leads.')
        assert ("among all 5, it is not certain which one leads" in pair.sentence) == uncertain
        assert "not certain" not in found.ahead("fair", "good").sentence  # which neither may have
    usage = estimate_histogram(JOINT[0], 0, expected(JOINT[0], 10**6))
    assert [label for label, _ in Series("", (Point("", 0, 0, 1, usage),)).figures()] == [
        *usage.labels
    ]
    assert usage.share(["plan: free", "plan: paid"]).value == pytest.approx(1)
    both = usage.share("plan: free") + usage.share("beta: yes")
    either = usage.share(["plan: free", "beta: yes"])
    overlap = usage.share({"plan": "free", "beta": "yes"})
    assert (both - overlap).value == pytest.approx(either.value)


def test_of_several_yes_or_no_questions_the_yes_answers_are_ranked() -> None:
    questions = (("search", "yes", "no"), ("friends", "no", "yes"), ("mail", "yes", "no"))
    settings = answered_best("one-question", questions, "2", largest_share=0.0)
    specification = calibrated("one-question", 0, "2", settings=settings)
    labels = specification.of_kind.labels(questions)
    survey = manifest(categories=labels, epsilon="2", specification=specification)
    shares = decoder_of(survey.mechanism).response_shares(
        np.array([0.62, 0.38, 0.45, 0.55, 0.05, 0.95])
    )
    for n, certain in ((300, ()), (20_000, ("search: yes",))):
        found = estimate_histogram(survey, 0, [round(n * share) for share in shares])
        leaders = found.leaders(1)
        # "mail: no" has the largest share, but it is no answer to what most devices do.
        assert found.document().sentence.split(" answered ")[1].startswith('"search: yes" (')
        assert leaders.certain == certain
        assert {row.label for row in leaders.rows} <= {"search: yes", "friends: yes"}
        assert ('"search: yes" leads.' in found.document().sentence) == bool(certain)
        ranks = found.leaders(2)
        assert (ranks.answers, ranks.sentence[:32]) == (3, "The 2 most frequent yes answers ")
        for row in ranks.rows[1:]:
            ahead = found.ahead(ranks.rows[0].label, row.label).difference
            assert (row.first == 1) >= (ahead.low < 0)
    assert found.leaders(1, "mail").certain == ("mail: no",)
    with pytest.raises(ValueError, match="a question has fewer than two reports"):
        estimate_histogram(survey, 0, {0: 1}).leaders(1)
    with pytest.raises(ValueError, match="name one of the questions"):
        estimate_histogram(ONE, 0, expected(ONE, 20_000)).leaders(1)


def test_the_largest_difference_of_two_groups_holds_among_all_of_them() -> None:
    found = estimate_histogram(JOINT[0], 0, expected(JOINT[0], 20_000))
    table = found.cross("plan", "theme")
    contrast = table.contrast
    assert contrast is not None
    shares = TABLE.sum(axis=2) / TABLE.sum(axis=(1, 2))[:, None]
    assert contrast.difference.value == pytest.approx(np.abs(shares[0] - shares[1]).max(), abs=1e-3)
    # Each of three answers is looked at, of one pair of groups; or three pairs, of one answer.
    for made in (contrast, found.cross("plan", "theme", "columns").contrast):
        assert made is not None
        alone = made.one.at(1 - 0.05 / 3) - made.other.at(1 - 0.05 / 3)
        assert made.difference.value > 0
        assert (made.difference.low, made.difference.high) == (alone.low, alone.high)
    assert table.sentence.endswith("which holds for all such differences).")
    assert "more often" not in found.cross("plan", "beta").sentence


def test_what_was_asked_apart_takes_as_many_reports_together_as_a_plan_says() -> None:
    together = plan(answered("joint", largest_share=None), Accuracy.half_width(0.05))
    assert reports_together(ONE) == together.reports(together.ways[0])


@pytest.mark.parametrize("asked", [*JOINT, ONE], ids=lambda a: str(a.specification))
def test_margins_are_the_sums_of_the_table(asked: Manifest) -> None:
    counts = expected(asked, 10**12)
    told = margins(asked, counts)
    for sums, each in zip(SUMS, told, strict=True):
        assert [share.value for share in each.shares] == pytest.approx(sums.tolist(), abs=1e-9)
        assert all(share.low < share.value < share.high for share in each.shares)
    assert [each.question for each in told] == ["plan", "theme", "beta"]
    n = sum(each.n for each in told) if asked is ONE else told[0].n
    assert n == sum(counts)


@every_joint
def test_margins_of_a_joint_survey_have_exact_errors(asked: Manifest) -> None:
    counts = expected(asked, 10**5)
    matrix = estimated_covariance(asked.mechanism, counts)
    for i, question in enumerate(margins(asked, counts)):
        for j, share in enumerate(question.shares):
            held = np.zeros(SHAPE)
            held[(slice(None),) * i + (j,)] = 1
            w = held.reshape(-1)
            assert share.standard_error == pytest.approx(float(np.sqrt(w @ matrix @ w)), rel=2e-3)
        assert len(DIMENSIONS[i]) == j + 2


@every_joint
def test_a_conditional_share_is_a_ratio_with_fiellers_interval(asked: Manifest) -> None:
    counts = expected(asked, 10**6)
    found = estimate_histogram(asked, 0, counts).share({"theme": "B"}, given={"plan": "paid"})
    ratio = TABLE[1, 1].sum() / TABLE[1].sum()
    assert found.value == pytest.approx(ratio, rel=1e-3)
    below, above = np.zeros(SHAPE), np.zeros(SHAPE)
    below[1] = above[1, 1] = 1
    matrix = estimated_covariance(asked.mechanism, counts)
    b = float(below.reshape(-1) @ TABLE.reshape(-1))

    def error(r: float) -> float:
        w = (above - r * below).reshape(-1)
        return float(np.sqrt(w @ matrix @ w))

    assert found.standard_error == pytest.approx(error(found.value) / b, rel=1e-3)
    # At either end a - r b is 1.96 of its own standard errors away from 0.
    for end in (found.low, found.high):
        assert abs(ratio * b - end * b) == pytest.approx(1.959964 * error(end), rel=0.01)


def test_questions_and_answers_that_there_are_not() -> None:
    joint = estimate_histogram(JOINT[0], 0, expected(JOINT[0], 1000))
    one = estimate_histogram(ONE, 0, expected(ONE, 1000))
    for histogram, answer, within, match in (
        (joint, {"theme": "D"}, {"plan": "paid"}, "no answer 'D'"),
        (joint, {"colour": "A"}, {"plan": "paid"}, "does not ask"),
        (joint, {"theme": "A"}, {"theme": "B"}, "no answer of the group"),
        (one, {"theme": "A"}, {"plan": "paid"}, "answered only one of plan, theme and beta"),
    ):
        with pytest.raises(ValueError, match=match):
            histogram.share(answer, given=within)
    assert margins(manifest(), [1, 2, 3, 4, 5]) == ()


def test_a_question_that_no_report_is_about_is_shown_as_open() -> None:
    histogram = estimate_histogram(ONE, 0, {0: 1})
    plain = json.loads(json.dumps(histogram.to_dict()))
    theme = plain["margins"][1]
    assert theme["n"] == 0
    assert [(row["low"], row["high"]) for row in theme["answers"]] == [(0, 1)] * 3
    assert [row["standard_error"] for row in theme["answers"]] == [None] * 3
    assert str(histogram)
