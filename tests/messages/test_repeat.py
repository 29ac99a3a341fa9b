"""Fresh and memoised surveys, and which mechanisms go with which."""

import pytest

from deniable.messages import (
    FRESH,
    MAX_MEMOISED_CATEGORIES,
    InvalidManifest,
    Manifest,
    Repeat,
    Specification,
)
from tests.support.surveys import manifest

MEMOISED = Repeat("memoised", 30)
TWO_ROUND = Specification("two-round", {"kept": "2", "fresh": ("subset", 1)})


def names(count: int) -> tuple[str, ...]:
    return tuple(f"category {number}" for number in range(count))


def test_ranges_partition_the_epochs_from_0_on() -> None:
    repeat = Repeat("memoised", 7)
    ranges = [repeat.memo_range(epoch) for epoch in range(50)]
    for epoch, found in enumerate(ranges):
        assert found is not None
        assert epoch in found
        assert len(found) == 7
        assert all(ranges[other] == found for other in found if other < 50)
    assert ranges[0] == range(7)
    assert ranges[13] == range(7, 14)
    assert FRESH.memo_range(3) is None


def test_a_survey_is_fresh_unless_it_says_otherwise() -> None:
    assert manifest().repeat == FRESH == Repeat("fresh")
    assert Manifest.from_payload(manifest().payload).repeat is FRESH


def test_constant_responses_of_many_categories_are_refused_for_they_link_epochs() -> None:
    assert MAX_MEMOISED_CATEGORIES == 16
    manifest(repeat=MEMOISED, categories=names(16))
    with pytest.raises(InvalidManifest) as fault:
        manifest(repeat=MEMOISED, categories=names(17))
    assert fault.value.field == "repeat"
    manifest(categories=names(17))
    manifest(repeat=MEMOISED, categories=names(17), specification=TWO_ROUND)
    # A design of few categories may have many responses.
    manifest(repeat=MEMOISED, categories=names(5), specification=Specification("subset", {"d": 2}))
    with pytest.raises(InvalidManifest, match="16 categories and responses"):
        manifest(
            repeat=MEMOISED, categories=names(6), specification=Specification("subset", {"d": 3})
        )


def test_two_rounds_have_something_to_keep() -> None:
    with pytest.raises(InvalidManifest) as fault:
        manifest(specification=TWO_ROUND)
    assert fault.value.field == "repeat"


def test_two_rounds_are_pure_and_certified() -> None:
    for changes, field in (
        ({"delta": "0.1"}, "delta"),
        ({"epsilon": "2"}, "epsilon"),
        ({"epsilon": "2.5"}, "epsilon"),
        ({"epsilon": "0", "delta": "0"}, "epsilon"),
        ({"epsilon": "1.999999999999999999", "categories": names(2000)}, "epsilon"),
    ):
        with pytest.raises(InvalidManifest) as fault:
            manifest(specification=TWO_ROUND, repeat=MEMOISED, **changes)
        assert fault.value.field == field
