"""An upload that is an array gets 200: each report is answered by its index, once durable."""

import asyncio
from collections.abc import Callable

import pytest

from deniable.messages import Enrolment, RefusalCode, Schedule, SigningKey, UploadAnswer, codec
from tests.server.collector import Collector
from tests.stores.places import counts
from tests.support.reports import envelope
from tests.support.surveys import DAY, MANIFEST, START, manifest

K = len(MANIFEST.categories)
CERTIFIED = manifest(
    name="certified",
    enrolment=Enrolment(
        "certificate", (SigningKey(b"issuer's seed of tests 000000001").public_key,)
    ),
)
UNPUBLISHED = manifest(name="unpublished")
PAST = manifest(name="past", schedule=Schedule(START - 9 * DAY, DAY, 8, DAY))


def forged(device: int) -> bytes:
    """Return a report whose signature is another report's."""
    key, payload, _, _ = codec.exact_array(codec.decode(envelope(device, 0)), 4)
    _, _, signature, _ = codec.exact_array(codec.decode(envelope(device, 1)), 4)
    return codec.encode([key, payload, signature, None])


def small_order(device: int) -> bytes:
    """Return a report under a key that anybody can sign for."""
    _, *rest = codec.exact_array(codec.decode(envelope(device)), 4)
    return codec.encode([b"\1" + bytes(31), *rest])


DEFECTS: dict[str, Callable[[int], bytes]] = {
    "malformed": lambda device: codec.encode([device]),
    "bad-key": small_order,
    "unknown-survey": lambda device: envelope(device, survey=UNPUBLISHED),
    "out-of-domain": lambda device: envelope(device, K),
    "too-early": lambda device: envelope(device, epoch=1),
    "epoch-closed": lambda device: envelope(device, survey=PAST),
    "bad-signature": forged,
    "not-enrolled": lambda device: envelope(device, survey=CERTIFIED),
}


async def shown(collector: Collector, epoch: int = 0) -> list[int]:
    return await counts(collector.store, epoch)


async def test_a_defect_is_answered_by_index_alone_or_among_others_and_spoils_no_good_report(
    collector: Collector,
) -> None:
    await collector.publish(CERTIFIED)
    await collector.publish(PAST)
    await collector.send(envelope(100, 0))
    batch, expected = [], []
    for device, (code, make) in enumerate(DEFECTS.items()):
        alone = await collector.send(make(device + 50))
        assert alone == UploadAnswer(0, 0, ((0, RefusalCode(code)),))
        batch += [envelope(device), make(device + 50), envelope(device)]
        expected.append((len(batch) - 2, RefusalCode(code)))
    batch.append(envelope(100, 1))
    expected.append((len(batch) - 1, RefusalCode.REPORT_CONFLICT))
    answer = await collector.send(*batch)
    assert answer == UploadAnswer(len(DEFECTS), len(DEFECTS), tuple(expected))
    assert await shown(collector) == [len(DEFECTS) + 1, 0, 0, 0, 0]


async def test_unknown_surveys_make_the_store_be_read_once_a_second_at_most(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read = collector.store.surveys

    async def counted() -> list[bytes]:
        nonlocal reads
        reads += 1
        return await read()

    monkeypatch.setattr(collector.store, "surveys", counted)
    batch = [envelope(device, survey=UNPUBLISHED) for device in range(40)]
    await asyncio.gather(*(collector.send(*batch) for _ in range(5)))
    assert reads == 0
    collector.clock.time += 1
    await asyncio.gather(*(collector.send(*batch) for _ in range(5)))
    assert reads == 1
    collector.clock.time -= 50  # a clock that is set back does not stop it
    await collector.send(*batch)
    assert reads == 2
