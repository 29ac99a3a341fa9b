"""Fresh and memoised surveys, and which mechanisms go with which."""

from typing import Any

import msgpack
import pytest

from deniable.mechanisms import TwoRound
from deniable.messages import (
    FRESH,
    MAX_MEMOISED_CATEGORIES,
    InvalidManifest,
    Manifest,
    Repeat,
    Specification,
)
from tests.support.surveys import manifest
from tests.vectors.scene import manifest_fields

MEMOISED = Repeat("memoised", 30)
TWO_ROUND = Specification("two-round", {"kept": "2"})


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


@pytest.mark.parametrize(
    ("kind", "epochs"),
    [("fresh", 2), ("memoised", None), ("memoised", 1), ("memoised", 0), ("memoised", 10_001)],
)
def test_kind_and_epochs_go_together(kind: Any, epochs: int | None) -> None:
    with pytest.raises(InvalidManifest) as fault:
        Repeat(kind, epochs)
    assert fault.value.field == "repeat"
    with pytest.raises(InvalidManifest):
        Repeat("daily")  # type: ignore[arg-type]


def test_a_memoised_survey_survives_the_wire() -> None:
    survey = manifest(repeat=MEMOISED)
    fields = msgpack.unpackb(survey.payload)
    assert fields["repeat"] == {"kind": "memoised", "epochs": 30}
    assert list(fields["repeat"]) == ["kind", "epochs"]
    assert Manifest.from_payload(survey.payload) == survey
    assert survey.survey_id != manifest().survey_id


def test_a_two_round_survey_survives_the_wire() -> None:
    survey = manifest(specification=TWO_ROUND, repeat=MEMOISED, categories=names(300))
    assert list(msgpack.unpackb(survey.payload)["mechanism"].items()) == [
        ("kind", "two-round"),
        ("kept", "2"),
    ]
    assert Manifest.from_payload(survey.payload) == survey
    assert survey.mechanism == TwoRound(300, "1", "2")
    assert survey.mechanism.privacy.satisfies(survey.epsilon, survey.delta)


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


def test_a_kept_epsilon_belongs_to_two_rounds_and_is_a_plain_decimal() -> None:
    arguments: list[tuple[str, dict[str, Any]]] = [
        ("two-round", {}),
        ("randomised-response", {"kept": "2"}),
        ("two-round", {"kept": "2.0"}),
        ("two-round", {"kept": "41"}),
        ("two-round", {"kept": "2", "distance": "absolute"}),
    ]
    for given in arguments:
        with pytest.raises(InvalidManifest) as fault:
            Specification(*given)
        assert fault.value.field == "mechanism"


def test_the_last_range_may_end_after_the_survey() -> None:
    # A range longer than the survey is one range; nothing is lost by it.
    fields = manifest_fields(epochs=3, repeat={"kind": "memoised", "epochs": 10_000})
    survey = Manifest.from_payload(msgpack.packb(fields))
    assert survey.repeat.memo_range(2) == range(10_000)
