"""The histogram that an analyst reads: complete, honest about its terms, and plain JSON."""

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.estimates import Histogram, Model, estimate_histogram
from deniable.estimates.planning import even_counts
from deniable.mechanisms import RandomisedResponse
from deniable.messages import Enrolment, SigningKey
from deniable.planning.calibration import calibrated
from deniable.planning.specification import specified
from deniable.presenting.rows import category_rows
from deniable.reading import EpochStanding, EpochState, epoch_standing, instant_text
from tests.estimates.matrices import debias, frequency_intervals, standard_errors
from tests.support.effort import THOROUGH
from tests.support.geometric import clamped
from tests.support.surveys import CATEGORIES, MANIFEST, QUESTION, manifest

COUNTS = (100, 200, 300, 50, 3)
ISSUER = SigningKey(b"issuer's seed of the tests 00001").public_key


def strict_json(histogram: Histogram) -> dict[str, Any]:
    """Return it as it comes out of JSON that knows no NaN and no infinity."""
    loaded: dict[str, Any] = json.loads(json.dumps(histogram.to_dict(), allow_nan=False))
    return loaded


def test_a_histogram_holds_what_the_parts_compute() -> None:
    histogram, mechanism = estimate_histogram(MANIFEST, 3, COUNTS, 0.9), MANIFEST.mechanism
    intervals = frequency_intervals(mechanism, COUNTS, 0.9)
    errors = standard_errors(mechanism, COUNTS, Model.SAMPLED)
    assert histogram.raw.tolist() == list(COUNTS)
    assert histogram.estimate.tolist() == debias(mechanism, COUNTS).tolist()
    assert histogram.standard_error.tolist() == errors.tolist()
    for name in ("low", "high", "outside"):
        assert getattr(histogram, name).tolist() == getattr(intervals, name).tolist()
    assert histogram.methods == intervals.methods
    assert (histogram.n, histogram.level, histogram.epochs) == (653, 0.9, (3,))
    assert (histogram.survey, histogram.question) == (MANIFEST.name, QUESTION)
    assert histogram.survey_id == MANIFEST.survey_id.hex()
    assert (histogram.categories, histogram.epsilon) == (CATEGORIES, "1")


def test_when_the_epoch_was_and_whether_its_figures_are_final_is_told() -> None:
    schedule = MANIFEST.schedule
    digest, closes = bytes(range(32)), schedule.closes(3)
    states = [
        (schedule.epoch_start(3) - 300, None, EpochState.OPEN),
        (schedule.epoch_start(4) - 1, None, EpochState.OPEN),
        (schedule.epoch_start(4), None, EpochState.GRACE),
        (closes - 1, None, EpochState.GRACE),
        (closes, None, EpochState.CLOSED),
        (closes, digest, EpochState.SEALED),
        # Sealed early.
        (schedule.epoch_start(3), digest, EpochState.SEALED),
    ]
    for now, seal, state in states:
        standing = epoch_standing(schedule, 3, now, seal)
        assert standing == EpochStanding(state, None if seal is None else digest.hex())
        histogram = estimate_histogram(MANIFEST, 3, COUNTS, standing=standing)
        written = strict_json(histogram)
        assert (written["state"], written["seal"]) == (state.value, standing.seal)
        for end, epoch in (("start", 3), ("end", 4)):
            instant = datetime.fromisoformat(written[end])
            assert instant.utcoffset() == timedelta(0)
            assert instant.timestamp() == schedule.epoch_start(epoch)
        start, end = (instant_text(schedule.epoch_start(epoch)) for epoch in (3, 4))
        words = {"closed": "so these counts are final", "grace": "late reports are still accepted"}
        assert f"{start} to {end}" in str(histogram)
        assert words.get(state, str(state)) in str(histogram)
    untold = strict_json(estimate_histogram(MANIFEST, 3, COUNTS))
    assert (untold["state"], untold["seal"]) == (None, None)


