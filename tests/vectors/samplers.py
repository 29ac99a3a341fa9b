"""Vectors of samplers: what given words make of an answer, and how many of them it takes."""

from collections.abc import Iterable, Iterator
from itertools import accumulate, islice, product
from typing import Any

from deniable.mechanisms import MeanMatrix, Mechanism, RandomisedResponse, TwoRound
from deniable.mechanisms.answering import combined
from deniable.mechanisms.block_design import TurnedDesign
from deniable.mechanisms.one_question import OneQuestion
from deniable.messages import Specification
from tests.vectors.golden_manifests import FIVE_RESPONSES
from tests.vectors.layout import Case, case, group
from tests.vectors.mechanisms import DESIGNS, MEAN, MEANS, TWO_ROUNDS, title
from tests.vectors.scene import pack, seed

GRID = 2**64
LAST = GRID - 1
MANY = 7  # so many answers, and edges, have tests each; of more the first and the last have

Given = tuple[dict[str, Any], int, str, str]
"""A mechanism's map, its number of categories, epsilon and delta."""

RR: dict[str, Any] = {"kind": "randomised-response"}

ONE_WORD: list[Given] = [
    (RR, 2, "1", "0"),
    (RR, 2, "40", "0"),
    (RR, 2, "0", "0.5"),
    (RR, 3, "0.5", "0"),
    (RR, 5, "1", "0.000001"),
    (RR, 256, "3", "0.000000001"),
    (RR, 65_536, "1", "0"),
    (MEAN, 3, "1", "0"),
    ({"kind": "matrix", "weights": FIVE_RESPONSES, "responses": list("abcde")}, 4, "1", "0"),
]

SMALL_DESIGNS: list[Given] = [
    ({"kind": "affine", "q": 3, "m": 2, "s": 1}, 5, "1", "0"),
    ({"kind": "affine", "q": 5, "m": 1, "s": 2}, 5, "1", "0"),
]

PLAIN: list[object] = ["randomised-response"]
QUESTIONS: list[list[tuple[int, list[object]]]] = [
    [(2, PLAIN), (4, ["subset", 2])],
    [(2, PLAIN), (3, PLAIN), (105, ["affine", 11, 2, 3])],
    [(2, PLAIN)] * 9,
]

LEVELS: list[tuple[int, list[int], list[list[object]]]] = [
    (7, [4, 2, 1], [PLAIN, ["subset", 2], ["affine", 7, 1, 2]]),
    (49, [18, 6, 2, 1], [PLAIN, ["affine", 3, 2, 1], ["affine", 29, 1, 8], ["affine", 7, 2, 2]]),
    (3, [1], [PLAIN]),
]


STRINGS: list[tuple[int, list[int], int, int]] = [
    (2, [1], 1_024, 2),
    (37, [2, 4, 8], 1_500, 8),
    (255, [1, 64], 2_048, 56),
]


class Sampler:
    """A mechanism, and what words make of answers to it."""

    def __init__(
        self, specification: dict[str, Any], categories: int, epsilon: str, delta: str = "0"
    ) -> None:
        self.mechanism: Mechanism = Specification.from_map(specification).mechanism(
            categories, epsilon, delta
        )
        self.categories = categories
        self.sizes = [len(names) - 1 for names in specification.get("dimensions", [])]
        self.title = title(specification, categories, epsilon, delta)
        self.shared: dict[str, Any] = {
            "mechanism": specification,
            "categories": categories,
            "epsilon": epsilon,
            "delta": delta,
            "responses": self.mechanism.responses,
        }

    def case(
        self, answer: int | list[int], words: Iterable[int], *flags: str, what: str = ""
    ) -> Case:
        """Return what these words make of an answer, or of one to each question."""
        offered = list(words)
        name, index = "answer", answer
        if isinstance(index, list):
            name, index, flags = "answers", combined(index, self.sizes), (*flags, "SeveralAnswers")
        left = iter(offered)
        outcome: dict[str, Any] = {"response": self.mechanism.randomise(index, left.__next__)}
        if isinstance(self.mechanism, TwoRound):
            kept = self.mechanism.kept.randomise(index, iter(offered).__next__)
            outcome = {"kept": kept} | outcome
        given: dict[str, Any] = {name: answer}
        return case(
            f"{self.title}: {name} {answer}, {what or ' '.join(f'{word:x}' for word in offered)}",
            *flags,
            **given,
            words=[str(word) for word in offered],
            consumed=len(offered) - len(list(left)),
            **outcome,
        )

    def group(self, *tests: Iterable[Case]) -> dict[str, Any]:
        """Return the group of tests of this mechanism."""
        return group("Sampler", (test for part in tests for test in part), **self.shared)

    def seeded(self, words: int) -> Iterator[Case]:
        """Return what so many words, of names, make of three answers."""
        for number in range(3):
            name = f"{pack(self.shared['mechanism']).hex()} {self.categories} {number}"
            drawn = [int.from_bytes(seed(name)[at : at + 8]) for at in range(0, 8 * words, 8)]
            answer = number * (self.categories - 1) // 2
            yield self.case(answer, drawn, "Ordinary", what=f"words of name {number}")

    def edges(self, *following: int) -> Iterator[Case]:
        """Return what the first words around all edges make of all answers."""
        for answer in some(range(self.categories)):
            for word, flag in around(edges(self.mechanism, answer)):
                yield self.case(answer, [word, *following], flag)


