"""Block designs in bulk are the device's sampler, word for word."""

import numpy as np
import pytest

from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import Design, DesignMechanism
from deniable.mechanisms.difference_set import DifferenceSet
from deniable.mechanisms.subset import Subset
from deniable.simulation import SimulatedWords, designs, randomise_many
from tests.simulation.test_bulk import ListedWords, draws

GRID = 2**64
DESIGNS: list[Design] = [
    *(Affine(2, 2, 1, 1), Affine(6, 7, 1, 3), Affine(8, 2, 3, 1), Affine(20, 5, 2, 4)),
    *(Affine(1024, 37, 2, 14), Affine(30_000, 2, 15, 1), Affine(1000, 1021, 1, 500)),
    *(Affine(2458, 2467, 1, 6), Affine(160, 13, 2, 4)),
    *(DifferenceSet(13, 13), DifferenceSet(15, 16)),
    *(Subset(2, 1), Subset(5, 4), Subset(6, 3), Subset(7, 2), Subset(16, 4), Subset(300, 2)),
    Subset(70, 69),
]
MECHANISMS = [DesignMechanism(design, "0.5") for design in DESIGNS]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: repr(mechanism.design))
def test_border_words_give_what_they_give_on_a_device(mechanism: DesignMechanism) -> None:
    design = mechanism.design
    n, s, bases = design.positions, design.size, design.responses
    first = (n - s) * mechanism.outside
    # Where positions end, and what is left over begins.
    ends = {at * mechanism.outside for at in range(n - s + 1)}
    ends |= {first + at * mechanism.inside for at in range(s + 1)} | {GRID}
    near = {end + step for end in ends for step in (-1, 0)}
    words = sorted(word for word in near if 0 <= word < GRID)
    triples = [(word, 3 * word % GRID, 5 * word % GRID) for word in words]
    # Where base blocks end: the last 128 bits of one, the first of the next.
    for base in {1, bases // 2, bases - 1, bases}:
        end = -(-base * GRID**2 // bases)
        triples += [(7, *divmod(bits % GRID**2, GRID)) for bits in (end - 1, end)]
    k = mechanism.categories
    answers = [at * 7 % k for at in range(len(triples))]
    listed = ListedWords(np.array(triples, dtype=np.uint64).T.ravel())
    bulk = randomise_many(mechanism, np.array(answers, dtype=int), listed)
    pairs = zip(answers, triples, strict=True)
    assert bulk.tolist() == [mechanism.randomise(one, draws(words)) for one, words in pairs]


def test_the_low_word_decides_where_it_carries() -> None:
    design = Affine(11, 11, 2, 3)
    high = -(-GRID // design.responses) - 1
    words = np.array([[high, high], [0, GRID - 1]], dtype=np.uint64)
    assert designs.base_blocks(design, *words).tolist() == [0, 1]


@pytest.mark.parametrize(
    "design", [Affine(20, 5, 2, 4), Subset(7, 2), DifferenceSet(12, 13)], ids=repr
)
def test_a_design_of_no_kind_of_ours_is_turned_by_its_own_rule(design: Design) -> None:
    generator = np.random.default_rng(4)
    base = generator.integers(design.responses, size=200)
    position = generator.integers(design.positions, size=200)
    category = generator.integers(design.categories, size=200).astype(np.uint8)
    own, ours = designs.turner.dispatch(Design)(design), designs.turner(design)
    assert own(base, position, category).tolist() == ours(base, position, category).tolist()


def test_responses_come_in_a_type_that_holds_them_across_chunks() -> None:
    mechanism, size = DesignMechanism(Affine(105, 107, 1, 29), "1"), (3, 10_000)
    answers = np.full(size, 104, dtype=np.uint8)
    found = randomise_many(mechanism, answers, SimulatedWords(np.random.default_rng(4)))
    assert found.dtype == np.uint16
    assert found.shape == size
    supporting = sum(mechanism.design.supports(int(y), 104) for y in found.ravel())
    # Five standard deviations; the seed is fixed.
    p = float(mechanism.hit)
    assert abs(supporting / 30_000 - p) < 5 * (p * (1 - p) / 30_000) ** 0.5
