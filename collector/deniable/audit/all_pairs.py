"""All pairs, compared in numpy: of rows, of a design's categories, and of kept responses.

Floats only exclude pairs: they give a proven upper bound, and integers judge every pair that it
does not exclude. The work is k^2 |Y|, in blocks that fit the cache.

The bound. Let u = 2^-53 and p, p' two probabilities, correctly rounded to floats; T the true term
(p - E p')_+. The odds are lowered to E (1 - 8u). After two roundings, one of p' and one of the
product, at most E p' (1 - 3u) is subtracted from p; p itself is at least p (1 - u). So the computed
term is at least (1 - u)^2 T, up to underflow. A sum of n non-negative floats, in whatever order, is
at least 1 - n u of the true one. Hence

    true sum  <=  computed sum * (1 + 2 (n + 4) u)  +  n 2^-1000

where 2 (n + 4) u covers all factors, and the last term probabilities below 2^-1022.

Incidences. The guarantee of a design requires that its responses support each category, and each
pair, equally often. For a small one the rows are listed, as a device computes them, entry by entry.
For a larger one, the transforms of its decoder count the blocks that support a category, and those
that support it and any other, in integers.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.audit.solution_matrix import MatrixTooLarge
from deniable.mechanisms import Rows, TwoRound
from deniable.mechanisms.block_design import BlockMechanism

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pair = tuple[int, int]

_MOST_CELLS: Final = 1 << 26
_UNIT: Final = sys.float_info.epsilon / 2
_UNDERFLOW: Final = 2.0**-1000
_MOST_ODDS: Final = Fraction(1 << 64)
_BLOCK: Final = 1 << 16


class PairBounds:
    """Upper bounds of sum_y (P_xy - E P_x'y)_+ for all pairs of rows of a matrix."""

    def __init__(self, matrix: Rows) -> None:
        k, n, grid = matrix.categories, matrix.responses, matrix.grid
        if k * n > _MOST_CELLS:
            raise MatrixTooLarge(f"at most {_MOST_CELLS:,} entries can be compared in pairs")
        self._rows = np.empty((k, n))
        for x in range(k):
            # Python's int / int is correctly rounded, however long the integers are.
            self._rows[x] = [weight / grid for weight in matrix.row(x)]
        self._step = max(1, _BLOCK // n)
        self._factor = 1 + 2 * (n + 4) * _UNIT
        self._floor = n * _UNDERFLOW

    def at(self, odds: Fraction, rows: Indices | None = None) -> "BoundsAtOdds":
        """Return the bounds at these odds, for some rows x and all others x'."""
        some = np.arange(len(self._rows)) if rows is None else rows
        return BoundsAtOdds(self, odds, some, self.largest(odds, some))

    def largest(self, odds: Fraction, rows: Indices) -> Floats:
        """Return for each of these rows x the largest bound over all other rows x'."""
        bounds = np.zeros(len(rows))
        lowered = _lowered(odds)
        buffer = np.empty((self._step, self._rows.shape[1]))
        for start in range(0, len(self._rows), self._step):
            scaled = lowered * self._rows[start : start + self._step]
            terms = buffer[: len(scaled)]
            for i, x in enumerate(rows):
                sums = self._sums(x, scaled, terms)
                if 0 <= x - start < len(sums):
                    sums[x - start] = 0.0
                bounds[i] = max(bounds[i], sums.max())
        return bounds * self._factor + self._floor

    def of_row(self, odds: Fraction, row: int) -> Floats:
        """Return the bound for this row x and each other row x'; -1 for x itself."""
        lowered = _lowered(odds)
        sums = np.empty(len(self._rows))
        for start in range(0, len(self._rows), self._step):
            scaled = lowered * self._rows[start : start + self._step]
            sums[start : start + self._step] = self._sums(row, scaled, scaled)
        bounds = sums * self._factor + self._floor
        bounds[row] = -1.0
        return bounds

    def _sums(self, row: int, scaled: Floats, terms: Floats) -> Floats:
        np.subtract(self._rows[row], scaled, out=terms)
        np.maximum(terms, 0.0, out=terms)
        sums: Floats = terms.sum(axis=1)
        return sums


class BoundsAtOdds:
    """The largest bound of each row at some odds, and the remaining pairs."""

    def __init__(self, bounds: PairBounds, odds: Fraction, rows: Indices, largest: Floats) -> None:
        self._bounds, self._odds, self._rows, self._largest = bounds, odds, rows, largest

    @property
    def most(self) -> Fraction:
        """Return an upper bound for all pairs."""
        return Fraction(float(self._largest.max()))

    def rows(self, needed: Fraction) -> Indices:
        """Return the rows with a pair that may need this much delta."""
        return self._rows[self._largest >= _rounded_down(needed)]

    def likely(self) -> Pair:
        """Return a pair with the largest bound."""
        row = int(self._rows[self._largest.argmax()])
        return row, int(self._bounds.of_row(self._odds, row).argmax())

    def possible(self, needed: Fraction) -> Iterator[Pair]:
        """Yield, in order, all pairs that may need this much delta."""
        for row in self.rows(needed):
            bounds = self._bounds.of_row(self._odds, row)
            for other in np.flatnonzero(bounds >= _rounded_down(needed)):
                yield int(row), int(other)


def _lowered(odds: Fraction) -> float:
    # Smaller odds only raise the bound; the cap prevents E p' from overflowing, and underflow in p'
    # from growing.
    return float(min(odds, _MOST_ODDS)) * (1 - 8 * _UNIT)


def _rounded_down(value: Fraction) -> float:
    return max(0.0, math.nextafter(float(value), -math.inf))


_MOST_LISTED: Final = 1 << 18
"""The most entries of rows that are listed, at about a microsecond each."""
_MOST_COUNTED: Final = 1 << 25
"""The most entries of rows that are counted; an entry of their counts is worth 16 of them."""
_TRIED: Final = 1 << 12
"""Entries of each of these that are compared with a device's computation."""

Held = NDArray[np.int64]


class NoDesign(ValueError):
    """The responses do not support the categories as often as a design with these numbers does."""


@dataclass(frozen=True, slots=True)
class Incidences:
    """Incidences of a design, counted and confirmed.

    Attributes:
        responses: K, of which each supports a set of categories.
        replication: r, the number of responses that support each category.
        together: t, the number that support any two.
        listed: whether all rows were listed, entry by entry.
        counted: the number of categories that were counted, each with all others; all if possible.
        pairs: the number of their pairs.
    """

    responses: int
    replication: int
    together: int
    listed: bool
    counted: int
    pairs: int


def incidences(mechanism: BlockMechanism) -> Incidences:
    """Count the responses that support each category and each two, as many as seconds allow.

    Up to 2^18 entries, all rows are listed. Above that, categories at equal distances are counted
    with all others. NoDesign if a count is wrong.
    """
    k, design = mechanism.categories, mechanism.design
    listed = k * mechanism.responses <= _MOST_LISTED
    number = k if listed else min(k, max(2, _MOST_COUNTED // (mechanism.responses + 16 * k)))
    chosen = np.linspace(0, k - 1, number).astype(int)
    for some, held, met in (_listed if listed else _counted)(mechanism, chosen):
        expected = np.full((len(some), k), design.together)
        expected[np.arange(len(some)), some] = design.replication
        if not np.isin(held, (0, 1)).all() or (met != expected).any():
            raise NoDesign(
                f"not every category is supported by {design.replication:,} responses, every "
                f"two by {design.together:,}; please report this as a bug"
            )
    return Incidences(
        mechanism.responses,
        design.replication,
        design.together,
        listed,
        number,
        number * (number - 1) // 2 + number * (k - number),
    )


Counts = Iterator[tuple[NDArray[np.int_], Held, NDArray[np.int64]]]
"""Categories, the responses that support each, and the numbers that also support each other one."""


def _listed(mechanism: BlockMechanism, chosen: NDArray[np.int_]) -> Counts:
    privacy, grid = mechanism.privacy, mechanism.grid
    places = {int(privacy.truth * grid): 1, int(privacy.lie * grid): 0}
    # A third value, 2, is refused.
    held = np.array([[places.get(w, 2) for w in mechanism.row(x)] for x in chosen.tolist()])
    yield chosen, held, held @ held.T


def _counted(mechanism: BlockMechanism, chosen: NDArray[np.int_]) -> Counts:
    # Comparing rows of a matrix needs no decoder.
    from deniable.estimates.decoders import SupportDecoder, decoder_of

    decoder, design = decoder_of(mechanism), mechanism.design
    assert isinstance(decoder, SupportDecoder)
    tried = np.linspace(0, mechanism.responses - 1, min(mechanism.responses, _TRIED)).astype(int)
    step = max(1, (1 << 20) // mechanism.responses)
    for start in range(0, len(chosen), step):
        some = chosen[start : start + step]
        one = np.zeros((len(some), mechanism.categories))
        one[np.arange(len(some)), some] = 1
        held = np.rint(decoder.supported(one)).astype(np.int64)
        x = int(some[0])
        if [design.supports(y, x) for y in tried.tolist()] != held[0, tried].astype(bool).tolist():
            raise NoDesign("collector and device disagree on what a response supports")
        yield some, held, decoder.supports(held)


_FIRST_BLOCKS: Final = 16
"""Blocks that represent all. For most designs one would suffice: symmetries map any block to any
other. In affine ones whose blocks are not closed under x -> -x they differ in the third digit."""


def linking_probability(mechanism: TwoRound) -> float:
    """Return the probability of telling two reports of one kept response from those of two.

    It is that of the best guess, if both are equally likely and each point is kept equally often;
    1/2 is chance.
    """
    from deniable.estimates.decoders import SupportDecoder, decoder_of

    # Two reports of two are any two blocks. For two reports of one, the first is any block y, and
    # the second is y' with the probability K/v sum_u D(u, y) D(u, y'), where u is in both of them
    # for their i common points, in one only for 2 (b - i), and in none for v - 2 b + i.
    fresh, design = mechanism.fresh, mechanism.fresh.design
    decoder, b, blocks = decoder_of(fresh), design.block, fresh.responses
    assert isinstance(decoder, SupportDecoder)
    inside, outside = fresh.supporting, fresh.other
    both, one, none = (
        weight / fresh.grid**2 for weight in (inside**2, inside * outside, outside**2)
    )
    firsts = range(0, blocks, -(-blocks // _FIRST_BLOCKS))
    apart = 0.0
    for first in firsts:
        block = [design.supports(first, u) for u in range(design.points)]
        common = decoder.supported(np.array(block, dtype=np.float64))
        weights = common * both + 2 * (b - common) * one + (design.points - 2 * b + common) * none
        apart += float(np.abs(weights * blocks / design.points - 1 / blocks).sum())
    return 0.5 + apart / len(firsts) / 4