def test_the_pure_level_is_stated_where_delta_is_not_zero_and_who_vouches() -> None:
    leaky = estimate_histogram(manifest(delta="0.3"), 0, COUNTS)
    # e^eps' = (E + m delta)/(1 - delta)
    assert float(leaky.pure_epsilon) == pytest.approx(math.log((math.e + 4 * 0.3) / 0.7), rel=1e-9)
    assert "delta 0.3" in str(leaky)
    certified = manifest(enrolment=Enrolment("certificate", (ISSUER,)))
    assert ISSUER.hex()[:16] in str(estimate_histogram(certified, 0, COUNTS))


def test_to_dict_is_json_with_one_row_a_category() -> None:
    written = strict_json(estimate_histogram(MANIFEST, 3, COUNTS))
    assert [row["category"] for row in written["categories"]] == list(CATEGORIES)
    assert [row["raw"] for row in written["categories"]] == list(COUNTS)
    assert sum(row["estimate"] for row in written["categories"]) == pytest.approx(1)
    assert " ".join(written) == (
        "survey survey_id question epochs start end state seal n level "
        "mechanism epsilon delta pure_epsilon enrolment anonymity_set poisoning "
        "distrusted revealed kept_range numeric "
        "distribution categories cautions"
    )
    assert (written["mechanism"], written["numeric"]) == ("randomised-response", None)
    assert " ".join(written["categories"][0]) == (
        "category raw estimate standard_error low high simultaneous_low simultaneous_high method "
        "outside impossible influence answered count count_low count_high"
    )
    assert " ".join(written["poisoning"]) == (
        "influence bias_at_1_percent detectable_share false_alarm fewest_fakes"
    )
    assert [row["impossible"] for row in written["categories"]] == [False] * 3 + [True] * 2
    assert written["epochs"] == [3]
    assert {row["method"] for row in written["categories"]} == {"wilson"}


def test_one_report_has_no_standard_error_and_says_so_without_nan() -> None:
    histogram = estimate_histogram(MANIFEST, 0, (0, 0, 1, 0, 0))
    assert np.isnan(histogram.standard_error).all()
    rows = strict_json(histogram)["categories"]
    assert [row["standard_error"] for row in rows] == [None] * 5
    assert all(0 <= row["low"] <= row["high"] <= 1 for row in rows)


@pytest.mark.parametrize("epsilon", ["40", "1", "0.000001"])
def test_no_counts_and_no_level_put_nan_into_json(epsilon: str) -> None:
    survey = manifest(epsilon=epsilon)
    some_counts = (653, 0, 0, 0, 0), (0, 0, 0, 0, 10**15), COUNTS
    for counts, level in product(some_counts, (1e-9, 0.95, 1 - 2**-53)):
        assert strict_json(estimate_histogram(survey, 0, counts, level))["n"] == sum(counts)


def test_as_text_it_shows_every_category_with_estimate_and_interval() -> None:
    histogram = estimate_histogram(MANIFEST, 3, COUNTS)
    lines = str(histogram).splitlines()
    assert QUESTION in map(str.strip, lines)
    assert any(re.match("reports +653 devices answered", line) for line in lines)
    assert "epsilon  1" in lines
    rows = lines[next(n for n, line in enumerate(lines) if line.startswith("answer ")) + 1 :][:5]
    for i, (category, row) in enumerate(zip(CATEGORIES, rows, strict=True)):
        assert category in row
        assert f"{np.clip(histogram.estimate[i], 0, 1):.1%}" in row
        ends = (histogram.simultaneous.low[i], histogram.simultaneous.high[i])
        assert f"{ends[0]:.1%} to {ends[1]:.1%}" in row
    assert set(histogram.simultaneous.outside.tolist()) == {False, True}
    assert any("nobody vouches" in line for line in lines)


