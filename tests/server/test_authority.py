"""What anybody may read of the authority: how its key was rotated, byte for byte."""

from itertools import pairwise
from pathlib import Path

import pytest

from deniable.counterparts.bodies import pack_rotations
from deniable.counterparts.signing import sign_manifest, sign_rotation
from deniable.messages import Rotation, SigningKey, split_rotations
from deniable.stores import SqliteStore
from tests.server.collector import Collector
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

KEYS = [AUTHORITY, *(SigningKey(bytes([number]) * 32) for number in range(1, 4))]
ENVELOPES = [
    sign_rotation(Rotation(old.public_key, new.public_key, number), old, new)
    for number, (old, new) in enumerate(pairwise(KEYS), start=1)
]
PATH = "/v1/authority"


async def rotate(collector: Collector, *numbers: int) -> None:
    """Rotate by another connection, as ``deniable authority rotate`` does."""
    other = await SqliteStore.open(Path(collector.config.store))
    for number in numbers:
        old, new = KEYS[number - 1 : number + 1]
        rotation = Rotation(old.public_key, new.public_key, number)
        anew = {survey: sign_manifest(MANIFEST, new) for survey in await collector.store.surveys()}
        await other.rotate(rotation, ENVELOPES[number - 1], anew.__getitem__)
    await other.close()
    collector.clock.time += 1


async def test_rotations_are_published_oldest_first_within_a_second(collector: Collector) -> None:
    await rotate(collector, 1, 2)
    answer = await collector.client.get(PATH)
    assert split_rotations(await answer.read()) == tuple((each, b"") for each in ENVELOPES[:2])
    assert answer.headers["ETag"] == f'"{KEYS[2].public_key.hex()}"'
    await rotate(collector, 3)
    assert await (await collector.client.get(PATH)).read() == pack_rotations(ENVELOPES)


async def test_who_holds_the_newest_key_is_told_so_without_a_body(collector: Collector) -> None:
    await rotate(collector, 1)
    for key, status in ((KEYS[1], 304), (KEYS[0], 200), (KEYS[2], 200)):
        held = {"If-None-Match": f'"{key.public_key.hex()}"'}
        answer = await collector.client.get(PATH, headers=held)
        assert answer.status == status
        assert await answer.read() == (b"" if status == 304 else pack_rotations(ENVELOPES[:1]))
        assert answer.headers["ETag"] == f'"{KEYS[1].public_key.hex()}"'


async def test_surveys_of_every_key_of_the_chain_are_offered(collector: Collector) -> None:
    await rotate(collector, 1)
    former, newest = manifest(name="former"), manifest(name="newest")
    await collector.store.publish(former, sign_manifest(former, KEYS[0]))
    await collector.store.publish(newest, sign_manifest(newest, KEYS[1]))
    stranger = manifest(name="stranger")
    await collector.store.publish(stranger, sign_manifest(stranger, KEYS[2]))
    collector.clock.time += 1
    listed = (await (await collector.client.get("/v1/surveys")).json())["surveys"]
    assert [survey["name"] for survey in listed] == ["former", "newest", MANIFEST.name]
    answer = await collector.client.get(f"/v1/surveys/{MANIFEST.name}/manifest")
    assert await answer.read() == sign_manifest(MANIFEST, KEYS[1])
    assert answer.headers["ETag"] == f'"{MANIFEST.survey_id.hex()}"'


async def test_rotations_that_somebody_wrote_into_the_store_are_not_offered(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    thief = SigningKey(bytes(range(32)))
    rotation = Rotation(AUTHORITY.public_key, thief.public_key, 1)
    payload_of_nobody = ENVELOPES[0][:-64] + bytes(64)
    await collector.store.rotate(rotation, payload_of_nobody, lambda survey: survey)
    collector.clock.time += 1
    answer = await collector.client.get(PATH)
    assert await answer.read() == b"\x90"
    assert "are not offered" in caplog.text
    assert (await collector.client.get(f"/v1/surveys/{MANIFEST.name}")).status == 200
