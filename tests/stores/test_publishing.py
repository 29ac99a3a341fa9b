"""Surveys and rotations in the store: each once, in order, and kept as they were signed."""

import pytest

from deniable.counterparts.signing import sign_manifest, sign_rotation
from deniable.messages import Rotation, SigningKey
from deniable.messages.rotation import MAX_ROTATIONS
from deniable.stores import (
    LogExtension,
    Store,
    StoredLog,
    StoreError,
    SurveyConflict,
)
from tests.stores.places import A, counts, publish
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

KEYS = [AUTHORITY, *(SigningKey(bytes([number]) * 32) for number in range(1, MAX_ROTATIONS + 2))]
SUCCESSOR = manifest(sequence=1)
LATER = manifest(sequence=5)


async def test_another_survey_needs_a_higher_sequence_than_the_newest(store: Store) -> None:
    rivals = [manifest(nonce=b"\1" * 16), manifest(question="Another question?")]
    before = await store.surveys()
    for rival in rivals:
        with pytest.raises(SurveyConflict):
            await publish(store, rival)
    assert await store.surveys() == before == [await publish(store)]  # once more changes nothing
    await publish(store, LATER)
    with pytest.raises(SurveyConflict, match="sequence 5; a successor needs"):
        await publish(store, SUCCESSOR)
    assert len(await store.surveys()) == 2
    assert await store.add([report(1), report(1, survey=LATER)]) == [A, A]
    # Devices hold on to a manifest until they fetch the next one; ids are never pooled.
    assert await counts(store) == await counts(store, 0, LATER) == [1, 0, 0, 0, 0]


async def test_surveys_come_by_name_and_the_newest_first_as_they_were_signed(store: Store) -> None:
    successor = await publish(store, SUCCESSOR)
    first = await publish(store, manifest(name="a-first-name", sequence=9))
    last = await publish(store, manifest(name="z-last-name"))
    later = await publish(store, LATER)
    surveys = await store.surveys()
    assert surveys[0] == first
    assert surveys[1:3] == [later, successor]
    assert surveys[4] == last
    assert len(surveys) == 5


async def rotate(store: Store, old: int, new: int, sequence: int = 1) -> bytes:
    """Hand over without signing anything anew; return the envelope."""
    rotation = Rotation(KEYS[old].public_key, KEYS[new].public_key, sequence)
    envelope = sign_rotation(rotation, KEYS[old], KEYS[new])
    assert await store.rotate(rotation, envelope, lambda survey: survey) == 0
    return envelope


async def test_rotations_come_in_the_order_in_which_they_were_published(store: Store) -> None:
    assert await store.rotations() == []
    envelopes = [await rotate(store, 2, 3, 9), await rotate(store, 0, 1), await rotate(store, 1, 2)]
    assert await store.rotations() == envelopes


async def test_a_key_is_handed_over_from_and_to_once_and_not_too_often(store: Store) -> None:
    first = await rotate(store, 0, 1)
    for old, new in ((0, 1), (0, 2), (2, 1)):
        with pytest.raises(StoreError, match="already rotated"):
            await rotate(store, old, new, 2)
    assert await store.rotations() == [first]
    for number in range(1, MAX_ROTATIONS):
        await rotate(store, number, number + 1, number)
    with pytest.raises(StoreError, match="64 times"):
        await rotate(store, MAX_ROTATIONS, MAX_ROTATIONS + 1, MAX_ROTATIONS)


async def test_surveys_are_signed_anew_and_keep_their_reports(store: Store) -> None:
    other = await publish(store, manifest(name="another"))
    await store.add([report(1)])
    anew = sign_manifest(MANIFEST, KEYS[1])
    rotation = Rotation(KEYS[0].public_key, KEYS[1].public_key, 1)
    envelope = sign_rotation(rotation, KEYS[0], KEYS[1])
    old = sign_manifest(MANIFEST, AUTHORITY)
    with pytest.raises(KeyError):  # where signing fails nothing has happened
        await store.rotate(rotation, envelope, dict[bytes, bytes]().__getitem__)
    assert (await store.rotations(), await store.surveys()) == ([], [other, old])
    assert await store.rotate(rotation, envelope, {old: anew, other: other}.__getitem__) == 1
    assert await store.surveys() == [other, anew]
    assert await counts(store) == [1, 0, 0, 0, 0]


async def test_the_log_grows_with_what_is_published_or_neither_changes(store: Store) -> None:
    assert await store.log() == StoredLog((), "", "")
    survey, rotation = manifest(name="logged"), Rotation(KEYS[0].public_key, KEYS[1].public_key, 1)
    envelope, handing = sign_manifest(survey, AUTHORITY), sign_rotation(rotation, *KEYS[:2])
    before = await store.surveys()
    with pytest.raises(StoreError, match="published at the same time; try again"):
        await store.publish(survey, envelope, LogExtension(1, (envelope,), "of 2"))
    with pytest.raises(StoreError, match="published at the same time"):
        await store.rotate(rotation, handing, lambda signed: signed, LogExtension(1, (), "of 2"))
    assert (await store.surveys(), await store.rotations()) == (before, [])
    await store.publish(survey, envelope, LogExtension(0, (envelope,), "of 1"))
    await store.rotate(
        rotation, handing, lambda signed: signed, LogExtension(1, (handing, envelope), "of 3")
    )
    assert await store.log() == StoredLog((envelope, handing, envelope), "of 3", "")
    await store.cosign_log(lambda newest: (f"{newest}, cosigned", True))
    await store.extend_log(LogExtension(3, (b"another",), "of 4"))
    await store.cosign_log(lambda newest: (f"{newest}, cosigned by few", False))
    assert await store.log(2) == StoredLog(
        (envelope, b"another"), "of 4, cosigned by few", "of 3, cosigned"
    )
