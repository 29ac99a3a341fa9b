"""Coverage: how often intervals hold the truth, of every kind of mechanism.

Figures of docs/coverage.md. Counts are drawn by their exact law (``SimulatedReports``). Where the
intervals are those of binomial counts, all runs are looked at together, by the same
``binomial_intervals`` and the same sum of squares that the object uses; elsewhere each run goes
through ``intervals_of`` and ``Form.estimate``, as a ``Histogram`` and its differences do.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import write
from deniable.estimates import NotInvertible, decoder_of
from deniable.estimates.binomial import binomial_intervals
from deniable.estimates.change import changed
from deniable.estimates.curve import cumulative_curve
from deniable.estimates.decoders import Decoder, SupportDecoder
from deniable.estimates.estimate import Estimate, estimate_of, query_of
from deniable.estimates.forms import Form, Sample, Unit
from deniable.estimates.frequencies import intervals_of
from deniable.estimates.means import mean_of
from deniable.mechanisms import KINDS, Mechanism
from deniable.mechanisms.exact import GridTooCoarse
from deniable.messages import InvalidManifest
from deniable.planning import Candidate, best, candidates
from deniable.planning.calibration import CALIBRATIONS
from deniable.planning.specification import best_tree
from deniable.publishing.survey_matrix import certified_settings
from deniable.simulation import SimulatedReports, read_truth

Floats = NDArray[np.float64]

SIZES: Final = (2, 5, 16, 105, 1024)
EPSILONS: Final = ("0.5", "1", "2", "4")
REPORTS: Final = (300, 3_000, 100_000)
LEVEL: Final = 0.95

_TOGETHER: Final = {2: 4_000, 5: 4_000, 16: 4_000, 105: 500, 1024: 200}
"""Runs that are looked at together; each by itself takes longer, so that there are fewer."""
_EACH: Final = {2: 400, 5: 400, 16: 100, 105: 25, 1024: 5}
_MOST_COUNTS: Final = 1 << 23
_TESTS: Final = {2: 200, 5: 200, 16: 50, 105: 12, 1024: 0}
_BAND: Final = (94.0, 97.0)
_TELLS: Final = 0.5
"""Percentage points: with a larger error of one setting, a range over settings tells nothing."""
_OTHER: Final = 3
"""The other epoch of a difference has so many times fewer reports."""


class Covered(NamedTuple):
    """What each run says: shares of single intervals, whether all at once, and of differences.

    And whether the test of no change, at 5 %, found none. What was not looked at is empty.
    """

    single: Floats
    together: Floats
    difference: Floats
    unchanged: Floats


_NONE: Final = np.empty(0)


def truths(sizes: tuple[int, ...]) -> Mapping[str, Floats]:
    """Return the truths of questions with so many answers, one after the other."""

    def each(of: Callable[[int], Floats]) -> Floats:
        return np.concatenate([of(size) for size in sizes])

    def half(k: int) -> Floats:
        held = -(-k // 2)
        return np.repeat([1 / held, 0.0], [held, k - held])

    return {
        "uniform": each(lambda k: np.full(k, 1 / k)),
        "zipf": each(lambda k: read_truth("zipf", [str(j) for j in range(k)])),
        "one point": each(lambda k: np.eye(k)[0]),
        "half empty": each(half),
    }


def at_once(decoder: Decoder) -> float:
    """Return the level of one of the simultaneous intervals, as a histogram has it."""
    return 1 - (1 - LEVEL) / decoder.categories


def elsewhere(truth: Floats) -> Floats:
    """Return the truth of the other epoch: every share half way to that of its mirror image."""
    return (truth + truth[::-1]) / 2


def measured(
    mechanism: Mechanism,
    truth: Floats,
    n: int,
    *,
    runs: int,
    seed: int,
    tests: int = 0,
    asked: Floats | None = None,
) -> Covered:
    """Return the coverage of n reports' figures, and of differences from a third as many.

    ``asked`` are weights, a row a query, that are looked at in place of the single categories.
    """
    decoder = decoder_of(mechanism)
    other = elsewhere(truth) if len(decoder.parts) == 1 else truth
    reports = SimulatedReports(mechanism, truth, seed)
    others = SimulatedReports(mechanism, other, seed + 1)
    unchanged = SimulatedReports(mechanism, truth, seed + 1)

    def sample(of: SimulatedReports, devices: int, run: int) -> Sample:
        return Sample(mechanism, decoder.tally(of.counts(devices, run).tolist()))

    rows, found = [], list[bool]()
    for run in range(runs):
        one = sample(reports, n, run)
        if asked is None:
            weights = np.eye(1, decoder.categories, run % decoder.categories)[0]
            single = _hit(mechanism, one, truth, LEVEL)
        else:
            weights = asked[run % len(asked)]
            single = np.array([_holds(query_of(one, each), each @ truth) for each in asked])
        less = Form({one: weights, sample(others, n // _OTHER, run): -weights})
        rows.append(
            (
                single.mean(),
                _hit(mechanism, one, truth, at_once(decoder)).all(),
                _holds(
                    estimate_of(less, LEVEL, "", Unit.DIFFERENCE), float(weights @ (truth - other))
                ),
            )
        )
        if run < tests:
            test = changed(one, sample(unchanged, n // _OTHER, run))
            found.append(test.p_value >= 1 - LEVEL)
    each, together, difference = np.array(rows, dtype=np.float64).T
    return Covered(each, together, difference, np.array(found, dtype=np.float64))


def _holds(estimate: Estimate, true: float) -> bool:
    # Shares of 0 and 1 as floats add them up.
    return estimate.low - 1e-12 <= true <= estimate.high + 1e-12


def margins_of(k: int) -> Floats:
    """Return the weights of the first and the last answer to each of two questions."""
    first, second = questions_of("joint", k)
    table = np.zeros((4, first, second))
    table[0, 0], table[1, -1], table[2, :, 0], table[3, :, -1] = 1, 1, 1, 1
    return table.reshape(4, k)


def _hit(_mechanism: Mechanism, sample: Sample, truth: Floats, level: float) -> NDArray[np.bool_]:
    found = intervals_of(sample.decoder, sample.tally, level)
    return (found.low <= truth) & (truth <= found.high)


def counted(decoder: Decoder) -> bool:
    """Return whether the intervals are those of binomial counts, of each category by itself."""
    if not isinstance(decoder, SupportDecoder):
        return False
    # Of a design that has points beyond the categories, intervals move with what is missing.
    return np.allclose(SupportDecoder.kernels(decoder, np.ones(decoder.categories)), 1.0)


def measured_together(
    mechanism: Mechanism, truth: Floats, n: int, *, runs: int, seed: int
) -> Covered:
    """Return the same of binomial counts, for all runs at once, and without tests.

    The map from a count's share to a frequency rises, so that intervals cover both alike.
    """
    decoder = decoder_of(mechanism)
    assert isinstance(decoder, SupportDecoder)
    generator = np.random.default_rng(seed)
    runs = min(runs, _MOST_COUNTS // decoder.responses)
    law, other_law = (decoder.response_shares(each) for each in (truth, elsewhere(truth)))
    first = decoder.supports(generator.multinomial(n, law / law.sum(), runs))
    second = decoder.supports(generator.multinomial(n // _OTHER, other_law / other_law.sum(), runs))
    share, other = decoder.supports(law), decoder.supports(other_law)

    low, high = _limits(first, n, LEVEL)
    single = np.asarray(((low <= share) & (share <= high)).mean(axis=1))
    wide_low, wide_high = _limits(first, n, at_once(decoder))
    together = np.all((wide_low <= share) & (share <= wide_high), axis=1).astype(np.float64)
    less, more = _limits(second, n // _OTHER, LEVEL)
    one, two = first / n, second / (n // _OTHER)
    below, above = np.hypot(one - low, more - two), np.hypot(high - one, two - less)
    error = one - two - (share - other)
    difference = np.asarray(((-above <= error) & (error <= below)).mean(axis=1))
    return Covered(single, together, difference, _NONE)


def _limits(counts: NDArray[np.int64], n: int, level: float) -> tuple[Floats, Floats]:
    values, places = np.unique(counts, return_inverse=True)
    low, high, _ = binomial_intervals(values.astype(np.float64), n, level)
    at = places.reshape(counts.shape)
    return low[at], high[at]


def measured_mean(mechanism: Mechanism, truth: Floats, n: int, *, runs: int, seed: int) -> Covered:
    """Return the coverage of the mean of numbers, and of differences of means."""
    decoder = decoder_of(mechanism)
    values = [Fraction(at) for at in range(mechanism.categories)]
    reports = SimulatedReports(mechanism, truth, seed)
    others = SimulatedReports(mechanism, elsewhere(truth), seed + 1)
    true, mirrored = (each @ np.arange(len(truth)) for each in (truth, elsewhere(truth)))
    rows = []
    for run in range(runs):
        one, two = (
            mean_of(Sample(mechanism, decoder.tally(of.counts(devices, run).tolist())), values)
            for of, devices in ((reports, n), (others, n // _OTHER))
        )
        rows.append((_holds(one, float(true)), _holds(one - two, float(true - mirrored))))
    single, difference = np.array(rows, dtype=np.float64).T
    return Covered(single, _NONE, difference, _NONE)


def measured_band(mechanism: Mechanism, truth: Floats, n: int, *, runs: int, seed: int) -> Covered:
    """Return how often the band of the cumulative curve holds all of it."""
    decoder, true = decoder_of(mechanism), np.cumsum(truth)
    reports = SimulatedReports(mechanism, truth, seed)
    names, held = tuple(map(str, range(decoder.categories))), []
    for run in range(runs):
        curve = cumulative_curve(mechanism, reports.counts(n, run).tolist(), names, LEVEL)
        share = true[list(map(int, curve.categories))]
        held.append(((curve.low <= share + 1e-9) & (share <= curve.high + 1e-9)).all())
    return Covered(_NONE, np.array(held, dtype=np.float64), _NONE, _NONE)


def mechanism_of(kind: str, k: int, epsilon: str) -> Mechanism | None:
    """Return a kind's mechanism of so many categories; None if there is none."""
    try:
        parameters = CALIBRATIONS[kind](_settings(kind, k, epsilon), k, epsilon)
        made = KINDS[kind].mechanism(parameters, k, epsilon, "0")
        decoder_of(made)
    except (_NoSuch, InvalidManifest, GridTooCoarse, NotInvertible):
        return None
    return made


