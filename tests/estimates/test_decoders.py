"""Every decoder's figures are those of exact rational arithmetic, whatever the matrix's shape."""

import csv
import io
import re
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.estimates import (
    Model,
    covariance,
    decoder_of,
    estimate_histogram,
    fewest_fakes,
    frequency_intervals,
    impossible_counts,
    linear_query,
    quantiles,
    reports_for_half_width,
)
from deniable.estimates.decoders import Decoder, SupportDecoder
from deniable.estimates.decoders.dense import DenseDecoder
from deniable.mechanisms import Mechanism, RandomisedResponse, TwoRound
from deniable.mechanisms.subset import Subset
from deniable.presenting.fields import HISTOGRAM_SCHEMAS, histogram_csv
from tests.estimates.matrices import (
    FORMULAS,
    MECHANISMS,
    NON_SQUARE,
    SURVEYED,
    Floats,
    exact_left_inverse,
    subset_selection,
)
from tests.support.effort import effort
from tests.support.kinds import KINDS as SURVEYS
from tests.support.kinds import calibrated
from tests.support.surveys import MANIFEST, manifest


class SubsetDecoder(SupportDecoder):
    """What a later kind needs of its own: sums over what supports what, and four probabilities."""

    def __init__(self, categories: int, size: int, odds: int) -> None:
        blocks = list(combinations(range(categories), size))
        self._incidence = np.array([[x in block for block in blocks] for x in range(categories)])
        supporting, both = int(self._incidence[0].sum()), int(self._incidence[:2].all(axis=0).sum())
        total = supporting * odds + len(blocks) - supporting
        hit = Fraction(supporting * odds, total)
        miss = Fraction(both * odds + supporting - both, total)
        super().__init__(
            categories, len(blocks), hit, miss, Fraction(odds, total), Fraction(1, total)
        )

    def supports(self, values: Any) -> Any:
        return values @ self._incidence.T

    def supported(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self._incidence)


DECODERS: dict[str, tuple[Mechanism, Decoder]] = {
    **{name: (each, decoder_of(each)) for name, each in (MECHANISMS | SURVEYED).items()},
    **{name: (each, DenseDecoder(each)) for name, each in NON_SQUARE.items()},
    "four": (FORMULAS, decoder_of(FORMULAS)),
    "two-round": (TwoRound(Subset(4, 1), "1", "2"), decoder_of(TwoRound(Subset(4, 1), "1", "2"))),
    "two-round, little of a report": (
        TwoRound(Subset(3, 1), "0.05", "3"),
        decoder_of(TwoRound(Subset(3, 1), "0.05", "3")),
    ),
    "subsets in closed form": (subset_selection(5, 2, 3), SubsetDecoder(5, 2, 3)),
    "large subsets in closed form": (subset_selection(6, 3, 7), SubsetDecoder(6, 3, 7)),
}
every_decoder = pytest.mark.parametrize(
    ("mechanism", "decoder"), DECODERS.values(), ids=list(DECODERS)
)


def floats(rows: list[list[Fraction]]) -> Floats:
    return np.array([[float(entry) for entry in row] for row in rows])


