"""Block designs beside the mechanisms of other libraries: error, and processor time."""

import math
import statistics
from collections.abc import Callable
from typing import Final

import numpy as np

from benchmarks.answers import Indices, likely_answers
from benchmarks.peers import Floats, Peer, peers
from benchmarks.rounds import Rounds, interleave, processor_seconds_each
from deniable.estimates import decoder_of
from deniable.estimates.decoders.decoder import Tally
from deniable.mechanisms import KINDS, Mechanism
from deniable.planning import best
from deniable.simulation import SimulatedReports

_REPORTS: Final = 336_776
_RUNS: Final = 200
_USERS: Final = 2_000
_ROUNDS: Final = 3


def beside_peers(categories: int, epsilon: str) -> None:
    """Print how many times our error and time each mechanism of a peer has."""
    others = list(peers(categories, float(epsilon)))
    if not others:
        print("\npure-ldp and multi-freq-ldpy are not installed: benchmarks/peers.py says how")
        return
    chosen = best(categories, epsilon, largest_share=0.0).candidate
    ours = KINDS[chosen.kind].mechanism(chosen.parameters, categories, epsilon, "0")
    squares = _errors_of_ours(ours)
    truth = np.bincount(likely_answers(categories, _REPORTS), minlength=categories) / _REPORTS
    sent = SimulatedReports(ours, truth, 1).responses(_REPORTS)
    figures = {"estimate": processor_seconds_each(lambda: _estimate(ours, sent), 1)}
    for peer in others:
        figures |= _timings(peer, categories)
    found = interleave(figures, _ROUNDS)
    print(f"\nk = {categories:,}, epsilon {epsilon}: ours is {ours!r}")
    print(f"{'how many times ours':<22} {'error':>14} {'estimating':>11}")
    for peer in others:
        # As many runs as tell 3 % of the error, summed over the categories.
        theirs = _mean([_error_of(peer, categories) for _ in range(2 + 3_200 // categories)])
        ratio, spread = _ratio(theirs, squares[peer.clipped])
        estimating = found[f"estimate {peer.name}"] / found["estimate"].scaled(1 / _REPORTS)
        print(f"{peer.name:<22} {ratio:>7.2f} ± {spread:.2f} {_median(estimating):>11,.1f}")


Mean = tuple[float, float]
"""A mean and its standard error."""


def _mean(values: list[float]) -> Mean:
    return statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5


def _ratio(one: Mean, other: Mean) -> Mean:
    ratio = one[0] / other[0]
    return ratio, ratio * math.hypot(one[1] / one[0], other[1] / other[0])


def _median(figure: Rounds) -> float:
    return figure.spread[1]


def _estimate(mechanism: Mechanism, sent: Indices) -> Floats:
    counts = np.bincount(sent, minlength=mechanism.responses)
    return decoder_of(mechanism).frequencies(Tally(sent.size, counts))


def _errors_of_ours(mechanism: Mechanism) -> tuple[Mean, Mean]:
    """Return the mean summed squared error as it is, and clipped and rescaled as a peer does."""
    answers = likely_answers(mechanism.categories, _USERS)
    truth = np.bincount(answers, minlength=mechanism.categories) / _USERS
    raw, clipped = [], []
    for _ in range(_RUNS + 32_000 // mechanism.categories):
        sent = [mechanism.randomise(answer) for answer in answers.tolist()]
        found = _estimate(mechanism, np.array(sent))
        raw.append(float(((found - truth) ** 2).sum()))
        positive = found.clip(0)
        clipped.append(float(((positive / positive.sum() - truth) ** 2).sum()))
    return _mean(raw), _mean(clipped)


def _error_of(peer: Peer, categories: int) -> float:
    answers = likely_answers(categories, _USERS)
    truth = np.bincount(answers, minlength=categories) / _USERS
    found = peer.estimate([peer.report(answer) for answer in answers.tolist()])
    return float(((found - truth) ** 2).sum())


def _timings(peer: Peer, categories: int) -> dict[str, Callable[[], float]]:
    """Return a measurement of the seconds that a report takes to count."""
    answers = likely_answers(categories, _USERS).tolist()
    reports = [peer.report(answer) for answer in answers]
    # What a histogram takes whatever the number of reports should weigh little, if that many fit.
    if "OLH" not in peer.name:
        reports *= max(1, 20_000_000 // (_USERS * categories))
    counted = processor_seconds_each(lambda: peer.estimate(reports), 1)
    return {f"estimate {peer.name}": lambda: counted() / len(reports)}