def questions_of(kind: str, k: int) -> tuple[int, ...]:
    """Return how many answers the questions have that make so many categories."""
    if kind == "one-question":
        return k // 2, k - k // 2
    if kind == "joint":
        first = max(each for each in range(1, int(k**0.5) + 1) if k % each == 0)
        return first, k // first
    return (k,)


class _NoSuch(ValueError):
    """There is no mechanism of the size."""


def _settings(kind: str, k: int, epsilon: str) -> Mapping[str, Any]:
    dimensions = tuple(
        (f"question {at}", *(f"answer {j}" for j in range(size)))
        for at, size in enumerate(questions_of(kind, k))
    )
    match kind:
        case "two-round":
            return {"kept": f"{2 * float(epsilon):g}"}
        case "subset" | "affine" | "difference-set":
            return _best(kind, k, epsilon).parameters
        case "matrix":
            return _rectangle(k, epsilon)
        case "one-question":
            return {"dimensions": dimensions}
        case "levels":
            return best_tree(k, float(epsilon))
        case "joint":
            chosen = best(k, epsilon).candidate
            answering = (chosen.kind, *chosen.parameters.values())
            return {"dimensions": dimensions, "mechanism": answering}
    return {}


def _best(kind: str, k: int, epsilon: str) -> Candidate:
    """Return the best design of a kind."""
    those = [each for each in candidates(k, float(epsilon)) if each.kind == kind]
    if not those:
        raise _NoSuch
    return min(those, key=lambda each: each.cost(float(epsilon)))