def groups() -> list[dict[str, Any]]:
    """Return the groups of samplers.json."""
    return [
        *(sampler.group(sampler.edges()) for sampler in (Sampler(*given) for given in ONE_WORD)),
        *(designed(Sampler(*given)) for given in [*DESIGNS, *SMALL_DESIGNS]),
        *(two_rounds(*given) for given in TWO_ROUNDS),
        *(one_question(questions) for questions in QUESTIONS),
        *(levels(*given) for given in LEVELS),
        joint(),
        *(strings(*given) for given in STRINGS),
        *(dithered(*given) for given in MEANS[1:]),
    ]


def edges(mechanism: Mechanism, answer: int) -> Iterable[int]:
    """Return the words from which on the first word of an answer means something else."""
    match mechanism:
        case TwoRound():
            return edges(mechanism.kept, answer)
        case RandomisedResponse():
            return [x * mechanism.lies for x in range(1, mechanism.categories + 1)]
        case TurnedDesign():
            n, s = mechanism.design.positions, mechanism.design.size
            missed = (n - s) * mechanism.outside
            inside = (missed + (i + 1) * mechanism.inside for i in range(s))
            return [*range(mechanism.outside, missed + 1, mechanism.outside), *inside]

    def response(word: int) -> int:
        return mechanism.randomise(answer, iter([word]).__next__)

    rows = (mechanism.row(x) for x in {0, answer, mechanism.categories - 1})
    ends = {end for row in rows for end in accumulate(row)} - {0, GRID}
    return sorted(end for end in ends if response(end - 1) != response(end))


