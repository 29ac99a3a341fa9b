"""The sentence of a quantile: with the cautions of every other sentence of the same reports."""

import re
from fractions import Fraction

import numpy as np
import pytest

from deniable.estimates import estimate_histogram
from deniable.messages import Specification
from tests.support.surveys import manifest

SURVEY = manifest(
    name="simulated-cups",
    categories=tuple(map(str, range(1, 9))),
    specification=Specification("numeric", {"ratio": (10, 11)}),
    epsilon="1",
)


def test_the_sentence_of_a_quantile_has_the_cautions_of_others() -> None:
    found = estimate_histogram(SURVEY, 0, [900, 500, 400, 300, 300, 200, 200, 200])
    median, mean = found.quantile(0.5), found.mean()
    codes = [
        [one.code.removesuffix("-decide") for one in each.cautions if one.brief]
        for each in (median, mean)
    ]
    assert codes[0] == codes[1]
    assert "Simulated: no real device answered." in median.sentence
    # The fakes' caution: 1 % that all say the greatest, or the least, answer's response.
    up_to = np.array(
        [float(Fraction(answer)) <= float(median.value) for answer in SURVEY.categories]
    )
    rows = np.array([SURVEY.mechanism.row(x) for x in range(8)], dtype=float)
    kernel = np.linalg.solve(rows / float(SURVEY.mechanism.grid), up_to.astype(float))
    # A share is at least 0 and at most 1, whatever it is now.
    furthest = max(kernel.max() - 0, 1 - kernel.min())
    said = next(one.text for one in median.cautions if one.code.startswith("fakes"))
    told = re.search(r"the share up to it is off by up to ([\d,.]+) percentage points", said)
    assert told is not None
    assert float(told[1].replace(",", "")) == pytest.approx(furthest, rel=0.05)
