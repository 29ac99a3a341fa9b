"""Incidences: that a design's responses support each category, and each pair, equally often.

This is what the guarantee of a design rests on. A small one has its rows listed, as a device
computes them, entry by entry. Of a larger one the blocks that support a category are counted by
the transforms of its decoder, and so are those that support it and any other, in integers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.estimates.decoders.designs import design_decoder
from deniable.mechanisms.design import BlockMechanism

_MOST_LISTED: Final = 1 << 18
"""Entries of the rows that are listed, at about a microsecond each."""
_MOST_COUNTED: Final = 1 << 25
"""Entries of the rows that are counted through, those of their counts taken 16 times."""
_TRIED: Final = 1 << 12
"""Entries of each of these that are compared with what a device computes."""

Held = NDArray[np.int64]


class NoDesign(ValueError):
    """The responses do not support the categories as often as a design of these numbers does."""


@dataclass(frozen=True, slots=True)
class Incidences:
    """Incidences of a design that were counted, and are as stated.

    Attributes:
        responses: K, of which each supports a set of categories.
        replication: r, the number of responses that support a category.
        together: t, the number that support any two.
        listed: whether all rows were listed, entry by entry.
        counted: how many categories were counted, each with all others; all if it was possible.
        pairs: how many pairs of categories these are.
    """

    responses: int
    replication: int
    together: int
    listed: bool
    counted: int
    pairs: int


def incidences(mechanism: BlockMechanism) -> Incidences:
    """Count how many responses support each category and each two, for as many as takes seconds.

    All rows are listed up to 2^18 entries. Above, categories at equal distances are counted with
    all others. NoDesign if a count is not as it should be.
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
"""Categories; which responses support each; how many support it and each category of all."""


def _listed(mechanism: BlockMechanism, chosen: NDArray[np.int_]) -> Counts:
    privacy, grid = mechanism.privacy, mechanism.grid
    places = {int(privacy.truth * grid): 1, int(privacy.lie * grid): 0}
    # A third value, 2, is refused.
    held = np.array([[places.get(w, 2) for w in mechanism.row(x)] for x in chosen.tolist()])
    yield chosen, held, held @ held.T


def _counted(mechanism: BlockMechanism, chosen: NDArray[np.int_]) -> Counts:
    decoder, design = design_decoder(mechanism), mechanism.design
    tried = np.linspace(0, mechanism.responses - 1, min(mechanism.responses, _TRIED)).astype(int)
    step = max(1, (1 << 20) // mechanism.responses)
    for start in range(0, len(chosen), step):
        some = chosen[start : start + step]
        one = np.zeros((len(some), mechanism.categories))
        one[np.arange(len(some)), some] = 1
        held = np.rint(decoder.supported(one)).astype(np.int64)
        x = int(some[0])
        if [design.supports(y, x) for y in tried.tolist()] != held[0, tried].astype(bool).tolist():
            raise NoDesign("the collector and a device do not agree on what a response supports")
        yield some, held, decoder.supports(held)