def _rectangle(k: int, epsilon: str) -> Mapping[str, Any]:
    """Return a matrix that is not square: the truth, as likely an answer near it, or neither."""
    if 2 * k + 1 > 64:
        raise _NoSuch
    odds = Fraction(int(np.exp(float(epsilon)) * 10**6), 10**6)

    def row(x: int) -> tuple[Fraction, ...]:
        kept = [odds if y == x else Fraction(1) for y in range(k)]
        near = [odds if y in (x, (x + 1) % k) else Fraction(1) for y in range(k)]
        weights = [*kept, *near, Fraction(1)]
        return tuple(each / sum(weights) for each in weights)

    labels = tuple(f"response {at}" for at in range(2 * k + 1))
    return certified_settings([row(x) for x in range(k)], labels, k, epsilon)


def run() -> None:
    """Measure, print, and write the tables of docs/coverage.md."""
    rows = [row for row in _rows() if any(row.found.values())]  # else there is no such mechanism
    lines = [
        "| kind | k | " + " | ".join(f"{n:,}: each | all | difference" for n in REPORTS) + " |",
        "|---" * (2 + 3 * len(REPORTS)) + "|",
        *(row.line(("single", "together", "difference")) for row in rows),
    ]
    print("\n".join(lines))
    tested = [row for row in rows if row.found[REPORTS[0]][0].unchanged.size]
    tests = [
        "| kind | k | " + " | ".join(f"{n:,}" for n in REPORTS) + " |",
        "|---" * (2 + len(REPORTS)) + "|",
        *(row.line(("unchanged",)) for row in tested),
    ]
    print("\n".join(tests))
    print("\n".join(_outside(rows)))
    write({"coverage-intervals": lines, "coverage-tests": tests})


