"""docs/mathematics.md leads to code and tests, these lead back, and its figures are computed."""

import re
from fractions import Fraction
from math import exp, tanh
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from benchmarks.rivals import three_outputs
from deniable.estimates import mean_variance
from deniable.estimates.planning import even_variance
from deniable.planning.specification import specified

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
    assert len(NAMES) > 60
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


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "4"])
def test_the_table_of_the_noise_of_means(epsilon: str) -> None:
    (line,) = re.findall(rf"^\| {re.escape(epsilon)} \|((?: [\d.]+ \|){{5}})$", TEXT, re.MULTILINE)
    least, own, three, piecewise, bit = (float(cell) for cell in line.strip(" |").split("|"))
    values = [Fraction(x, 24) for x in range(49)]  # of a range of length 2
    mechanism = specified("mean", 49, epsilon).mechanism(49, epsilon, "0")
    assert own == pytest.approx(mean_variance(mechanism, values) - even_variance(values), rel=1e-3)
    assert least <= own <= 1.03 * least
    t, root = tanh(float(epsilon) / 2), exp(float(epsilon) / 2)
    # Piecewise at an end of the range: Wang et al. 2019.
    assert (bit, piecewise) == pytest.approx((1 / t**2, 4 * root / (3 * (root - 1) ** 2)), rel=2e-3)
    # Three outputs, with the best of all chances of 0 that epsilon allows.
    odds, x = root**2, np.linspace(0, 1, 101)
    ways = (three_outputs(odds, a, x).max() for a in np.linspace(0, odds / (odds + 2), 181))
    assert three == pytest.approx(min(ways), rel=2e-3)
    assert own < three <= bit
