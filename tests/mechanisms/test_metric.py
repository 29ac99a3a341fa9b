"""Tables of distances: what is one, and a guarantee read off the integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings

from deniable.mechanisms import MAX_DISTANCE, MAX_METRIC, Metric
from tests.mechanisms.laws import WORDS, table
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

Table = list[list[int]]

NO_TRIANGLE = table(3, [1, 9, 1])
FAR = table(2, [MAX_DISTANCE])


def test_a_table_is_copied_and_shown_as_it_is() -> None:
    distances = table(3, [1, 9, 1])
    mechanism = Metric(distances, Fraction(1, 2))
    distances[0][1] = distances[1][0] = 5
    assert mechanism.distances == ((0, 1, 9), (1, 0, 1), (9, 1, 0))
    assert mechanism == Metric(NO_TRIANGLE, Fraction(1, 2))
    assert mechanism != Metric(distances, Fraction(1, 2))
    assert repr(mechanism) == "Metric(3, ratio=1/2)"


@pytest.mark.parametrize(
    "distances",
    [
        [[0, 1], [2, 0]],
        [[1, 1], [1, 0]],
        [[0, 1], [1, 1]],
        [[0, 0], [0, 0]],
        [[0, -1], [-1, 0]],
        [[0, MAX_DISTANCE + 1], [MAX_DISTANCE + 1, 0]],
        [[0, 1, 1], [1, 0], [1, 1, 0]],
        [[0, 1, 1], [1, 0, 1]],
        [[0, 1], [1, 0], [1, 1]],
        [[0, 1, 1], [1, 0, 1], []],
        [[0, 1.0], [1.0, 0]],
        [[0, True], [True, 0]],
        [[False, 1], [1, False]],
        [[0, np.int64(1)], [np.int64(1), 0]],
        [[0, None], [None, 0]],
        [[0]],
        [],
    ],
)
def test_a_table_that_is_none_is_refused(distances: list[list[int]]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Metric(distances, Fraction(1, 2))
    with pytest.raises((ValueError, TypeError)):
        Metric.calibrated(distances, "1")


def test_a_table_has_up_to_512_rows_of_distances_up_to_4095() -> None:
    assert (MAX_METRIC, MAX_DISTANCE) == (512, 4095)
    with pytest.raises(ValueError, match="2 to 512 rows"):
        Metric([[0] * 513] * 513, Fraction(1, 2))
    # r^4095 is far below 2^-64, and so without weight.
    assert Metric(FAR, Fraction(1, 2)).row(0) == [WORDS - 1, 1]
    assert Metric(FAR, Fraction(1, 2)).row(1) == [0, WORDS]
    assert Metric(FAR, Fraction(1, 2)).privacy.odds is None
