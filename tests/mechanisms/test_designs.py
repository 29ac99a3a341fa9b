"""Block designs, enumerated: incidences, guarantee, sampler; and the table of published figures."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, exp
from operator import mul

import pytest

from deniable.audit import SolutionMatrix, tight_epsilon
from deniable.mechanisms import InvalidPrivacyParameter, MatrixPrivacy
from deniable.mechanisms.affine import Affine, is_prime
from deniable.mechanisms.block_design import BlockLabels, Design, DesignMechanism
from deniable.mechanisms.difference_set import SETS, DifferenceSet
from deniable.mechanisms.subset import Subset, rank
from tests.mechanisms.laws import matrix_of
from tests.support.effort import some
from tests.support.entries import probability

AFFINE = [
    (q**m, q, m, s)
    for q in (2, 3, 5, 7, 11, 13)
    for m in range(1, 7)
    if 2 < q**m <= 125
    for s in range(1, q)
]
SUBSETS = [(k, d) for k in range(2, 9) for d in range(1, k)]


def designs() -> Iterator[DesignMechanism]:
    for k, *parameters in AFFINE:
        yield DesignMechanism(Affine(k, *parameters), "1")
        yield DesignMechanism(Affine(max(2, k - 2), *parameters), "0.5", "0.001")
    for k, d in SUBSETS:
        yield DesignMechanism(Subset(k, d), "1")
        yield DesignMechanism(Subset(k, d), "0.5", "0.001")
    for v in SETS:
        yield DesignMechanism(DifferenceSet(v, v), "1")
        yield DesignMechanism(DifferenceSet(v - 2, v), "0.5", "0.001")


ALL = list(designs())


@pytest.mark.parametrize("made", some(some(ALL)), ids=repr)
def test_each_category_is_in_as_many_blocks_and_so_is_each_pair(made: DesignMechanism) -> None:
    design, k, blocks = made.design, made.categories, made.responses
    held = [sum(design.supports(y, x) << y for y in range(blocks)) for x in range(k)]
    assert {each.bit_count() for each in held} == {design.replication}
    assert {(one & other).bit_count() for one, other in combinations(held, 2)} == {design.together}
    inside, outside = made.privacy.truth, made.privacy.lie
    assert design.replication * inside + (blocks - design.replication) * outside == 1


@pytest.mark.parametrize("design", some(some([d for d in ALL if d.responses <= 400])), ids=repr)
def test_it_guarantees_what_its_entries_say(design: DesignMechanism) -> None:
    exact = MatrixPrivacy(matrix_of(design))
    odds = [Fraction(1), Fraction(3, 2), Fraction(2)]
    assert design.privacy.odds == exact.odds
    # All pairs of rows are alike, so that two of them tell all.
    two = SolutionMatrix([design.row(0), design.row(1)], design.grid)
    pair = MatrixPrivacy(two)
    assert [design.privacy.delta_at_odds(e) for e in odds] == [pair.delta_at_odds(e) for e in odds]
    assert tight_epsilon(design, "0.001").odds == tight_epsilon(two, "0.001").odds


@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("epsilon", ["0.5", "30", "40"])
@pytest.mark.parametrize(
    "design",
    [Affine(20, 5, 2, 2), Affine(1000, 1021, 1, 1020), Subset(6, 3), DifferenceSet(16, 16)],
    ids=repr,
)
def test_nothing_on_the_grid_is_better(design: Design, epsilon: str, delta: str) -> None:
    if Fraction(delta) * design.replication >= design.replication - design.together:
        return
    made, (n, s) = DesignMechanism(design, epsilon, delta), (design.positions, design.size)
    assert made.privacy.satisfies(epsilon, delta)
    # One less for each position that the block does not cover, all else for those that it does.
    less = Fraction(n * (made.outside - 1), made.grid)
    more = Fraction(n * (2**64 - (n - s) * (made.outside - 1)), s * made.grid)
    if less:
        better = type(made.privacy)(more, less, made.privacy.separating)
        assert not better.satisfies(epsilon, delta)


@pytest.mark.parametrize(
    "design",
    [
        *(Affine(5, 5, 1, 2), Affine(7, 3, 2, 2), Affine(6, 2, 3, 1), Affine(7, 7, 1, 3)),
        *(Subset(6, 3), DifferenceSet(12, 13), DifferenceSet(16, 16)),
    ],
    ids=repr,
)
def test_the_sampler_meets_each_entry(design: Design) -> None:
    # Every position of the first word, with every base block: the words' weights, exactly.
    made, bases = DesignMechanism(design, "1"), design.responses
    first = (design.positions - design.size) * made.outside
    starts = [i * made.outside for i in range(design.positions - design.size)]
    starts += [first + i * made.inside for i in range(design.size)]
    starts.append(first + design.size * made.inside)  # the blank, if there is one
    ends = [*starts[1:], 1 << 64]
    for answer in range(design.categories):
        found = [Fraction(0)] * design.responses
        for base, (start, end) in product(range(bases), zip(starts, ends, strict=True)):
            middle = ((2 * base + 1) << 127) // bases
            for word in {start, end - 1} if start < end else ():
                words = iter([word, middle >> 64, middle & (1 << 64) - 1])
                response = made.randomise(answer, words.__next__)
            if start < end:
                found[response] += Fraction(end - start, bases << 64)
        assert found == [probability(made, answer, y) for y in range(design.responses)]


def test_subsets_stand_in_colexicographic_order() -> None:
    design = Subset(7, 3)
    expected = sorted(combinations(range(7), 3), key=lambda members: members[::-1])
    assert [tuple(sorted(design.members(y))) for y in range(design.responses)] == expected
    assert [rank(members) for members in expected] == list(range(comb(7, 3)))


@pytest.mark.parametrize(
    ("design", "epsilon", "responses", "p", "q", "cost"),
    [
        ((16, 17, 1, 5), "1", 68, 0.5310926438917, 0.2793067097568, 51.55596957224),
        ((105, 107, 1, 40), "0.5", 5671, 0.4960467910574, 0.3726788038579, 1613.969858508),
        ((105, 11, 2, 3), "1", 660, 0.5047925399694, 0.2707933955003, 379.619029906),
        ((105, 107, 1, 2), "4", 5671, 0.5097954541348, 0.01405853345156, 6.882611021974),
        ((1024, 11, 3, 3), "1", 7315, 0.5047925399694, 0.2725527875639, 3765.21297582),
        ((1024, 41, 2, 5), "2", 6888, 0.5064793807649, 0.1217223337019, 740.4505213099),
        ((1024, 53, 2, 1), "4", 2862, 0.5121866562991, 0.01869224121927, 78.07683699817),
        ((10000, 101, 2, 27), "1", 515100, 0.4979429548058, 0.2673041232397, 36819.3869278),
        ((65536, 7, 6, 2), "1", 411768, 0.5209151053579, 0.2857122865233, 241767.8005067),
    ],
)
def test_the_published_figures(
    design: tuple[int, int, int, int], epsilon: str, responses: int, p: float, q: float, cost: float
) -> None:
    made = DesignMechanism(Affine(*design), epsilon)
    hit, miss = float(made.hit), float(made.miss)
    assert made.responses == responses
    assert (hit, miss) == pytest.approx((p, q), rel=1e-12)
    k = made.categories
    variance = (hit * (1 - hit) + (k - 1) * miss * (1 - miss)) / (hit - miss) ** 2
    assert variance == pytest.approx(cost, rel=1e-11)
    assert float(made.privacy.odds) == pytest.approx(exp(float(epsilon)), rel=1e-14)


@pytest.mark.parametrize(("k", "q", "m", "s"), some(some(AFFINE)))
def test_each_block_of_all_vectors_or_that_of_the_opposite_is_one_response(
    k: int, q: int, m: int, s: int
) -> None:
    design = Affine(k, q, m, s)
    digits = [[x // q**j % q for j in range(m)] for x in range(k)]
    members = set(design.residues[:s])

    def block(a: list[int], b: int) -> tuple[int, ...]:
        return tuple(x for x in range(k) if (sum(map(mul, a, digits[x])) + b) % q in members)

    # The blocks of a and of -a, with all b: all vectors have these pairs of sets, each once.
    pairs = {
        frozenset(frozenset(block([sign * d for d in a], b) for b in range(q)) for sign in (1, -1))
        for a in digits[1:]
    }
    blocks = [tuple(design.supported(y)) for y in range(design.responses)]
    assert len(set(blocks)) == design.responses
    of_each_vector = {frozenset(blocks[i : i + q]) for i in range(0, len(blocks), q)}
    assert len(of_each_vector) == len(pairs)
    assert all(any(part in pair for part in of_each_vector) for pair in pairs)


@pytest.mark.parametrize("delta", ["0.5", "0.25", "0.125", "0.000000000000000001"])
def test_delta_alone_is_kept_where_the_weights_are_exact(delta: str) -> None:
    # At epsilon 0 some weights are whole numbers before they are rounded up: nothing is to spare.
    for design in (Subset(4, 2), Affine(2, 2, 1, 1), Affine(4, 2, 2, 1), Affine(8, 2, 3, 1)):
        if Fraction(delta) * design.replication < design.replication - design.together:
            made = DesignMechanism(design, "0", delta)
            most = 1 + Fraction(design.responses, 2**128)
            assert most * made.privacy.delta_at_odds(Fraction(1)) <= Fraction(delta)


def test_the_largest_designs_name_what_a_response_supports_at_once() -> None:
    assert Subset(65_536, 1).supported(40_000) == [40_000]
    labels = BlockLabels(Subset(1448, 2), [f"c{x}" for x in range(1448)])
    pair = rank([7, 1000])
    assert labels[pair] == f"set {pair:,} of 1,047,628, 2 of 1,448 answers: c7, c1000"
    labels = BlockLabels(Affine(120, 11, 2, 3), [f"c{x}" for x in range(120)])
    assert labels[0] == "set 0 of 660, about 33 of 120 answers: c0, c1, c10, c11, c12, …"


def test_no_design_is_made_of_what_is_none() -> None:
    wrong: list[tuple[str, Callable[..., Design], tuple[int, ...]]] = [
        *(
            ("prime|categories|s must be", Affine, p)
            for p in ((5, 4, 2, 1), (5, 5, 1, 5), (5, 5, 1, 0))
        ),
        *(("prime|categories|s must be", Affine, p) for p in ((6, 5, 1, 2), (5, 131_101, 1, 3))),
        *(("responses", Affine, (1000, 1021, 2, 3)), ("responses", Subset, (1449, 2))),
        *(("too many sets", Subset, (400, 398)), ("must be below", Subset, (4, 4))),
        *(
            ("at most 13 categories", DifferenceSet, (14, 13)),
            ("13, 15 or 16", DifferenceSet, (7, 7)),
        ),
    ]
    for reason, design, parameters in wrong:
        with pytest.raises(ValueError, match=reason):
            design(*parameters)
    for made in (Affine(5, 5, 1, 2), Subset(5, 2)):
        with pytest.raises(InvalidPrivacyParameter, match="epsilon and delta are 0"):
            DesignMechanism(made, "0")
    for made, delta in ((Subset(5, 2), "0.9"), (Affine(5, 5, 1, 2), "0.9"), (Subset(6, 5), "0.2")):
        with pytest.raises(InvalidPrivacyParameter, match="allows any response"):
            DesignMechanism(made, "1", delta)
    # A supported set of 5 of 6 separates by 1/5 of its responses.
    assert DesignMechanism(Subset(6, 5), "1", "0.199").privacy.odds > 1
    assert [n for n in range(30) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