def exact(mechanism: Mechanism) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Return P and G in Fractions."""
    inverse = exact_left_inverse(mechanism)
    assert inverse is not None
    k, responses = mechanism.categories, mechanism.responses
    return [[mechanism.probability(x, y) for y in range(responses)] for x in range(k)], inverse


def mixed(weights: list[Fraction], values: list[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))


def counts_of(responses: int) -> Iterator[list[int]]:
    generator = np.random.default_rng(3)
    yield [1 + 7 * y for y in range(responses)]
    yield [40 * (y == responses - 1) for y in range(responses)]
    for law in generator.dirichlet(np.full(responses, 0.5), 4):
        yield generator.multinomial(200, law).tolist()


@every_decoder
def test_kernels_moments_and_extremes_are_exact(mechanism: Mechanism, decoder: Decoder) -> None:
    matrix, inverse = exact(mechanism)
    k = mechanism.categories
    for j, kernel in enumerate(inverse):
        assert [mixed(row, kernel) for row in matrix] == [x == j for x in range(k)]
    kernels = decoder.kernels(np.eye(k))
    np.testing.assert_allclose(kernels, floats(inverse), rtol=1e-9, atol=1e-11)
    squares = [[mixed(row, [g**2 for g in kernel]) for row in matrix] for kernel in inverse]
    np.testing.assert_allclose(decoder.means(kernels**2), floats(squares), rtol=1e-9)
    others = [[moment for x, moment in enumerate(row) if x != j] for j, row in enumerate(squares)]
    variances = [[m - (x == j) for x, m in enumerate(row)] for j, row in enumerate(squares)]
    expected = (
        [row[j] for j, row in enumerate(squares)],
        [max(row) for row in others],
        [min(row) for row in variances],
    )
    moments = decoder.moments
    for found, right in zip(
        (moments.own, moments.other, moments.least_variance), expected, strict=True
    ):
        np.testing.assert_allclose(found, [float(x) for x in right], rtol=1e-8, atol=1e-10)
    reach = decoder.extremes
    for found, least in ((reach.least, min), (reach.most, max)):
        np.testing.assert_allclose(found, [float(least(kernel)) for kernel in inverse], rtol=1e-9)


@every_decoder
def test_figures_are_exact(mechanism: Mechanism, decoder: Decoder) -> None:
    matrix, inverse = exact(mechanism)
    k, responses = mechanism.categories, mechanism.responses
    f = [Fraction(x + 1, k * (k + 1) // 2) for x in range(k)]
    shares = [mixed(f, [row[y] for row in matrix]) for y in range(responses)]
    np.testing.assert_allclose(
        decoder.response_shares(np.array(f, float)), np.array(shares, float), rtol=1e-12
    )
    for counts in counts_of(responses):
        tally = decoder.tally(counts)
        sparse = decoder.tally({y: count for y, count in enumerate(counts) if count})
        assert (sparse.n, sparse.counts.tolist()) == (sum(counts), counts)
        seen = [Fraction(count, sum(counts)) for count in counts]
        estimate = [mixed(kernel, seen) for kernel in inverse]
        np.testing.assert_allclose(
            decoder.frequencies(tally), np.array(estimate, float), rtol=1e-9, atol=1e-9
        )
        for model in Model:
            squares = [mixed([g**2 for g in kernel], seen) for kernel in inverse]
            less = [e**2 if model is Model.SAMPLED else e for e in estimate]
            degrees = sum(counts) - (model is Model.SAMPLED)
            variances = [
                max((square - e) / degrees, Fraction(0))
                for square, e in zip(squares, less, strict=True)
            ]
            np.testing.assert_allclose(
                decoder.standard_errors(tally, model) ** 2,
                np.array(variances, float),
                rtol=1e-7,
                atol=1e-10,
            )


@st.composite
def any_matrix(draw: st.DrawFn) -> SolutionMatrix:
    k = draw(st.integers(2, 4))
    responses = draw(st.integers(k, k + 4))
    weights = st.lists(st.integers(0, 50), min_size=responses, max_size=responses).filter(any)
    return SolutionMatrix.exact(
        [[Fraction(w, sum(row)) for w in row] for row in (draw(weights) for _ in range(k))]
    )


@settings(max_examples=effort(150))
@given(any_matrix())
def test_a_random_matrix_has_the_left_inverse_solved_in_fractions(matrix: SolutionMatrix) -> None:
    inverse = exact_left_inverse(matrix)
    assume(inverse is not None)
    assert inverse is not None
    # Rounding errors of 1e-16 stay below 1e-9.
    assume(max(abs(g) for kernel in inverse for g in kernel) < 10**4)
    kernels = DenseDecoder(matrix).kernels(np.eye(matrix.categories))
    np.testing.assert_allclose(kernels, floats(inverse), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("matrix", NON_SQUARE.values(), ids=NON_SQUARE)
def test_every_figure_exists_where_responses_are_not_categories(matrix: SolutionMatrix) -> None:
    k, responses = matrix.categories, matrix.responses
    honest = [round(1000 * share) for share in decoder_of(matrix).even_shares]
    intervals = frequency_intervals(matrix, honest, 0.95)
    assert ((intervals.low <= 1 / k) & (1 / k <= intervals.high)).all()
    middle = quantiles(matrix, honest, [Fraction(x) for x in range(k)], (0.5,))[0]
    assert middle.low <= middle.value <= middle.high
    assert linear_query(matrix, honest, range(k)).standard_error > 0
    assert reports_for_half_width(matrix, 0.05) > 0
    flags, below = impossible_counts(matrix, honest)
    assert (flags.shape, below.shape) == ((responses,), (k,))
    assert not flags.any()
    assert not below.any()
    assert fewest_fakes(matrix, honest) == 0
    most = max(range(responses), key=lambda y: honest[y])
    assert fewest_fakes(matrix, [10**6 * (y == most) for y in range(responses)]) > 0
    for model in Model:
        spread = covariance(matrix, np.full(k, 1 / k), 10, model)
        assert np.linalg.eigvalsh(spread).min() > -1e-12


def test_a_histogram_labels_raw_counts_by_what_devices_send() -> None:
    labels = ("no", "rather not", "rather", "yes")
    matrix = (("0.4", "0.3", "0.2", "0.1"), ("0.1", "0.2", "0.3", "0.4"))
    specification = calibrated("matrix", 2, "2", {"matrix": matrix, "responses": labels})
    survey = manifest(categories=("no", "yes"), epsilon="2", specification=specification)
    histogram = estimate_histogram(survey, 0, (400, 300, 200, 100))
    written = histogram.to_dict()
    assert written["responses"] == [
        {"response": label, "raw": raw, "impossible": False}
        for label, raw in zip(labels, (400, 300, 200, 100), strict=True)
    ]
    rows = written["categories"]
    assert isinstance(rows, list)
    assert [(row["category"], row["raw"]) for row in rows] == [("no", None), ("yes", None)]
    assert rows[0]["estimate"] == pytest.approx(1)
    assert re.search(r"^answer .*\nno .*\nyes ", str(histogram), re.MULTILINE)
    parsed = list(csv.DictReader(io.StringIO(histogram_csv(histogram))))
    assert [(row["category"], row["response"], row["raw"]) for row in parsed] == [
        *(("no", "", ""), ("yes", "", "")),
        *(("", label, str(raw)) for label, raw in zip(labels, (400, 300, 200, 100), strict=True)),
    ]
    assert re.search(
        r"^response +raw *\nno +400 *\nrather not +300 *\n", str(histogram), re.MULTILINE
    )
    # So do all other kinds' histograms have the members that their schema lists.
    schema = HISTOGRAM_SCHEMAS["Histogram"] | {"components": {"schemas": HISTOGRAM_SCHEMAS}}
    numeric = SURVEYS["numeric"]
    others = [
        estimate_histogram(MANIFEST, 0, (0, 0, 1, 0, 0)),
        estimate_histogram(numeric, 0, [1000] * len(numeric.categories)),
    ]
    for each in (histogram, *others):
        import_module("jsonschema").validate(each.to_dict(), schema)
        assert set(each.to_dict()) >= set(schema["required"])
    # Too few of the honest say the one thing, and too many the other.
    poisoned = estimate_histogram(survey, 0, (5000, 3000, 2000, 10))
    assert poisoned.impossible == ("yes", "no", "yes")
    assert "!! Not to be used: honest devices do not cause" in str(poisoned)


def test_decoders_are_shared_by_equal_mechanisms_and_kept() -> None:
    made = decoder_of(RandomisedResponse(5, "1"))
    assert decoder_of(RandomisedResponse(5, "1")) is made
    assert decoder_of(RandomisedResponse(5, "2")) is not made


def test_checked_counts_are_taken_as_they_are_but_not_of_another_mechanism() -> None:
    tally = decoder_of(FORMULAS).tally((1, 2, 3, 4))
    assert decoder_of(FORMULAS).tally(tally) is tally
    assert frequency_intervals(FORMULAS, tally, 0.95).methods
    with pytest.raises(ValueError, match="another mechanism"):
        decoder_of(RandomisedResponse(5, "1")).tally(tally)


@pytest.mark.parametrize(
    ("counts", "problem"),
    [({4: 1}, "numbered from 0 to 3"), ({0: 0}, "no reports"), ({}, "no reports"), ({1: -1}, "no")],
)
def test_sparse_counts_that_allow_no_estimate_are_refused(
    counts: dict[int, int], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        decoder_of(FORMULAS).tally(counts)
