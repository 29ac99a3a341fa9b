"""Coverage of shares within groups, of what compares them, and of ranks: for docs/coverage.md.

Counts are drawn by their exact law. Of two questions asked together, one answer to the second is
looked at among those who gave the first answer to the first, a small group or a large one, and
among those who gave the second; they are rarer, or more frequent, there.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import LEVEL, Floats, mechanism_of, questions_of, truths
from benchmarks.table import write
from deniable.estimates import Estimate, decoder_of
from deniable.estimates.estimate import share_within
from deniable.estimates.forms import Form, Sample
from deniable.estimates.questions import association, ranks_of
from deniable.mechanisms import Mechanism
from deniable.simulation import SimulatedReports

KINDS: Final = ("randomised-response", "subset", "affine")
EPSILONS: Final = ("0.5", "1", "2", "4", "6")
REPORTS: Final = (30, 100, 300, 1_000, 3_000, 10_000, 100_000)
GROUPS: Final = (0.02, 0.1, 0.4, 0.95)
_RUNS: Final = {16: 50, 105: 25}
_RANKED: Final = 200
_FEW: Final = 100
"""With fewer intervals, the share of them that hold tells nothing."""


class Within(NamedTuple):
    """Which runs have an interval, and whether it holds: of a share, a difference, a multiple.

    Arrays of (runs, 3).
    """

    told: NDArray[np.bool_]
    held: NDArray[np.bool_]


def measured(mechanism: Mechanism, k: int, group: float, n: int, *, runs: int, seed: int) -> Within:
    """Return the coverage of n reports' figures; the group is such a share of all devices."""
    table = joint_truth(k, group)
    truth, decoder = table.reshape(-1), decoder_of(mechanism)
    reports = SimulatedReports(mechanism, truth, seed)
    groups = [holding(table.shape, row, slice(None)) for row in (0, 1)]
    parts = [holding(table.shape, row, -1) for row in (0, 1)]
    pairs = zip(parts, groups, strict=True)
    one, other = (float(part @ truth) / float(whole @ truth) for part, whole in pairs)
    true = (one, one - other, one / other)
    told, held = [], []
    for run in range(runs):
        sample = Sample(mechanism, decoder.tally(reports.counts(n, run).tolist()))
        first, second = (
            share_within(Form({sample: part}), Form({sample: whole}), LEVEL, "answer", name)
            for part, whole, name in zip(parts, groups, ("one", "other"), strict=True)
        )
        figures = (first, first - second, first / second)
        told.append([not figure.too_small for figure in figures])
        held.append([holds(*pair) for pair in zip(figures, true, strict=True)])
    return Within(np.array(told), np.array(held))


def holds(figure: Estimate, true: float) -> bool:
    """Return whether an interval holds the truth."""
    return figure.low - 1e-12 <= true <= figure.high + 1e-12


def joint_truth(k: int, group: float) -> Floats:
    """Return the joint frequencies: even answers in the first group, Zipf's in the others."""
    rows, columns = questions_of("joint", k)
    sizes = np.full(rows, (1 - group) / (rows - 1))
    answers = 1 / np.arange(1, columns + 1)
    table = np.outer(sizes, answers / answers.sum())
    table[0] = group / columns
    return table


def holding(shape: tuple[int, ...], row: int | slice, column: int | slice) -> Floats:
    """Return 1 for each combination of these answers, and 0 for the others."""
    weights = np.zeros(shape)
    weights[row, column] = 1
    return weights.reshape(-1)


def ranked(mechanism: Mechanism, truth: Floats, n: int, *, runs: int, seed: int) -> Floats:
    """Return which runs have all ranks right; no answer is ahead of one that is as frequent."""
    decoder, held = decoder_of(mechanism), []
    reports = SimulatedReports(mechanism, truth, seed)
    best = 1 + (truth[None] > truth[:, None] + 1e-12).sum(axis=1)
    worst = len(truth) - (truth[None] < truth[:, None] - 1e-12).sum(axis=1)
    for run in range(runs):
        tally = decoder.tally(reports.counts(n, run).tolist())
        first, last, _ = ranks_of(decoder, tally, LEVEL)
        held.append(((first <= best) & (worst <= last)).all())
    return np.array(held, dtype=np.float64)


