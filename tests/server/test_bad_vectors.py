"""Every bad vector over HTTP, among good reports: each its code, and only the good ones counted."""

from dataclasses import replace
from pathlib import Path

from deniable.counterparts.bodies import split_upload
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Refusal, Report, sign_report
from tests.server.collector import Collector, problem, running
from tests.support.reports import secret
from tests.vectors import scene
from tests.vectors.stored import AUTHORITY, BAD_REPORTS, BAD_UPLOADS, ENVELOPES, SURVEYS, name_of

OPEN = SURVEYS["open"]
EPOCH = 3
RESPONSES = 4


def splits(envelope: bytes) -> bool:
    """Return if it is one element, however bad, of an upload."""
    try:
        return len(list(split_upload(b"\x91" + envelope))) == 1
    except Refusal:
        return False


REPORTS = [
    (bytes.fromhex(vector["envelope"]), vector["code"], vector["now"])
    for vector in BAD_REPORTS
    if splits(bytes.fromhex(vector["envelope"]))
]


def good(device: int) -> bytes:
    return sign_report(secret(device), Report(OPEN.survey_id, EPOCH, device % RESPONSES))


async def publish_surveys(collector: Collector) -> None:
    for mode, signed in ENVELOPES.items():
        await collector.store.publish(SURVEYS[mode], signed)
    collector.clock.time += 1
    await collector.client.get("/v1/surveys")


async def test_every_bad_report_has_its_code_among_good_ones(tmp_path: Path) -> None:
    async with running(tmp_path, authority=AUTHORITY) as collector:
        await publish_surveys(collector)
        accepted = 0
        for now in sorted({now for *_, now in REPORTS}):
            collector.clock.time = now
            vectors = [vector for vector in REPORTS if vector[2] == now]
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
    assert len(REPORTS) > 150


async def test_every_bad_body_is_refused_as_a_whole(tmp_path: Path) -> None:
    async with running(tmp_path, authority=AUTHORITY) as collector:
        await publish_surveys(collector)
        for vector in BAD_UPLOADS:
            collector.clock.time = vector["now"]
            answer = await collector.upload(bytes.fromhex(vector["body"]))
            _, code = await problem(answer)
            assert code == vector["code"], name_of(vector)


SURVEY = replace(scene.BLIND_SURVEY, minimum_reports=1)
ISSUER = SURVEY.enrolment.issuer_ids[0]


def vouched(device: int, response: int = 0, *, by: int | None = None) -> bytes:
    """Return a report whose token is of that device, or of another."""
    credential = scene.token(SURVEY, secret=secret(device if by is None else by))
    return sign_report(secret(device), Report(SURVEY.survey_id, scene.EPOCH, response), credential)


async def refused(collector: Collector, envelope: bytes) -> str:
    ((_, code),) = (await collector.send(envelope)).refused
    return code.value


async def test_tokens_are_taken_once_counted_by_issuer_and_distrusted(tmp_path: Path) -> None:
    async with running(tmp_path, authority=scene.AUTHORITY.public_key) as collector:
        collector.clock.time = scene.NOW
        await collector.store.publish(SURVEY, sign_manifest(SURVEY, scene.AUTHORITY))
        reports = [vouched(device, device % 3) for device in range(5)]
        answer = await collector.send(*reports, *reports)
        assert (answer.accepted, answer.duplicates, answer.refused) == (5, 5, ())
        assert await refused(collector, vouched(6, by=5)) == "not-enrolled"
        assert await refused(collector, vouched(0, 3)) == "report-conflict"
        counts = await collector.store.counts(SURVEY.survey_id, scene.EPOCH)
        assert counts == {ISSUER: {0: 2, 1: 2, 2: 1}}
        await collector.store.distrust(ISSUER, scene.NOW)
        assert await refused(collector, vouched(7)) == "not-enrolled"
        assert await collector.store.check() == []
