"""A blind survey at a collector: its tokens are counted by issuer until that is distrusted."""

from dataclasses import replace
from pathlib import Path

from deniable.messages import Report, sign_manifest, sign_report
from tests.server.collector import Collector, running
from tests.support.reports import secret
from tests.vectors.scene import AUTHORITY, BLIND_SURVEY, EPOCH, NOW, token

SURVEY = replace(BLIND_SURVEY, minimum_reports=1)
ISSUER = SURVEY.enrolment.issuer_ids[0]


def vouched(device: int, response: int = 0, *, by: int | None = None) -> bytes:
    """Return a report whose token is of that device, or of another."""
    credential = token(SURVEY, secret=secret(device if by is None else by))
    return sign_report(secret(device), Report(SURVEY.survey_id, EPOCH, response), credential)


async def refused(collector: Collector, envelope: bytes) -> str:
    ((_, code),) = (await collector.send(envelope)).refused
    return code.value


async def test_tokens_are_taken_once_counted_by_issuer_and_distrusted_by_name(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, authority=AUTHORITY.public_key) as collector:
        collector.clock.time = NOW
        await collector.store.publish(SURVEY, sign_manifest(SURVEY, AUTHORITY))
        reports = [vouched(device, device % 3) for device in range(5)]
        answer = await collector.send(*reports, *reports)
        assert (answer.accepted, answer.duplicates, answer.refused) == (5, 5, ())
        assert await refused(collector, vouched(6, by=5)) == "not-enrolled"
        assert await refused(collector, vouched(0, 3)) == "report-conflict"
        counts = await collector.store.counts(SURVEY.survey_id, EPOCH)
        assert counts == {ISSUER: {0: 2, 1: 2, 2: 1}}
        await collector.store.distrust(ISSUER, NOW)
        assert await refused(collector, vouched(7)) == "not-enrolled"
        assert await collector.store.check() == []