class _Row(NamedTuple):
    name: str
    size: int
    found: Mapping[int, list[Covered]]

    def line(self, figures: tuple[str, ...]) -> str:
        cells = [_cell([getattr(c, f) for c in self.found[n]]) for n in REPORTS for f in figures]
        return f"| {self.name} | {self.size:,} | {' | '.join(cells)} |"


def _cell(runs: list[Floats]) -> str:
    """Return the mean, and the range if runs are many enough to tell, else twice the error."""
    if not runs or not runs[0].size:
        return "-"
    means = np.array([100 * each.mean() for each in runs])
    if max(map(_error, runs)) < _TELLS:
        return f"{means.mean():.1f} ({means.min():.1f}–{means.max():.1f})"
    return f"{means.mean():.1f} ± {max(2 * _error(np.concatenate(runs)), 0.1):.1f}"


def _outside(rows: list[_Row]) -> Iterator[str]:
    """Tell which settings are outside 94 to 97 % by more than three of their errors."""
    for row in rows:
        for n, figure in product(REPORTS[1:], ("single", "together", "difference")):
            runs = [getattr(each, figure) for each in row.found[n]]
            means = [100 * each.mean() for each in runs if each.size]
            errors = [3 * _error(each) for each in runs if each.size]
            low = [m for m, e in zip(means, errors, strict=True) if m + e < _BAND[0]]
            high = [m for m, e in zip(means, errors, strict=True) if m - e > _BAND[1]]
            if low or high:
                told = f"{len(low)} below (least {min(means):.1f}), {len(high)} above"
                yield f"{row.name} {row.size:,} {n:,} {figure}: of {len(means)} settings {told}"


def _error(runs: Floats) -> float:
    """Return the standard error of the mean, in percentage points."""
    spread = runs.std()
    if np.isin(runs, (0, 1)).all():
        # Where all runs hold, it is not 0: as if two more did, and two did not (Agresti, Coull).
        held = (runs.sum() + 2) / (runs.size + 4)
        spread = np.sqrt(held * (1 - held))
    return float(100 * spread / np.sqrt(runs.size))


def _rows() -> Iterator[_Row]:
    for kind in KINDS:
        if kind == "mean":
            continue  # it has no shares
        # Of two answers there is no tree, and of many its intervals take long.
        for size in SIZES[1:4] if kind == "levels" else SIZES:
            yield _row(kind, size, kind)
    for size in SIZES:
        yield _row("mean", size, "mean", measured_mean)
    for size in SIZES[1:3]:
        yield _row("levels", size, "levels, its curve", measured_band)


def _row(kind: str, size: int, name: str, own: Callable[..., Covered] | None = None) -> _Row:
    found: dict[int, list[Covered]] = {n: [] for n in REPORTS}
    for epsilon in EPSILONS:
        mechanism = mechanism_of(kind, size, epsilon)
        if mechanism is None:
            continue
        decoder = decoder_of(mechanism)
        sizes = tuple(part.decoder.categories for part in decoder.parts)
        runs = _EACH[size]
        for place, truth in enumerate(truths(sizes).values()):
            for n in REPORTS:
                # Settings share no chance, so that their errors can be added up.
                seed = crc32(f"{name} {size} {epsilon} {place} {n}".encode())
                if own is not None:
                    made = own(mechanism, truth, n, runs=runs, seed=seed)
                elif counted(decoder) and kind != "joint":
                    made = measured_together(mechanism, truth, n, runs=_TOGETHER[size], seed=seed)
                    if tests := _TESTS[size]:
                        each = measured(mechanism, truth, n, runs=tests, seed=seed, tests=tests)
                        made = made._replace(unchanged=each.unchanged)
                else:
                    made = measured(
                        mechanism,
                        truth,
                        n,
                        runs=runs,
                        seed=seed,
                        tests=_TESTS[size],
                        asked=margins_of(size) if kind == "joint" else None,
                    )
                found[n].append(made)
    return _Row(name, size, found)
