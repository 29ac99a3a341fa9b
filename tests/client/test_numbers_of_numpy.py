"""Numbers of numpy as answers: the device knows them by what they are exactly, and imports none."""

from typing import Any

import pytest

from deniable.client import Survey, UndeclaredAnswer

np = pytest.importorskip("numpy")

MINUTES = Survey.numeric("minutes", "How many minutes?", low=0, high=60, step=5, max_epsilon="1")
QUARTERS = Survey.numeric("n", "q", low=0, high=1, step="0.25", max_epsilon="1")
TYPES = "int8 uint8 int64 uint64 float16 float32 float64 longdouble array"


@pytest.mark.parametrize("name", TYPES.split())
def test_a_number_is_the_category_of_its_value_whatever_its_type(name: str) -> None:
    answer = getattr(np, name)(15)
    assert MINUTES.index_of(answer) == 3
    assert MINUTES.nearest(answer) == "15"


def test_only_what_is_exactly_an_answer_is_one() -> None:
    assert [QUARTERS.index_of(x) for x in (0.25, np.float32(0.25), -0.0, 1.0)] == [1, 1, 0, 4]
    below = np.nextafter(np.float32(1), np.float32(0))
    others: list[Any] = [0.2500000000000001, np.float32(0.7), below, np.float32("nan")]
    for other in [*others, np.float32("inf"), np.bool_(True), np.array([0.25]), np.array([0, 1])]:
        with pytest.raises(UndeclaredAnswer) as raised:
            QUARTERS.index_of(other)
        assert raised.value.__context__ is None


def test_what_is_not_a_number_has_no_nearest_value() -> None:
    with pytest.raises(UndeclaredAnswer):
        MINUTES.nearest(np.float32("nan"))
    for other in (np.bool_(True), np.array([15, 20])):
        with pytest.raises(TypeError):
            MINUTES.nearest(other)