def test_the_largest_survey_is_estimated_without_its_matrix() -> None:
    # P would have 2^28 entries, 2 GiB of them, or 2^32, 32 GiB.
    k = 65_536 if THOROUGH else 16_384
    largest = replace(MANIFEST, categories=tuple(f"c{number}" for number in range(k)))
    counts = [1] * k
    counts[k - 1] = 10_000
    histogram = estimate_histogram(largest, 0, counts)
    assert histogram.estimate.shape == (k,)
    assert histogram.estimate.sum() == pytest.approx(1, abs=1e-6)
    assert histogram.estimate.argmax() == k - 1
    assert len(category_rows(histogram)) == k


NUMERIC = manifest(
    categories=tuple(map(str, range(101))),
    specification=specified("levels", 101, "1"),
)


def test_as_text_no_share_is_shown_whose_interval_is_worth_little() -> None:
    # Of few reports groups with wide intervals are made, of many more some that are worth it.
    few, many = (
        estimate_histogram(NUMERIC, 0, even_counts(NUMERIC.mechanism, n)) for n in (300, 3_000)
    )
    few_text, many_text = str(few), str(many)
    assert few.numeric is not None
    assert many.numeric is not None
    assert all(group.share.high - group.share.low > 0.5 for group in few.numeric.bins)
    assert "█" not in few_text
    assert "smoothed" not in few_text
    for group in few.numeric.bins:
        assert f"{group.share.value:.1%}" not in few_text
        assert group.label in few_text
    for group in many.numeric.bins:
        assert f"{group.label}  " in many_text
        assert f"{group.share.value:.1%}" in many_text
    assert "Shares and quartiles are smoothed over" in many_text
    assert "more than half" not in many_text


def test_one_numeric_report_is_json_without_nan() -> None:
    one = estimate_histogram(NUMERIC, 0, {NUMERIC.mechanism.responses - 30: 1})
    written = strict_json(one)
    numeric = written["numeric"]
    assert numeric["mean"]["standard_error"] is None
    assert (numeric["mean"]["low"], numeric["mean"]["high"]) == (0, 100)
    assert "nan" not in str(one)


FIVE = [120, 90, 100, 110, 127]

TAKING = {"estimate_histogram": estimate_histogram, "of_counts": Histogram.of_counts}
GIVEN: list[dict[str, Any]] = [
    {"mechanism": RandomisedResponse(5, "1"), "manifest": MANIFEST},
    {
        "mechanism": clamped(5, Fraction(4, 5)),
        "manifest": manifest(
            categories=("0", "1", "2", "3", "4"),
            specification=calibrated("levels", 5, "1", {"widths": (1,)}),
        ),
    },
]


def results(function: Callable[..., Any], given: dict[str, Any], counts: Any) -> str:
    given = given | {"counts": counts, "epoch": 0}
    given |= {"categories": "abcde", "level": 0.9}
    wanted = inspect.signature(function).parameters
    return repr(function(**{name: given[name] for name in wanted if name in given}))


@pytest.mark.parametrize("given", GIVEN, ids=["two-valued", "general"])
@pytest.mark.parametrize("function", TAKING.values(), ids=TAKING)
def test_integers_of_numpy_do_not_wrap_around_and_what_is_none_is_not_truncated(
    function: Callable[..., Any], given: dict[str, Any]
) -> None:
    exact = results(function, given, FIVE)
    for dtype in (np.int8, np.uint8, np.int16, np.int64):
        assert results(function, given, np.array(FIVE, dtype)) == exact
    for kind in (float, np.float64, Fraction, Decimal):
        for wrong in ([kind(120.5), *FIVE[1:]], [kind(c) for c in FIVE]):
            with pytest.raises(TypeError, match="counts must be integers"):
                results(function, given, wrong)


def test_counts_go_by_whole_numbers_of_responses_and_are_below_64_bits() -> None:
    mechanism = RandomisedResponse(5, "1")
    none: list[dict[Any, int]] = [{1.7: 2}, {"3": 1}, {True: 5, 2.0: 1}]
    for wrong in none:
        with pytest.raises(TypeError, match="numbers of responses"):
            debias(mechanism, wrong)
    with pytest.raises(ValueError, match="64 bits"):
        debias(mechanism, [1 << 62] * 5)
