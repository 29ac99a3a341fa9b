"""Kept responses: what a report costs, and what several reveal, beside LOLOHA and dBitFlipPM.

LOLOHA (Arcolezi and others 2023) hashes an answer to one of g values by a function of the device,
which it tells, and asks for that value by two rounds of randomised response. dBitFlipPM (Ding,
Kulkarni and Yekhanin 2017) keeps d of k bits, each flipped, and sends them unchanged.
"""

from collections.abc import Callable, Iterator
from math import exp, log
from typing import Final, NamedTuple

import numpy as np

from benchmarks.answers import Indices, likely_answers
from benchmarks.linking import linking_probability
from benchmarks.table import write
from deniable.budget import NANO, RangeCost
from deniable.estimates.decoders import Floats, decoder_of
from deniable.mechanisms import TwoRound
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.subset import Subset
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import Specification
from deniable.planning import best_fresh, lower_bound
from deniable.planning.words import answering_text

_CASES: Final = ((26, "3", "1"), (105, "4", "1"), (256, "5", "2"), (1_024, "6", "2"))
"""k, the level that is kept, that of one report."""
_REPORTS: Final = 30
_USERS: Final = 20_000
_RUNS: Final = 100


class _Way(NamedTuple):
    name: str
    variance: float
    levels: tuple[float, float]
    charged: float
    linked: float
    squares: float


def run() -> None:
    """Measure, print, and write the table of docs/choosing.md.

    Measured are the squared errors of the runs, over the formula.
    """
    lines = [
        "| k, kept, one report | mechanism | n·Σ Var | ÷ least | two reports | thirty "
        "| charged | linked | measured ÷ formula |",
        "|---" * 9 + "|",
    ]
    for k, kept, epsilon in _CASES:
        bound = lower_bound(k, float(epsilon))
        for way in _ways(k, kept, epsilon):
            two, many = way.levels
            variance = f"{way.variance:,.0f}" if way.variance >= 100 else f"{way.variance:.3g}"
            lines.append(
                f"| {k:,}, {kept}, {epsilon} | {way.name} | {variance} "
                f"| {way.variance / bound:.4g} | {two:.3f} | {many:.2f} | {way.charged:.1f} "
                f"| {way.linked:.1%} | {way.squares / way.variance:.3f} |"
            )
    print("\n".join(lines))
    write({"repeated": lines})


def _ways(k: int, kept: str, epsilon: str) -> Iterator[_Way]:
    for fresh in (SINGLE, best_fresh(k, epsilon, kept, _REPORTS, 0.0)):
        yield _two_rounds(k, kept, epsilon, fresh)
    yield _loloha(k, kept, epsilon)
    yield _bits(k, epsilon)


def _two_rounds(k: int, kept: str, epsilon: str, fresh: Answering) -> _Way:
    specification = Specification("two-round", {"kept": kept, "fresh": fresh})
    mechanism = specification.mechanism(k, epsilon, "0")
    assert isinstance(mechanism, TwoRound)
    answers, decoder = likely_answers(k, _USERS), decoder_of(mechanism)

    def estimate() -> Floats:
        drawn = [mechanism.randomise(answer) for answer in answers.tolist()]
        counts = np.bincount(drawn, minlength=mechanism.responses)
        support = decoder.tally(counts.tolist())
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        return np.asarray((decoder.tested_counts(support) / _USERS - miss) / (hit - miss))

    return _Way(
        f"two rounds: {'sets of one answer' if fresh == SINGLE else answering_text(fresh)}",
        _variance(float(mechanism.hit), float(mechanism.miss), k),
        _levels(mechanism),
        RangeCost.of(mechanism).cumulative(_REPORTS) / NANO,
        linking_probability(mechanism),
        _squares(answers, k, estimate),
    )


def _loloha(k: int, kept: str, epsilon: str) -> _Way:
    # At its best g, and with a second round of exactly epsilon, which its authors' is not.
    level = exp(float(epsilon))
    g = min(range(2, 100), key=lambda g: _variance(level / (level + g - 1), 1 / g, k))
    mechanism, generator = TwoRound(Subset(g, 1), epsilon, kept), np.random.default_rng(1)
    answers, hit = likely_answers(k, _USERS), float(mechanism.hit)

    def estimate() -> Floats:
        hashed = generator.integers(g, size=(_USERS, k))
        values = hashed[np.arange(_USERS), answers]
        sent = np.array([mechanism.randomise(value) for value in values.tolist()])
        return np.asarray(((hashed == sent[:, None]).mean(axis=0) - 1 / g) / (hit - 1 / g))

    return _Way(
        f"LOLOHA, g = {g}",
        _variance(hit, 1 / g, k),
        _levels(mechanism),
        RangeCost.of(mechanism).cumulative(_REPORTS) / NANO,
        1.0,  # the hash function is the same in all reports, one of 2^64 or so
        _squares(answers, k, estimate),
    )


def _bits(k: int, epsilon: str) -> _Way:
    level = float(epsilon)
    true = exp(level / 2) / (1 + exp(level / 2))
    answers, generator = likely_answers(k, _USERS), np.random.default_rng(2)

    def estimate() -> Floats:
        bits = generator.random((_USERS, k)) < np.where(
            np.arange(k) == answers[:, None], true, 1 - true
        )
        return np.asarray((bits.mean(axis=0) - 1 + true) / (2 * true - 1))

    # Two devices of one answer have the same k bits by chance; the same device has, always.
    return _Way(
        f"dBitFlipPM, d = {k:,}",
        _variance(true, 1 - true, k),
        (level, level),
        _REPORTS * level,  # one a distinct answer
        1 - (true**2 + (1 - true) ** 2) ** k / 2,
        _squares(answers, k, estimate),
    )


def _squares(answers: Indices, k: int, estimate: Callable[[], Floats]) -> float:
    """Return n times the summed squared errors, the mean of all runs."""
    truth = np.bincount(answers, minlength=k) / _USERS
    return _USERS * float(np.mean([((estimate() - truth) ** 2).sum() for _ in range(_RUNS)]))


def _variance(hit: float, miss: float, k: int) -> float:
    """Return n times the summed variances of estimates from support counts."""
    return (hit * (1 - hit) + (k - 1) * miss * (1 - miss)) / (hit - miss) ** 2


def _levels(mechanism: TwoRound) -> tuple[float, float]:
    two, many = (log(mechanism.constant_odds(reports)) for reports in (2, _REPORTS))
    return two, many
