"""Fresh and memoised surveys, and which mechanisms go with which."""

from deniable.messages import FRESH, Manifest, Repeat
from tests.support.surveys import manifest


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
