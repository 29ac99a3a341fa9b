"""Texts that nobody listed: what is found and what is false, here and by prefix extension (PEM).

PEM: Wang, Li and Jha, arXiv 1708.06674, with optimised local hashing. It extends the k prefixes
with the largest support, and prints k texts. Each user has a hash function of their own, so the
supports of prefixes are independent: two binomials each. pure-ldp hashes every possible prefix for
each report, so its own code gets 500 texts of 12 bits only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from math import exp
from statistics import fmean
from typing import Any, Final

import numpy as np

from benchmarks.surveys import signed_survey
from benchmarks.table import write
from deniable.estimates import estimate_histogram
from deniable.mechanisms import Strings
from deniable.planning.calibration import LEAST
from deniable.planning.specification import specified
from deniable.simulation.beside_truth import text_counts

Truth = dict[bytes, float]
Found = tuple[Sequence[bytes], int]
"""What is printed, and its length: longer texts are cut."""
Finder = Callable[["Setting", Truth, np.random.Generator], Found]

LENGTHS: Final = (2, 4, 6, 8, 10, 12)
_RUNS: Final = 10
_OFTEN: Final = 0.8


@dataclass(frozen=True, slots=True)
class Setting:
    """A population of random texts, whose shares fall by Zipf's law, and what is asked of it."""

    alphabet: str
    shortest: int
    names: int
    devices: int
    epsilon: str
    frequent: int

    def population(self, generator: np.random.Generator) -> Truth:
        """Return the shares of random texts, the most frequent first."""
        texts: dict[bytes, None] = {}
        while len(texts) < self.names:
            length = generator.integers(self.shortest, LENGTHS[-1] + 1)
            texts[bytes(generator.integers(1, len(self.alphabet) + 1, length).tolist())] = None
        shares = np.arange(1, self.names + 1) ** -1.1
        return dict(zip(texts, (shares / shares.sum()).tolist(), strict=True))


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789-"
SETTINGS: Final = [
    Setting(_LETTERS, 3, 100_000, devices, epsilon, 32)
    for devices, epsilon in product((10**5, 10**6), ("2", "4"))
]
BITS: Final = Setting("01", LENGTHS[-1], 500, 4_000, "4", 8)


def ours(setting: Setting, truth: Truth, generator: np.random.Generator) -> Found:
    """Return what a histogram shows."""
    signs, settings = tuple(setting.alphabet), {"lengths": LENGTHS}
    strings = specified("strings", len(signs), setting.epsilon, settings=settings)
    survey = signed_survey(2, 1, setting.epsilon)[0]
    manifest = replace(survey, categories=signs, specification=strings)
    assert isinstance(manifest.mechanism, Strings)
    counts = text_counts(manifest.mechanism, truth, setting.devices, generator)
    texts = estimate_histogram(manifest, 0, counts.tolist()).texts
    assert texts is not None
    return texts.texts, texts.stage.length


def pem(setting: Setting, truth: Truth, generator: np.random.Generator) -> Found:
    """Return the k texts of PEM, k being the number of frequent ones, by exact simulation."""
    odds = exp(float(setting.epsilon))
    g = round(odds) + 1
    hit, signs = odds / (odds + g - 1), range(1, len(setting.alphabet) + 1)
    law = np.tile([*truth.values()], len(LENGTHS)) / len(LENGTHS)
    groups = generator.multinomial(setting.devices, law / law.sum()).reshape(len(LENGTHS), -1)
    kept, before = [b""], 0
    for length, group in zip(LENGTHS, groups, strict=True):
        holders = held(dict(zip(truth, group.tolist(), strict=True)), length)
        sizes = range(0 if setting.shortest < LENGTHS[-1] else length - before, length - before + 1)
        ends = [bytes(end) for size in sizes for end in product(signs, repeat=size)]
        grown = [text + end for text in kept if len(text) == before for end in ends]
        candidates = grown + [text for text in kept if len(text) < before]
        own = np.array([holders.get(text, 0) for text in candidates])
        supports = generator.binomial(own, hit) + generator.binomial(group.sum() - own, 1 / g)
        kept = [candidates[at] for at in np.argsort(-supports)[: setting.frequent].tolist()]
        before = length
    return kept, before


def pure_ldp(setting: Setting, truth: Truth, generator: np.random.Generator) -> Found:
    """Return the k texts of pure-ldp's PEM; all texts must be of the last length, and of bits."""
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    client, server = (side(float(setting.epsilon), 0, 12, 2) for side in (PEMClient, PEMServer))
    texts = ["".join(setting.alphabet[sign - 1] for sign in text) for text in truth]
    for answer in generator.choice(len(truth), setting.devices, p=[*truth.values()]).tolist():
        server.aggregate(client.privatise(texts[answer]))
    found: Any = server.find_heavy_hitters(k=setting.frequent)[0]
    return [bytes(setting.alphabet.index(sign) + 1 for sign in text) for text in found], 12


def held(truth: dict[bytes, Any], length: int) -> dict[bytes, Any]:
    """Return what all texts that begin with a prefix have together, by prefix."""
    sums: dict[bytes, Any] = {}
    for text, share in truth.items():
        sums[text[:length]] = sums.get(text[:length], 0) + share
    return sums


def row(name: str, finder: Finder, setting: Setting) -> str:
    """Return a line of the table."""
    hits, false, truth = np.zeros(setting.names), list[int](), Truth()
    for seed in range(_RUNS):
        generator = np.random.default_rng([seed, setting.devices])
        truth = setting.population(generator)
        printed, length = finder(setting, truth, generator)
        having = held(truth, length)
        false.append(sum(setting.devices * having.get(text, 0) <= LEAST for text in printed))
        whole = {text for text in printed if len(text) < length or length == LENGTHS[-1]}
        hits += [text in whole for text in truth]
    often = int(np.argmin(np.append(hits >= _OFTEN * _RUNS, False)))
    least = f"{100 * [*truth.values()][often - 1]:.2f} %" if often else "none"
    found = f"{hits[: setting.frequent].sum() / _RUNS:.1f} of {setting.frequent}"
    asked = f"{setting.devices:,}, {setting.epsilon}" + ", bits" * (setting == BITS)
    return f"| {asked} | {name} | {found} | {fmean(false):.1f} | {least} |"


def run() -> None:
    """Measure, print and write the table of docs/choosing.md."""
    if not find_spec("pure_ldp"):
        print("\npure-ldp is not installed: benchmarks/peers.py says how")
        return
    methods = {"here": ours, "PEM": pem, "PEM of pure-ldp": pure_ldp}
    often = f"found in {100 * _OFTEN:.0f} % of runs from"
    lines = [f"| devices, epsilon | method | found | false | {often} |", "|---" * 5 + "|"]
    for setting in (*SETTINGS, BITS):
        for name, finder in [*methods.items()][: 3 if setting == BITS else 2]:
            lines.append(row(name, finder, setting))
            print(lines[-1], flush=True)
    write({"choosing-texts": lines})
