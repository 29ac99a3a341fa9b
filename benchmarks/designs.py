"""Block designs: how near the bound, as accurate as their formula, and how fast beside peers."""

import subprocess
import sys
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers import Indices, likely_answers
from benchmarks.beside_peers import beside_peers
from benchmarks.rounds import interleave, processor_seconds_each
from benchmarks.table import Row, show
from deniable.estimates import Model
from deniable.estimates.decoders import SupportDecoder
from deniable.estimates.decoders.decoder import Tally
from deniable.estimates.decoders.designs import block_decoder
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.mechanisms.mechanism import os_random_word
from deniable.planning import best
from deniable.planning.candidates import candidates, lower_bound
from deniable.simulation import SimulatedReports

Floats = NDArray[np.float64]

_TABLE: Final = (
    (16, "1", (17, 1, 5), 1.01136951),
    (105, "0.5", (107, 1, 40), 1.00039342),
    (105, "1", (11, 2, 3), 1.00328814),
    (105, "1", (107, 1, 29), 1.00045153),
    (105, "2", (107, 1, 13), 1.00050696),
    (105, "4", (107, 1, 2), 1.00517464),
    (256, "1", (19, 2, 5), 1.00314330),
    (1024, "0.5", (37, 2, 14), 1.00052648),
    (1024, "1", (11, 3, 3), 1.00066205),
    (1024, "2", (41, 2, 5), 1.00197262),
    (1024, "4", (53, 2, 1), 1.01787177),
    (4096, "6", (401, 2, 1), 1.04922600),
    (10_000, "6", (397, 2, 1), 1.01906100),
    (2458, "6", (2467, 1, 6), 1.00034455),
    (65_536, "4", (53, 3, 1), 1.00083100),
    (10_000, "1", (101, 2, 27), 1.00002194),
    (65_536, "1", (7, 6, 2), 1.00176973),
)
"""k, epsilon, (q, m, s), and what n times the summed variances is, over the bound, at the most."""

_RUNS: Final = 200
_USERS: Final = 20_000
_FLIGHTS: Final = 336_776
_PEERS_LARGEST: Final = 10_000


def run() -> None:
    """Measure and print."""
    _accuracy()
    _scan()
    _speed()
    _memory()
    for categories, epsilon in dict.fromkeys((k, epsilon) for k, epsilon, *_ in _TABLE):
        if categories <= _PEERS_LARGEST:
            beside_peers(categories, epsilon)


def _scan() -> None:
    """Print how near the bound the best design is for 400 pairs of a size and an epsilon."""
    sizes = sorted({round(2 * 32_768 ** (i / 19)) for i in range(20)})
    epsilons = [0.25 + 5.75 * i / 19 for i in range(20)]
    ratios = {
        (k, epsilon): min(design.cost(epsilon) for design in candidates(k, epsilon))
        / lower_bound(k, epsilon)
        for k in sizes
        for epsilon in epsilons
    }
    print(f"\nbest design / bound, of {len(ratios)} pairs of k and epsilon")
    for most, least, bound in ((0, 3, 1.01), (3, 6, 1.06)):
        part = {pair: ratio for pair, ratio in ratios.items() if most < pair[1] <= least}
        missing = {pair: ratio for pair, ratio in part.items() if ratio > bound}
        print(
            f"epsilon {most} to {least}: {len(part)}, median {median(part.values()):.5f}, ", end=""
        )
        print(f"largest {max(part.values()):.4f}; above {bound}: {missing or 'none'}")


def _accuracy() -> None:
    print(f"\nn times the summed variances, and {_RUNS} runs of {_USERS:,} users against them")
    print(
        f"{'k':>6} {'epsilon':>7}  {'design':<24} {'÷ bound':>10} {'best':>18} {'÷ bound':>8}",
        end="",
    )
    print(f" {'measured ÷ formula':>20} {'errors off':>10} {'corrected':>9}")
    for k, epsilon, (q, m, s), most in _TABLE:
        mechanism = DesignMechanism(Affine(k, q, m, s), epsilon)
        bound, cost = lower_bound(k, float(epsilon)), _cost(mechanism)
        if cost / bound > most + 1e-8:
            raise AssertionError(f"{mechanism.design} is {cost / bound} of the bound, not {most}")
        choice = best(k, epsilon, largest_share=0.0)
        plain, corrected = _squares(mechanism, _USERS, _RUNS)
        ratio = _USERS * plain.mean() / cost
        error = _USERS * plain.std(ddof=1) / cost / _RUNS**0.5
        print(
            f"{k:>6,} {epsilon:>7}  {mechanism.design!r:<24} {cost / bound:>10.8f}"
            f" {choice.candidate!s:>18} {choice.cost / bound:>8.6f}"
            f" {ratio:>12.4f} ± {error:.4f} {(ratio - 1) / error:>+10.2f}"
            f" {corrected.mean() / plain.mean():>9.4f}"
        )


