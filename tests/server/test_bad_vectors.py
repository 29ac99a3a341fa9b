"""Every bad vector over HTTP, among good reports: each its code, and only the good ones counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from deniable.messages import (
    Refusal,
    Report,
    UploadAnswer,
    open_manifest,
    pack_upload,
    sign_report,
    split_upload,
)
from tests.server.collector import Collector, problem, running
from tests.support.reports import secret

BAD: dict[str, Any] = json.loads(
    Path(__file__).parents[1].joinpath("vectors", "bad.json").read_text("utf-8")
)
AUTHORITY = bytes.fromhex(BAD["authority"])
SURVEYS = {name: bytes.fromhex(envelope) for name, envelope in BAD["surveys"].items()}
OPEN = open_manifest(SURVEYS["open"], AUTHORITY)
EPOCH = 3
RESPONSES = 4


def splits(envelope: bytes) -> bool:
    """Return if it is one element, however bad, of an upload."""
    try:
        return len(list(split_upload(b"\x91" + envelope))) == 1
    except Refusal:
        return False


ENVELOPES = [
    (bytes.fromhex(vector["envelope"]), vector["code"], vector["now"])
    for vector in BAD["vectors"]
    if "envelope" in vector and splits(bytes.fromhex(vector["envelope"]))
]
BODIES = [vector for vector in BAD["vectors"] if "body" in vector]


def good(device: int) -> bytes:
    return sign_report(secret(device), Report(OPEN.survey_id, EPOCH, device % RESPONSES))


async def publish_surveys(collector: Collector) -> None:
    for envelope in SURVEYS.values():
        await collector.store.publish(open_manifest(envelope, AUTHORITY), envelope)
    collector.clock.time += 1
    await collector.client.get("/v1/surveys")


async def test_every_bad_report_has_its_code_among_good_ones(tmp_path: Path) -> None:
    async with running(tmp_path, authority=AUTHORITY) as collector:
        await publish_surveys(collector)
        accepted = 0
        for now in sorted({now for *_, now in ENVELOPES}):
            collector.clock.time = now
            vectors = [vector for vector in ENVELOPES if vector[2] == now]
            for start in range(0, len(vectors), 40):
                part = vectors[start : start + 40]
                batch = [each for envelope, *_ in part for each in (envelope, good(accepted))]
                answer = await collector.send(*batch)
                codes = {index: code.value for index, code in answer.refused}
                expected = {2 * at: code for at, (_, code, _) in enumerate(part)}
                device = {index: code for index, code in codes.items() if index % 2}
                assert {index: codes.get(index) for index in expected} == expected
                # The good one's epoch is open at the vectors' usual time, not at every other.
                assert set(device.values()) <= {"epoch-closed", "too-early"}
                accepted += answer.accepted
                if answer.accepted:
                    assert (answer.accepted, answer.duplicates) == (1, len(part) - 1)
        assert accepted > 3
        assert await collector.store.check() == []
    assert len(ENVELOPES) > 150


async def test_every_bad_body_is_refused_as_a_whole(tmp_path: Path) -> None:
    async with running(tmp_path, authority=AUTHORITY) as collector:
        await publish_surveys(collector)
        for vector in BODIES:
            collector.clock.time = vector["now"]
            answer = await collector.upload(bytes.fromhex(vector["body"]))
            _, code = await problem(answer)
            assert code == vector["code"], vector["name"]


NESTED = {
    "arrays": b"\x91" * 60_000,
    "maps": b"\x81\xc0" * 30_000,
    "maps as keys": b"\x81" * 60_000,
    "an end to it": b"\x91" * 60_000 + b"\xc0",
    "2^32 elements": b"\xdd\xff\xff\xff\xff",
    "2^32 elements of an element": b"\x91\xdd\xff\xff\xff\xff",
    "2^32 pairs of an element": b"\x91\xdf\xff\xff\xff\xff",
    "2^32 bytes": b"\x91\xc6\xff\xff\xff\xff",
    "2^32 letters": b"\x91\xdb\xff\xff\xff\xff",
    "2^32 bytes of an extension": b"\x91\xc9\xff\xff\xff\xff\x01",
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED)
async def test_what_claims_more_than_it_is_costs_nothing(lasting: Collector, body: bytes) -> None:
    status, code = await problem(await lasting.upload(body))
    assert (status, code) in {(400, "malformed"), (413, "too-large")}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "element",
    [
        b"\xc0",
        b"\xc3",
        b"\x00",
        b"\xff",
        b"\xcb" + bytes(8),
        b"\xa1a",
        b"\xd6\xff" + bytes(4),  # a timestamp
        b"\xd7\xff" + bytes(8),
        b"\xc7\x0c\xff" + bytes(12),
        b"\xd4\x01a",  # an extension
        b"\x80",
        b"\x90",
        b"\x91" * 500 + b"\xc0",
        b"\x94\x90\x90\x90\x90",
        b"\x94" + b"\x91" * 400 + b"\xc0" * 4,
        b"\xdc\xff\xff" + b"\x90" * 0xFFFF,
    ],
    ids=lambda element: element[:8].hex(),
)
async def test_an_element_of_any_other_kind_is_malformed_by_itself(
    lasting: Collector, element: bytes
) -> None:
    if len(element) > 60_000:
        element = b"\xdc\xe0\x00" + b"\x90" * 0xE000
    report = good(1)
    body = pack_upload([report, element, report])
    answer = UploadAnswer.from_json(await (await lasting.upload(body)).read(), 3)
    assert answer is not None
    assert [(index, code.value) for index, code in answer.refused] == [
        (0, "unknown-survey"),
        (1, "malformed"),
        (2, "unknown-survey"),
    ]
