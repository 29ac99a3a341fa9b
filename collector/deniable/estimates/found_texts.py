"""Texts that nobody listed, found in counts of hashed prefixes (docs/mathematics.md, section 22).

A report of a level supports every prefix that has its value: with p if it is about it, and w if it
is about another with another value. With q = 1/m, and c_xy the share of the level's hash functions
by which x and y have the same value, a device with y supports x with the chance

    M_xy = c_xy p + (1 - c_xy) w,

and any other with q, on average over the hash functions. So the support of a prefix that nobody
has, beside texts y with the shares f_y, is binomial with q + sum_y f_y (M_xy - q). It stands if it
has more, but for a chance of alpha/(levels x candidates), than if ``least`` devices had it.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.accuracy import FALSE_ALARM, MOST_CANDIDATES, least_share
from deniable.estimates.decoders import Floats, Tally
from deniable.estimates.decoders.listed import (
    Integers,
    ListedTexts,
    Words,
    halves_of,
    hash_values,
    level_multipliers,
    level_tally,
)
from deniable.mechanisms import Strings
from deniable.messages import Manifest
from deniable.messages.texts import OTHER_SIGN, text_signs

OTHER_TEXTS: Final = "(any other text)"
_MOST_CELLS: Final = 1 << 24
"""The most entries of the matrix of texts that stand."""
_BLOCK: Final = 1 << 16
_NEAR: Final = 1024
"""So many of the prefixes with the largest support are tested beside those that stand."""
_ROUNDS: Final = 32
_PASSES: Final = 4
_MANY: Final = 1 << 17
_MOST_KEPT: Final = 32
_KEPT: Final[dict[tuple[Strings, int, int, bytes], tuple["Stage", ...]]] = {}
"""What was found last, by the digest of the counts."""


class Level:
    """The counts of one level: how many reports support a prefix."""

    def __init__(self, mechanism: Strings, level: int, tally: Tally) -> None:
        own, self.values = level_tally(mechanism, level, tally), mechanism.value.categories
        self.level, self.length = level, mechanism.lengths[level]
        self.n, self.counts = own.n, own.counts.reshape(mechanism.hashes, self.values)
        self.numbers = level_multipliers(mechanism, level)
        self.hit, self.lie = float(mechanism.value.truth), float(mechanism.value.lie)
        self.miss = 1 / self.values
        self.kappa, self.weight = self.hit - self.miss, 1.0

    def supports(self, halves: Words, weights: Floats | None = None) -> NDArray[Any]:
        """Return how many reports support each prefix, of (prefixes, 2) halves; or their weights.

        Weights are of (hash functions, values).
        """
        rows = self.counts if weights is None else weights
        supports = np.zeros(len(halves), dtype=rows.dtype)

        def add(at: int) -> None:
            own = supports[at : at + _BLOCK]
            for row, value in zip(rows, self.hashed(halves[at : at + _BLOCK]), strict=True):
                own += row.take(value)

        with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy holds no lock
            list(pool.map(add, range(0, len(halves), _BLOCK)))
        return supports

    def background(self, halves: Words, shares: Floats) -> Floats:
        """Return how much more often texts of these shares send each response, as weights."""
        weights = np.full(self.counts.shape, shares.sum() * (self.lie - self.miss))
        for row, values in zip(weights, self.hashed(halves), strict=True):
            row += (self.hit - self.lie) * np.bincount(values, shares, self.values)
        return np.asarray(weights / len(weights))

    def hashed(self, halves: Words) -> Iterator[Integers]:
        """Yield the values of prefixes by each hash function."""
        return hash_values(halves, self.numbers, self.values)

    def alike(self, halves: Words, others: Words) -> Floats:
        """Return the share of the hash functions by which prefixes have the value of others."""
        ours, theirs = (
            np.array([row.copy() for row in self.hashed(one)]) for one in (halves, others)
        )
        alike = [np.count_nonzero(ours == text[:, None], axis=0) for text in theirs.T]
        return np.reshape(alike, (len(others), len(halves))).T / len(self.numbers)

    def supporting(self, alike: Floats) -> Floats:
        """Return M - q: how much more often a report of each other text supports a prefix."""
        return alike * self.hit + (1 - alike) * self.lie - self.miss

    def chance(self, supports: Floats | Integers, rates: float | Floats) -> Floats:
        """Return the chance of a support as large or larger, at such a rate.

        Of somewhat fewer reports, where collisions with texts that are not found vary as well.
        """
        from scipy import special

        rates, counts = np.clip(rates, 0.0, 1.0), np.maximum(supports * self.weight, 1e-9)
        return np.asarray(special.betainc(counts, self.n * self.weight - counts + 1, rates))

    def least(self, rate: float, alpha: float, rest: float = 1.0) -> float:
        """Return the least share that stands, beside texts of a rate and of ``rest`` in all."""
        chances = self.hit, self.miss, len(self.counts)
        share, self.weight = least_share(self.n, rate, alpha, chances, rest)
        return share


@dataclass(frozen=True, slots=True)
class Stage:
    """The outcome of one level.

    Attributes:
        length: of its prefixes.
        reports: how many are about it.
        tested: how many prefixes were tested.
        texts: those that stand.
        rarest: the least share that stands.
    """

    length: int
    reports: int
    tested: int
    texts: tuple[bytes, ...]
    rarest: float


def standing(level: Level, prefixes: Sequence[bytes], alpha: float, least: float) -> Stage:
    """Return which prefixes stand, though a share ``least`` of devices may have any of them."""
    tested, floor = len(prefixes), level.miss + level.kappa * least
    alpha = alpha / max(tested, 1)
    if not level.n:
        return Stage(level.length, 0, tested, (), np.inf)
    rarest = level.least(floor, alpha)
    halves = halves_of(prefixes, level.level)
    supports = level.supports(halves)
    texts = np.zeros(0, dtype=np.int64)
    excess: NDArray[Any] = supports / level.n - level.miss
    for _ in range(_PASSES if tested <= _MANY else 2):
        # Those far below a binomial's upper tail never stand.
        near = np.argpartition(-excess, min(_NEAR, tested) - 1)[:_NEAR]
        near = np.unique(np.append(near[excess[near] > 0], texts))
        before = texts
        places, shares = _explaining(level, halves[near], supports[near], floor, alpha)
        texts = near[places]
        if tested <= _NEAR or np.array_equal(texts, before):
            break
        # Others are large, or small, by what they share with these: the next pass sees the rest.
        rarest = level.least(floor, alpha, 1 - shares.sum())
        explained = level.background(halves[texts], shares)
        excess = supports / level.n - level.miss - level.supports(halves, explained)
        excess[texts] = shares * level.kappa
    order = texts[np.argsort(-excess[texts], kind="stable")]
    standing = tuple(prefixes[at] for at in order.tolist())
    return Stage(level.length, level.n, tested, standing, rarest)


def _explaining(
    level: Level, halves: Words, supports: Integers, floor: float, alpha: float
) -> tuple[Integers, Floats]:
    """Return which of some prefixes stand beside one another, and their shares."""
    counts = supports.astype(np.float64)
    observed = counts / level.n - level.miss
    most = max(1, _MOST_CELLS // level.counts.size - 1)
    # The largest first, with what they explain of the others: many share values with a large one.
    chosen, more = np.zeros(0, dtype=np.int64), np.zeros((len(halves), 0))
    shares: Floats = np.zeros(0)
    kept = np.zeros(0, dtype=np.bool_)
    for turn in range(_ROUNDS):
        shares = np.asarray(np.linalg.solve(more[chosen], observed[chosen]), dtype=np.float64)
        rates = more @ shares
        rates[chosen] -= level.kappa * shares  # all others', but not its own
        left = level.chance(counts, floor + rates) < alpha
        kept, excess = left[chosen], observed - rates
        left[chosen] = False
        new = np.flatnonzero(left & (excess >= excess[left].max(initial=0.0) / 2))
        new = new[: most - int(kept.sum())]
        if (kept.all() and not len(new)) or turn == _ROUNDS - 1:
            break
        added = level.supporting(level.alike(halves, halves[new]))
        more = np.hstack([more[:, kept], added])
        chosen = np.append(chosen[kept], new)
    return chosen[kept], shares[kept]


def find(
    mechanism: Strings,
    tally: Tally,
    alpha: float,
    least: int,
    candidates: Sequence[bytes] | None = None,
) -> tuple[Stage, ...]:
    """Return the outcome of each level, up to the last that can be read; of a list, of the last.

    With a chance of alpha at most, any stands that ``least`` devices have or fewer.
    """
    # The same devices may be in each of several epochs.
    share, last = least * tally.epochs / tally.n, len(mechanism.lengths) - 1
    if candidates is not None:
        listed = list(dict.fromkeys(text[: mechanism.lengths[-1]] for text in candidates))
        return (standing(Level(mechanism, last, tally), listed, alpha, share),)
    stages, at = list[Stage](), 0
    before: tuple[bytes, ...] = (b"",)
    for level, length in enumerate(mechanism.lengths):
        prefixes = _extended(before, at, length, mechanism.signs)
        if prefixes is None and stages:
            break
        # If there are too many of the first length, none is tested: a list must name them.
        stage = standing(Level(mechanism, level, tally), prefixes or (), alpha / (last + 1), share)
        stages.append(stage)
        if not stage.texts:
            break
        before, at = stage.texts, length
    return tuple(stages)


def _extended(texts: Sequence[bytes], length: int, longer: int, signs: int) -> list[bytes] | None:
    """Return the longer prefixes that begin with those of a length; None of too many."""
    # A shorter text is whole, and its own prefix.
    whole = [text for text in texts if len(text) < length]
    steps = [(signs + 1) ** step for step in range(longer - length + 1)]
    if len(texts) * sum(steps) > MOST_CANDIDATES:
        return None
    ends = [
        bytes(end)
        for step in range(longer - length + 1)
        for end in product(range(signs + 1), repeat=step)
    ]
    grown = [text + end for text in texts if len(text) == length for end in ends]
    return [*whole, *filter(None, grown)]


@dataclass(frozen=True, slots=True, eq=False)
class FoundTexts:
    """The texts that were found in counts, and those that somebody lists beside them.

    Attributes:
        mechanism: of the survey.
        signs: of its alphabet.
        least: more devices than that must have a text that is found.
        reports: about all levels.
        stages: the outcome of each level that was read.
        level: whose prefixes are listed: the last at which any stand.
        texts: those, the most frequent first, and what somebody lists.
        of_list: whether only the texts of a list were tested.
        hides: the texts that the operator hides.
    """

    mechanism: Strings
    signs: tuple[str, ...]
    least: int
    reports: int
    stages: tuple[Stage, ...]
    level: int
    texts: tuple[bytes, ...]
    of_list: bool
    hides: frozenset[bytes] = frozenset()

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        tally: Tally,
        candidates: Iterable[str] | None = None,
        hidden: Collection[str] = (),
    ) -> "FoundTexts":
        """Return the texts that counts of a survey tell; of a list, those of its texts."""
        mechanism, signs = manifest.mechanism, manifest.categories
        assert isinstance(mechanism, Strings)
        least, alphabet = manifest.specification.parameters["least"], "".join(signs)
        listed = None
        if candidates is not None:
            listed = [bytes(text_signs(text, alphabet)) for text in candidates]
        unseen = (text_signs(text.removesuffix("…"), alphabet) for text in hidden)
        hides = frozenset(bytes(text[: mechanism.lengths[-1]]) for text in unseen)
        key = mechanism, least, tally.epochs, sha256(tally.counts.tobytes()).digest()
        stages = _KEPT.get(key) if listed is None else None
        if stages is None:
            # Half of the chance is left for what is estimated of others.
            stages = find(mechanism, tally, FALSE_ALARM / 2, least, listed)
        if listed is None:  # pages ask for the same again and again
            _KEPT[key] = stages
            for old in list(_KEPT)[:-_MOST_KEPT]:
                _KEPT.pop(old, None)
        telling = [at for at, stage in enumerate(stages) if stage.texts]
        at = telling[-1] if telling else len(stages) - 1
        level = mechanism.lengths.index(stages[at].length)
        texts = tuple(text for text in stages[at].texts if text not in hides)
        of_list = listed is not None
        return cls(mechanism, signs, least, tally.n, stages, level, texts, of_list, hides)

    @property
    def stage(self) -> Stage:
        """Return the outcome of the level that is listed."""
        length = self.mechanism.lengths[self.level]
        return next((one for one in self.stages if one.length == length), self.stages[-1])

    @property
    def hidden(self) -> tuple[bytes, ...]:
        """Return the texts that stand but that the operator hides."""
        return tuple(text for text in self.stage.texts if text in self.hides)

    @property
    def fakes(self) -> int:
        """Return how many fake reports raise the support of any text to the threshold."""
        # One that sends a value of the text supports it surely, another's report with the chance q.
        value = self.mechanism.value
        q = 1 / value.categories
        part = (float(value.truth) - q) / (1 - q)
        return ceil(
            sum(stage.rarest * part * stage.reports for stage in self.stages if stage.reports)
        )

    @property
    def rarest(self) -> float:
        """Return the least share of a text that stands at every level that was read."""
        return max(stage.rarest for stage in self.stages)

    @property
    def whole(self) -> bool:
        """Return whether the listed texts are whole, not prefixes of longer ones."""
        return self.level == len(self.mechanism.lengths) - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the listed texts as people read them, and what stands for all others."""
        return (*map(self.label, self.texts), OTHER_TEXTS)

    def label(self, text: bytes) -> str:
        """Return a text as people read it; a prefix that may go on ends with "…"."""
        signs = (OTHER_SIGN, *self.signs)
        length = self.mechanism.lengths[self.level]
        return "".join(signs[sign] for sign in text) + "…" * (len(text) == length)

    def named(self, name: str) -> bytes:
        """Return the listed form of a text that somebody asks for."""
        length = self.mechanism.lengths[self.level]
        return bytes(text_signs(name.removesuffix("…"), "".join(self.signs))[:length])

    def listing(self, names: Iterable[str]) -> "FoundTexts":
        """Return the same with further texts listed; ValueError for one that is hidden."""
        wanted = [self.named(name) for name in names if name != OTHER_TEXTS]
        if self.hides.intersection(wanted):
            raise ValueError("the operator has hidden this text, with the setting hidden_texts")
        return replace(self, texts=tuple(dict.fromkeys((*self.texts, *wanted))))

    def beside(self, other: "FoundTexts") -> "FoundTexts":
        """Return the same with the texts of another listed, by prefixes that both have."""
        level = min(self.level, other.level)
        length = self.mechanism.lengths[level]
        texts = dict.fromkeys(text[:length] for text in (*self.texts, *other.texts))
        return replace(self, level=level, texts=tuple(t for t in texts if t not in self.hides))

    @property
    def listed(self) -> ListedTexts:
        """Return the matrix of what is listed."""
        return ListedTexts(self.mechanism, self.level, self.texts, self.hidden)

    def tally(self, tally: Tally) -> Tally:
        """Return the counts of the level that is listed, without their places among all."""
        return level_tally(self.mechanism, self.level, tally)