def _cost(mechanism: DesignMechanism) -> float:
    """Return n times the summed variances of the implemented integers."""
    p, q, k = mechanism.hit, mechanism.miss, mechanism.categories
    return float((p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2)


def _squares(mechanism: DesignMechanism, users: int, runs: int) -> tuple[Floats, Floats]:
    """Return the summed squared errors of each run: of f^, and of what is reported."""
    answers = likely_answers(mechanism.categories, users)
    truth = np.bincount(answers, minlength=mechanism.categories) / users
    decoder = block_decoder(mechanism)
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    found = []
    for _ in range(runs):
        counts = _counts(mechanism, answers)
        plain = (decoder.supports(counts) / users - miss) / (hit - miss)
        given = decoder.frequencies(Tally(users, counts))
        found.append([((each - truth) ** 2).sum() for each in (plain, given)])
    plain, given = np.array(found).T
    return plain, given


def _counts(mechanism: DesignMechanism, answers: Indices) -> NDArray[np.int64]:
    truth = np.bincount(answers, minlength=mechanism.categories) / len(answers)
    return SimulatedReports(mechanism, truth, 1).counts(len(answers))


def _speed() -> None:
    """Print what one report and a histogram of ten million take."""
    for k, epsilon, (q, m, s) in (
        (1024, "0.5", (37, 2, 14)),
        (105, "1", (107, 1, 29)),
        (10_000, "1", (101, 2, 27)),
    ):
        _speed_of(DesignMechanism(Affine(k, q, m, s), epsilon))


def _speed_of(mechanism: DesignMechanism) -> None:
    answers = likely_answers(mechanism.categories, 10_000_000)
    decoder, counts = block_decoder(mechanism), _counts(mechanism, answers)
    seen = {int(response): int(counts[response]) for response in np.flatnonzero(counts)}
    tally = decoder.tally(seen)
    found = interleave(
        {
            "one": processor_seconds_each(lambda: mechanism.randomise(77), 20_000),
            "word": processor_seconds_each(os_random_word, 20_000),
            "decode": processor_seconds_each(lambda: decoder.frequencies(tally), 3),
            "histogram": processor_seconds_each(lambda: _histogram(decoder, seen), 1),
        },
        5,
    )
    show(
        f"{mechanism.design}, {mechanism.responses:,} responses",
        [
            Row("one report", found["one"].scaled(1e6), "µs"),
            Row("one report ÷ a word of os.urandom", found["one"] / found["word"]),
            Row("10 M reports: frequencies", found["decode"].scaled(1e3), "ms"),
            Row("10 M reports: errors, intervals too", found["histogram"].scaled(1e3), "ms"),
        ],
    )


def _histogram(decoder: SupportDecoder, seen: dict[int, int]) -> None:
    tally = decoder.tally(seen)
    decoder.frequencies(tally)
    decoder.standard_errors(tally, Model.SAMPLED)
    decoder.intervals(tally, 0.95)


_CHILD: Final = f"""
from pathlib import Path
import numpy as np
from deniable.estimates import decoder_of
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.simulation import SimulatedReports
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM"))
before = most()
mechanism = DesignMechanism(Affine(1024, 37, 2, 14), "0.5")
counts = SimulatedReports(mechanism, np.full(1024, 1 / 1024), 1).counts({_FLIGHTS})
decoder = decoder_of(mechanism)
decoder.frequencies(decoder.tally(counts.tolist()))
print(before, most())
"""


def _memory() -> None:
    """Print the most memory that a population and its histogram take, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], check=True, capture_output=True, text=True
    )
    before, after = (int(text) / 1024 for text in done.stdout.split())
    print(f"\n{_FLIGHTS:,} users, k = 1,024: {after:.0f} MiB of memory at the most, of which")
    print(f"{before:.0f} MiB are Python and libraries and {after - before:.0f} MiB are ours")
