"""Vectors of mechanisms: which integers follow from epsilon, delta and the number of categories."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from deniable.mechanisms import Mechanism, RandomisedResponse, TwoRound
from deniable.mechanisms.block_design import DesignMechanism
from deniable.messages import Specification
from tests.vectors.layout import Case, case, group

RANDOMISED_RESPONSES = [
    (2, "0.1", "0"),
    (2, "1", "0"),
    (2, "5", "0"),
    (2, "40", "0"),
    (2, "0.000000000000000001", "0"),
    (2, "0", "0.5"),
    (3, "0.5", "0"),
    (3, "1.098612288668109691", "0"),
    (4, "1", "0"),
    (5, "1", "0"),
    (5, "1", "0.000001"),
    (5, "0", "0.000000000000000001"),
    (10, "2.5", "0"),
    (16, "4", "0.25"),
    (100, "0.01", "0"),
    (256, "3", "0.000000001"),
    (1_000, "12.345678901234567891", "0"),
    (4_096, "8", "0.999999999999999999"),
    (65_536, "0.1", "0"),
    (65_536, "1", "0"),
    (65_536, "40", "0"),
]

TWO_ROUNDS: list[tuple[int, str, str, list[object]]] = [
    (2, "1", "2", ["subset", 1]),
    (2, "0.000000001", "40", ["subset", 1]),
    (3, "0.038", "1.1", ["subset", 1]),
    (10, "1", "2", ["subset", 1]),
    (1_000, "3.5", "3.75", ["subset", 1]),
    (65_536, "0.1", "3", ["subset", 1]),
    (65_536, "39", "40", ["subset", 1]),
    (6, "0.9", "3", ["subset", 2]),
    (26, "1", "3", ["subset", 6]),
    (16, "0.5", "3", ["affine", 17, 1, 6]),
    (105, "1", "4", ["affine", 107, 1, 28]),
    (6, "0.5", "2", ["affine", 7, 1, 3]),
    (15, "0.5", "3", ["difference-set", 16]),
    (10_000, "1", "6", ["affine", 101, 2, 2]),
]

_SIXTEENTH = 2**60
MEAN: dict[str, Any] = {
    "kind": "mean",
    "weights": [
        [weight * _SIXTEENTH for weight in row] for row in ([8, 4, 4], [6, 4, 6], [4, 4, 8])
    ],
}
_ONE_BIT: dict[str, Any] = {
    "kind": "mean",
    "weights": [[11 * _SIXTEENTH + 1, 5 * _SIXTEENTH - 1], [5 * _SIXTEENTH, 11 * _SIXTEENTH]],
}
MEANS: list[tuple[dict[str, Any], int]] = [(MEAN, 3), (MEAN, 6), (MEAN, 4_096), (_ONE_BIT, 12)]

DESIGNS: list[tuple[dict[str, Any], int, str, str]] = [
    ({"kind": "subset", "d": 1}, 2, "1", "0"),
    ({"kind": "subset", "d": 2}, 4, "0.5", "0"),
    ({"kind": "subset", "d": 3}, 6, "1", "0"),
    ({"kind": "subset", "d": 6}, 9, "0.1", "0.001"),
    ({"kind": "subset", "d": 4}, 16, "1", "0"),
    ({"kind": "subset", "d": 8}, 20, "0.5", "0"),
    ({"kind": "subset", "d": 2}, 105, "4", "0"),
    ({"kind": "difference-set", "v": 13}, 13, "1", "0"),
    ({"kind": "difference-set", "v": 15}, 14, "0.25", "0"),
    ({"kind": "difference-set", "v": 16}, 15, "0.5", "0.001"),
    ({"kind": "affine", "q": 2, "m": 2, "s": 1}, 3, "1", "0"),
    ({"kind": "affine", "q": 2, "m": 18, "s": 1}, 65_536, "0.5", "0"),
    ({"kind": "affine", "q": 3, "m": 3, "s": 2}, 20, "1", "0.01"),
    ({"kind": "affine", "q": 17, "m": 1, "s": 5}, 16, "1", "0"),
    ({"kind": "affine", "q": 107, "m": 1, "s": 29}, 105, "1", "0"),
    ({"kind": "affine", "q": 107, "m": 1, "s": 40}, 105, "0.5", "0.000000001"),
    ({"kind": "affine", "q": 11, "m": 2, "s": 3}, 105, "1", "0"),
    ({"kind": "affine", "q": 11, "m": 3, "s": 3}, 1_024, "1", "0"),
    ({"kind": "affine", "q": 37, "m": 2, "s": 14}, 1_024, "0.5", "0"),
    ({"kind": "affine", "q": 53, "m": 2, "s": 1}, 1_024, "4", "0"),
    ({"kind": "affine", "q": 101, "m": 2, "s": 27}, 10_000, "1", "0"),
    ({"kind": "affine", "q": 7, "m": 6, "s": 2}, 65_536, "1", "0"),
    ({"kind": "affine", "q": 401, "m": 2, "s": 1}, 65_536, "6", "0"),
    ({"kind": "affine", "q": 5, "m": 3, "s": 4}, 100, "1", "0"),
    ({"kind": "affine", "q": 1447, "m": 1, "s": 390}, 1_000, "1", "0"),
    ({"kind": "affine", "q": 7, "m": 1, "s": 3}, 7, "1", "0"),
    ({"kind": "affine", "q": 13, "m": 2, "s": 4}, 160, "1", "0.001"),
    ({"kind": "affine", "q": 2467, "m": 1, "s": 6}, 2_458, "6", "0"),
    ({"kind": "affine", "q": 1021, "m": 1, "s": 1}, 1_021, "12.345678901234567891", "0"),
]


def groups() -> list[dict[str, Any]]:
    """Return the groups of mechanisms.json."""
    return [
        group("RandomisedResponse", randomised_responses()),
        group("Design", (design(*given) for given in DESIGNS)),
        group("TwoRound", (two_round(*given) for given in TWO_ROUNDS)),
        group("Table", (table(*given) for given in MEANS)),
    ]


def matrix_digest(mechanism: Mechanism) -> str:
    """Return SHA-256 of all weights, row by row, each in 24 bytes big-endian."""
    digest = sha256()
    for x in range(mechanism.categories):
        digest.update(b"".join(weight.to_bytes(24, "big") for weight in mechanism.row(x)))
    return digest.hexdigest()


def title(mechanism: dict[str, Any], categories: int, *privacy: str) -> str:
    """Return a mechanism in a line."""
    kind, *parameters = (str(value) for value in mechanism.values())
    return f"{' '.join([kind, *parameters])}, {categories} categories, {' and '.join(privacy)}"


def randomised_responses() -> Iterator[Case]:
    """Return randomised response: the weight of each lie."""
    for categories, epsilon, delta in RANDOMISED_RESPONSES:
        mechanism = {"kind": "randomised-response"}
        yield case(
            title(mechanism, categories, epsilon, delta),
            "ExactExponential",
            mechanism=mechanism,
            categories=categories,
            epsilon=epsilon,
            delta=delta,
            lies=str(RandomisedResponse(categories, epsilon, delta).lies),
        )


def table(specification: dict[str, Any], categories: int) -> Case:
    """Return a mean: its first and middle row, its tight odds, all of its weights."""
    mechanism = Specification.from_map(specification).mechanism(categories, "40", "0")
    odds = mechanism.privacy.odds
    assert odds is not None
    return case(
        title(specification, categories, "40", "0"),
        "ExactExponential",
        mechanism=specification,
        categories=categories,
        first_row=[str(weight) for weight in mechanism.row(0)],
        middle_row=[str(weight) for weight in mechanism.row(categories // 2)],
        odds=[str(odds.numerator), str(odds.denominator)],
        matrix_sha256=matrix_digest(mechanism),
    )


def design(specification: dict[str, Any], categories: int, epsilon: str, delta: str) -> Case:
    """Return a design: its weights and its tight odds."""
    mechanism = Specification.from_map(specification).mechanism(categories, epsilon, delta)
    assert isinstance(mechanism, DesignMechanism)
    odds = mechanism.privacy.odds
    return case(
        title(specification, categories, epsilon, delta),
        "ExactExponential",
        mechanism=specification,
        categories=categories,
        epsilon=epsilon,
        delta=delta,
        responses=mechanism.responses,
        inside=str(mechanism.inside),
        outside=str(mechanism.outside),
        odds=[str(odds.numerator), str(odds.denominator)],
    )


def two_round(categories: int, epsilon: str, kept: str, fresh: list[object]) -> Case:
    """Return the integers of two rounds."""
    specification: dict[str, Any] = {"kind": "two-round", "kept": kept, "fresh": fresh}
    mechanism = Specification.from_map(specification).mechanism(categories, epsilon, "0")
    assert isinstance(mechanism, TwoRound)
    return case(
        title(specification, categories, epsilon),
        "ExactExponential",
        mechanism=specification,
        categories=categories,
        epsilon=epsilon,
        kept_lies=str(mechanism.kept.lies),
        inside=str(mechanism.fresh.inside),
        outside=str(mechanism.fresh.outside),
        supporting=str(mechanism.supporting),
        other=str(mechanism.other),
    )