def unrelated(k: int) -> tuple[Floats, Floats, Floats]:
    """Return joint frequencies of two questions that have nothing to do with each other, Zipf's.

    And the weights of the answers to each.
    """
    rows, columns = questions_of("joint", k)
    shares = [1 / np.arange(1, size + 1) for size in (rows, columns)]
    table = np.outer(*(share / share.sum() for share in shares))
    one = np.array([holding(table.shape, at, slice(None)) for at in range(rows)])
    other = np.array([holding(table.shape, slice(None), at) for at in range(columns)])
    return table.reshape(-1), one, other


def rejected(mechanism: Mechanism, k: int, n: int, *, runs: int, seed: int) -> Floats:
    """Return the p-values of association where there is none, of those runs that have one."""
    truth, one, other = unrelated(k)
    decoder, reports = decoder_of(mechanism), SimulatedReports(mechanism, truth, seed)
    tests = (
        association(Sample(mechanism, decoder.tally(reports.counts(n, run).tolist())), one, other)
        for run in range(runs)
    )
    return np.array([test.p_value for test in tests if test is not None])


def run() -> None:
    """Measure, print, and write the tables of docs/coverage.md."""
    places = ["| k | reports | all ranks right |", "|---|---|---|"]
    places += [*map(_ranks, product((5, 16), (300, 3_000, 100_000)))]
    related = ["| k | reports | runs with a test | found at 5 % |", "|---|---|---|---|"]
    related += [*map(_association, product((16,), REPORTS))]
    write({"coverage-ranks": places, "coverage-association": related})
    lines = [
        "| group | reports | has intervals | share | difference | ratio |",
        "|---|---|---|---|---|---|",
        *map(_line, product(GROUPS, REPORTS)),
    ]
    print("\n".join(lines))
    write({"coverage-groups": lines})


def _ranks(setting: tuple[int, int]) -> str:
    k, n = setting
    found = [
        ranked(made, truth, n, runs=_RANKED, seed=crc32(f"ranks {kind} {k} {epsilon} {n}".encode()))
        for kind, epsilon in product(KINDS, EPSILONS)
        for made in [mechanism_of(kind, k, epsilon)]
        if made is not None
        for truth in truths((k,)).values()
    ]
    rates = [100 * one.mean() for one in found]
    line = f"| {k} | {n:,} | {np.mean(rates):.1f} ({min(rates):.1f}–{max(rates):.1f}) |"
    print(line, flush=True)
    return line


def _association(setting: tuple[int, int]) -> str:
    k, n = setting
    found = [
        rejected(
            made, k, n, runs=_RANKED, seed=crc32(f"unrelated {kind} {k} {epsilon} {n}".encode())
        )
        for kind, epsilon in product(KINDS, EPSILONS)
        for made in [mechanism_of(kind, k, epsilon)]
        if made is not None
    ]
    rates = [100 * (one < 1 - LEVEL).mean() for one in found if len(one) >= _FEW]
    told = 100 * np.mean([len(one) / _RANKED for one in found])
    shown = f"{np.mean(rates):.1f} ({min(rates):.1f}–{max(rates):.1f})" if rates else "-"
    line = f"| {k} | {n:,} | {told:.0f} | {shown} |"
    print(line, flush=True)
    return line


def _line(setting: tuple[float, int]) -> str:
    group, n = setting
    found = [*_settings(group, n)]
    told, held = (np.concatenate([one[at] for one in found]) for at in (0, 1))
    cells = []
    for figure in range(3):
        one = held[told[:, figure], figure]
        if len(one) < _FEW:
            cells.append("-")
        else:
            cells.append(f"{100 * one.mean():.1f} ± {200 * one.std() / len(one) ** 0.5:.1f}")
    line = f"| {group:.0%} | {n:,} | {100 * told[:, 0].mean():.0f} | {' | '.join(cells)} |"
    print(line, flush=True)
    return line


def _settings(group: float, n: int) -> Iterator[Within]:
    for kind, k, epsilon in product(KINDS, _RUNS, EPSILONS):
        mechanism = mechanism_of(kind, k, epsilon)
        if mechanism is not None:
            seed = crc32(f"groups {kind} {k} {epsilon} {group} {n}".encode())
            yield measured(mechanism, k, group, n, runs=_RUNS[k], seed=seed)
