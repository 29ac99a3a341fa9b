"""The public log over HTTP: static files, and proofs beside what devices fetch."""

import pytest
from yarl import URL

from deniable.counterparts.signing import sign_manifest
from deniable.messages import split_manifests
from deniable.public_log.publish.public_log import PublicLog
from deniable.server.problems import answer_headers
from tests.server.collector import Collector, problem
from tests.support.public_logs import extension
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

NAME = MANIFEST.name
ENVELOPE = sign_manifest(MANIFEST, AUTHORITY)


async def test_the_logs_files_are_served_and_kept_but_a_checkpoint(collector: Collector) -> None:
    assert await problem(await collector.client.get("/log/checkpoint")) == (404, "not-found")
    logged = [ENVELOPE, *(b"entry %d" % number for number in range(300))]
    await collector.store.extend_log(extension([], logged, cosigners=2))
    collector.clock.time += 1
    log = PublicLog(await collector.store.log())
    for path in log.paths():
        answer = await collector.client.get(f"/log/{path}")
        assert (answer.status, await answer.read()) == (200, log.file(path))
        forever = "public, max-age=31536000, immutable"
        last = path == "checkpoint"
        assert answer.headers["Cache-Control"] == ("no-cache" if last else forever)
        assert answer.content_type == ("text/plain" if last else "application/octet-stream")
    for missing in ("tile/0/000.p/0", "tile/0/9", "%63heckpoint", "..%2Fcheckpoint", "", "large/"):
        url = URL(f"/log/{missing}", encoded=True)
        assert (await collector.client.get(url)).status == 404
    assert answer_headers(collector.config)["Cache-Control"] == "no-store"


async def test_what_devices_fetch_carries_proofs_once_it_is_logged(collector: Collector) -> None:
    path = f"/v1/surveys/{NAME}/manifests"

    async def offered() -> bytes:
        collector.clock.time += 1
        return await (await collector.client.get(path)).read()

    assert split_manifests(await offered()) == [(ENVELOPE, b"")]
    await collector.store.extend_log(extension([], [ENVELOPE]))
    ((envelope, alone),) = split_manifests(await offered())
    assert (envelope, alone) == (ENVELOPE, PublicLog(await collector.store.log()).proof(ENVELOPE))
    # One checkpoint later, of which a quorum has cosigned nothing yet.
    successor = manifest(sequence=1)
    signed = sign_manifest(successor, AUTHORITY)
    await collector.store.publish(successor, signed, extension([ENVELOPE], [signed]))
    (newer, proof), (older, another) = split_manifests(await offered())
    assert (newer, older) == (signed, ENVELOPE)
    assert another != alone
    # A cosignature is enough for other proofs.
    cosigned = extension([ENVELOPE], [signed], cosigners=3).checkpoint
    await collector.store.cosign_log(lambda _: (cosigned, True))
    (_, witnessed), _ = split_manifests(await offered())
    assert len(witnessed) > len(proof)
    log = PublicLog(await collector.store.log())
    assert witnessed == log.proof(signed)


async def test_a_store_that_was_put_back_is_read_from_its_start(collector: Collector) -> None:
    await collector.store.extend_log(extension([], [ENVELOPE, b"another"]))
    collector.clock.time += 1
    first = await (await collector.client.get("/log/checkpoint")).read()
    await collector.store._write(_forget_log)
    await collector.store.extend_log(extension([], [ENVELOPE]))
    collector.clock.time += 1
    second = await (await collector.client.get("/log/checkpoint")).read()
    assert b"\n2\n" in first
    assert b"\n1\n" in second


async def test_a_log_that_is_damaged_is_served_as_it_was_and_complained_of_once(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    await collector.store.extend_log(extension([], [ENVELOPE]))
    collector.clock.time += 1
    first = await (await collector.client.get("/log/checkpoint")).read()
    damaged = extension([ENVELOPE], [b"another"])._replace(entries=(b"different",))
    await collector.store.extend_log(damaged)
    for _ in range(3):
        collector.clock.time += 1
        assert await (await collector.client.get("/log/checkpoint")).read() == first
    assert caplog.text.count("serving the public log that was read earlier") == 1


def _forget_log():  # type: ignore[no-untyped-def]
    from deniable.stores.rules import Statement

    yield Statement("DELETE FROM deniable.log_entries")