def around(edges: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Return the words on both sides of edges, and the least and the greatest word."""
    words = {word for edge in some(list(edges)) for word in (edge - 1, edge)} - {0, LAST, GRID}
    yield from ((word, "Extreme") for word in (0, LAST))
    yield from ((word, "Boundary") for word in sorted(words))


def some(values: "range | list[int]") -> list[int]:
    """Return all of a few values, and of many the first, the middle one and the last."""
    if len(values) <= MANY:
        return list(values)
    return [*values[:2], values[len(values) // 2], *values[-2:]]


def designed(sampler: Sampler) -> dict[str, Any]:
    """Return a design: edges of the first word, and of the two that draw the base."""
    made = sampler.mechanism
    assert isinstance(made, TurnedDesign)
    last, blocks, equal = sampler.categories - 1, made.responses, ["EqualBlocks"]
    if sampler.shared["mechanism"]["kind"] != "affine":
        equal = []

    def bases() -> Iterator[Case]:
        # The last words send the base block as it is, where any do.
        yield sampler.case(last, [LAST, 0, 0], "Blank", what="the last word")
        middle = (made.design.positions - made.design.size) * made.outside
        for block in sorted({1, blocks // 2, blocks - 1} - {0}):
            least = -(-block * GRID**2 // blocks)
            for base in (least - 1, least):
                words = [middle, *divmod(base, GRID)]
                yield sampler.case(0, words, "WideProduct", "Boundary", *equal)
        yield sampler.case(last, [middle, LAST, LAST], "WideProduct", "Extreme", *equal)

    small = sampler.edges(GRID // 3, 0) if sampler.categories <= MANY else ()
    return sampler.group(sampler.seeded(3), bases(), small)


def two_rounds(categories: int, epsilon: str, kept: str, fresh: list[object]) -> dict[str, Any]:
    """Return two rounds: edges of the kept one, and words of names for both."""
    specification = {"kind": "two-round", "kept": kept, "fresh": fresh}
    sampler = Sampler(specification, categories, epsilon)
    return sampler.group(sampler.seeded(4), sampler.edges(GRID // 3, GRID // 5, GRID // 7))


def named_words(name: str) -> Iterator[list[int]]:
    """Return six times 16 words of a name."""
    for number in range(6):
        parts = [seed(f"{name} {number} {i}") for i in range(4)]
        yield [int.from_bytes(part[at : at + 8]) for part, at in product(parts, (0, 8, 16, 24))]


def one_question(questions: list[tuple[int, list[object]]]) -> dict[str, Any]:
    """Return one question of several: words of names, edges of each, words that are no number."""
    sizes = [size for size, _ in questions]
    sampler = Sampler(
        {
            "kind": "one-question",
            "dimensions": [[f"q{i}", *(f"a{j}" for j in range(n))] for i, n in enumerate(sizes)],
            "mechanisms": [mechanism for _, mechanism in questions],
        },
        sum(sizes),
        "1",
    )

    def tests() -> Iterator[Case]:
        for number, words in enumerate(named_words(str(sizes))):
            answers = [(number + i) % size for i, size in enumerate(sizes)]
            yield sampler.case(answers, words, "Ordinary", what=f"words of name {number}")
        last, bits = len(sizes) - 1, (len(sizes) - 1).bit_length()
        answers, following = [size - 1 for size in sizes], [GRID // 2, GRID // 3, GRID // 5]
        for number in range(len(sizes)):
            # Whatever stands before the last bits, they are the number.
            for word in (number, (LAST << bits & LAST) + number):
                yield sampler.case(answers, [word, *following], "Extreme")
        if last != (1 << bits) - 1:
            refused = [LAST, last + 1, last]
            yield sampler.case(answers, [*refused, *following], "Rejected")

    return sampler.group(tests())


def levels(categories: int, widths: list[int], mechanisms: list[list[object]]) -> dict[str, Any]:
    """Return levels of a tree: words of names, and the first words of each level."""
    specification = {"kind": "levels", "widths": widths, "mechanisms": mechanisms}
    sampler = Sampler(specification, categories, "1")
    made = sampler.mechanism
    assert isinstance(made, OneQuestion)

    def tests() -> Iterator[Case]:
        for number, words in enumerate(named_words(str(categories))):
            answer = 5 * number % categories
            yield sampler.case(answer, words, "Ordinary", what=f"words of name {number}")
        for answer in some(range(categories)):
            for number, part in enumerate(made.parts):
                first = [number] if len(widths) > 1 else []  # a single level takes no word
                for word, flag in islice(around(edges(part, answer // widths[number])), 6):
                    yield sampler.case(answer, [*first, word, GRID // 2, 0], flag)

    return sampler.group(tests())


def dithered(specification: dict[str, Any], categories: int) -> dict[str, Any]:
    """Return a mean of more categories than rows: words of names, and around the rest's end."""
    sampler = Sampler(specification, categories, "1")
    made, bits = sampler.mechanism, (categories - 2).bit_length()
    assert isinstance(made, MeanMatrix)

    def tests() -> Iterator[Case]:
        for number, words in enumerate(named_words(str(categories))):
            yield sampler.case(
                5 * number % categories, words, "Ordinary", what=f"words of name {number}"
            )
        for answer in some(range(categories)):
            place, rest = made.place(answer)
            for drawn in sorted({0, max(0, rest - 1), rest, categories - 2}):
                # Whatever stands before the last bits, they are what is below the bound.
                first = (LAST << bits & LAST) + drawn
                for word, flag in islice(around(edges(made.rows, place)), 4):
                    yield sampler.case(answer, [first, word], flag)
        if (1 << bits) > categories - 1:
            yield sampler.case(1, [LAST, categories - 1, 0, GRID // 3], "Rejected")

    return sampler.group(tests())


def strings(signs: int, lengths: list[int], hashes: int, values: int) -> dict[str, Any]:
    """Return texts: words of names, the first and the last hash function, and a refused word."""
    specification: dict[str, Any] = {
        "kind": "strings",
        "lengths": lengths,
        "hashes": hashes,
        "values": values,
        "least": 50,
    }
    sampler = Sampler(specification, signs, "1")
    drawn = len(lengths) * hashes
    bits = (drawn - 1).bit_length()

    def tests() -> Iterator[Case]:
        for number, words in enumerate(named_words(str(specification))):
            answer = int(seed(f"text {number}").hex()[:12], 16) >> 8 * number
            yield sampler.case(answer, words, "Ordinary", what=f"words of name {number}")
        # The first texts: the empty one, those of one sign, and some of two.
        for answer in (0, 1, signs + 1, signs + 2, (signs + 1) ** 2):
            for number in sorted({0, hashes - 1, hashes % drawn, drawn - 1}):
                first = (LAST << bits & LAST) + number
                yield sampler.case(answer, [first, GRID // 3], "Extreme")
                yield sampler.case(answer, [number, LAST], "Extreme")
        if (1 << bits) > drawn:
            yield sampler.case(1, [LAST, drawn, 0, GRID // 3], "Rejected")

    return sampler.group(tests())


def joint() -> dict[str, Any]:
    """Return one response to two questions at once: a set of two of their six combinations."""
    specification = {
        "kind": "joint",
        "dimensions": [["plan", "free", "paid"], ["size", *"ABC"]],
        "mechanism": ["subset", 2],
    }
    sampler = Sampler(specification, 6, "1")
    return sampler.group(
        sampler.case([plan, size], [word, GRID // 2, 0], flag)
        for plan, size in product(range(2), range(3))
        for word, flag in around(edges(sampler.mechanism, 0))
    )
