"""docs/mathematics.md leads to code and tests, these lead back, and its figures are computed."""

import re
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from deniable.estimates import left_inverse, solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "mathematics.md").read_text("utf-8")
SECTIONS = re.findall(r"^## (\d+)\. ", TEXT, re.MULTILINE)
NAMES = sorted(set(re.findall(r"`(deniable(?:\.\w+)+)`", TEXT)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT)))
SOURCES = [
    file for root in ("shared", "collector", "client") for file in (ROOT / root).rglob("*.py")
]


def test_sections_are_numbered_from_1_on_and_name_their_code_and_tests() -> None:
    assert list(map(int, SECTIONS)) == list(range(1, len(SECTIONS) + 1))
    _, *sections, _ = re.split(r"^## ", TEXT, flags=re.MULTILINE)  # the last is about the sources
    for section in sections:
        assert re.search(r"`deniable\.", section), section[:40]
        assert re.search(r"`tests/", section), section[:40]


def test_every_name_and_every_test_file_is_there() -> None:
    assert len(NAMES) > 80
    assert all(map(resolve_name, NAMES))
    assert [file for file in TESTS if not (ROOT / file).is_file()] == []


def test_docstrings_name_sections_that_there_are() -> None:
    cited = {
        (file.name, number)
        for file in SOURCES
        for text in re.findall(
            r"docs/mathematics\.md((?:,\s+sections?\s[\d, and]+)?)", file.read_text("utf-8")
        )
        for number in re.findall(r"\d+", text) or ["no section"]
    }
    assert {number for _, number in cited} <= set(SECTIONS), cited
    # The last section lists the slips of others; every other one is cited where it is computed.
    assert {number for _, number in cited} >= set(SECTIONS[:-1])


def figures(mechanism: Mechanism) -> list[float]:
    """Return total n Var, sqrt(n) SE of the mean, RMS distance of a response; uniform answers."""
    k = mechanism.categories
    matrix, values, uniform = solution_matrix(mechanism), np.arange(k) / (k - 1), np.full(k, 1 / k)
    inverse = left_inverse(matrix)
    lam = matrix.T @ uniform
    total = float((inverse**2 @ lam - uniform**2).sum())
    kernel = inverse.T @ values
    mean = float(np.sqrt(kernel**2 @ lam - (kernel @ lam) ** 2))
    distance = float(np.sqrt((matrix * np.subtract.outer(values, values) ** 2).sum() / k))
    return [total, mean, distance]


@pytest.mark.parametrize(
    ("row", "small", "large"),
    [
        ("RandomisedResponse", RandomisedResponse(5, "1"), RandomisedResponse(101, "1")),
        ("ClampedGeometric", clamped_geometric(5, "1"), clamped_geometric(101, "1")),
    ],
)
def test_the_table_of_which_mechanism_for_what(
    row: str, small: Mechanism, large: Mechanism
) -> None:
    (line,) = re.findall(rf"^\| `{row}` \|(.*)\|$", TEXT, re.MULTILINE)
    pairs = zip(figures(small), figures(large), strict=True)
    shown = [float(cell) for cell in line.split("|")]
    assert shown == pytest.approx([x for pair in pairs for x in pair], rel=0.005)
