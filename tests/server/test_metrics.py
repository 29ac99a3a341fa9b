"""What /metrics says, as Prometheus' own parser reads it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from prometheus_client.parser import text_string_to_metric_families

from deniable.messages import RefusalCode
from deniable.server.app import build_metrics_server
from deniable.server.meters import METERS, Meters
from deniable.server.metrics import METRICS_TYPE, exposition
from deniable.stores import Role, StoreError
from tests.server.collector import Collector, OwnServer, problem, running
from tests.server.raw import SECONDS, exchange, head_of, request
from tests.server.sockets import HeldStore, upload
from tests.support.reports import envelope
from tests.support.surveys import DAY, MANIFEST, START

Samples = dict[tuple[str, str], float]


def parsed(text: str) -> Samples:
    """Return each sample by its name and the value of its one label, if any."""
    samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type in {"counter", "gauge", "histogram"}
        assert family.documentation
        for sample in family.samples:
            if sample.name != "deniable_build_info":
                assert len(sample.labels) <= 1
            key = (sample.name, next(iter(sample.labels.values()), ""))
            assert key not in samples
            samples[key] = sample.value
    return samples


def shown(meters: Meters) -> Samples:
    return parsed(exposition(meters, {"version": "1"}))


def refused(samples: Samples, of: str = "reports") -> dict[str, float]:
    name = f"deniable_{of}_refused_total"
    return {code: value for (each, code), value in samples.items() if each == name and value}


def test_every_meter_is_shown_from_the_start() -> None:
    samples = shown(Meters())
    names = {name for name, _ in samples}
    for meter in METERS:
        if meter.kind == "histogram":
            ends = {label for name, label in samples if name == f"deniable_{meter.name}_bucket"}
            assert {float(end) for end in ends} == {*meter.bounds, float("inf")}
            assert {f"deniable_{meter.name}_{part}" for part in ("sum", "count")} <= names
        else:
            name = f"deniable_{meter.name}" + ("_total" if meter.kind == "counter" else "")
            assert {label for each, label in samples if each == name} == set(meter.values)
    assert samples.pop(("deniable_build_info", "1")) == 1
    assert set(samples.values()) == {0.0}


def test_names_and_meanings_are_in_the_form_that_prometheus_asks_for() -> None:
    assert len({meter.name for meter in METERS}) == len(METERS)
    for meter in METERS:
        assert meter.name.replace("_", "").isalpha()
        assert meter.name.islower()
        assert "\n" not in meter.meaning
        assert list(meter.bounds) == sorted(set(meter.bounds))
        assert bool(meter.bounds) is (meter.kind == "histogram")


def test_a_histogram_counts_each_value_in_every_bucket_that_holds_it() -> None:
    meters = Meters()
    for value in (0.0, 1.0, 1.5, 300.0, 301.0):
        meters.observe("early_seconds", value)
    samples = shown(meters)
    assert {
        float(end): count
        for (name, end), count in samples.items()
        if name == "deniable_early_seconds_bucket"
    } == {1: 2, 3: 3, 10: 3, 30: 3, 100: 3, 300: 4, float("inf"): 5}
    assert samples["deniable_early_seconds_sum", ""] == 603.5
    assert samples["deniable_early_seconds_count", ""] == 5


def test_large_counts_are_shown_to_the_last_unit() -> None:
    meters = Meters()
    meters.count("reports_accepted", 12_345_678_901)
    assert "deniable_reports_accepted_total 12345678901\n" in exposition(meters, {})


def test_workers_add_up_and_a_new_one_forgets_what_was_open_in_its_predecessor() -> None:
    memory = Meters.shared(2)
    first, second = Meters(memory, 0), Meters(memory, 1)
    for worker in (first, second):
        worker.count("connections", 3)
        worker.count("reports_accepted", 5)
        worker.count_code("reports_refused", RefusalCode.BAD_KEY)
        worker.observe("verify_seconds", 0.5)
    again = Meters(memory, 1)
    samples = shown(again)
    assert samples == shown(first)
    assert samples["deniable_connections", ""] == 3
    assert samples["deniable_reports_accepted_total", ""] == 10
    assert refused(samples) == {"bad-key": 2}
    assert samples["deniable_verify_seconds_count", ""] == 2


@pytest.mark.asyncio
async def test_operators_may_read_it_and_nobody_else(collector: Collector) -> None:
    get = collector.client.get
    assert await problem(await get("/metrics")) == (401, "unauthorised")
    analyst = await collector.token(Role.ANALYST)
    assert await problem(await get("/metrics", headers=analyst)) == (403, "forbidden")
    answer = await get("/metrics", headers=await collector.token(Role.OPERATOR))
    assert answer.status == 200
    assert answer.headers["Content-Type"] == METRICS_TYPE
    text = await answer.text()
    assert MANIFEST.name not in text
    assert MANIFEST.survey_id.hex() not in text
    samples = parsed(text)
    assert samples["deniable_connections", ""] == 1
    assert refused(samples, "requests") == {"unauthorised": 1, "forbidden": 1}


@pytest.mark.asyncio
async def test_on_its_own_address_anyone_may_read_it_and_nothing_else(
    collector: Collector,
) -> None:
    collector.meters.count("reports_accepted", 7)
    config = replace(collector.config, path_prefix="/telemetry")
    server = OwnServer(build_metrics_server(config, collector.meters))
    async with TestClient[Any, None](server) as client:
        answer = await client.get("/metrics")
        assert parsed(await answer.text())["deniable_reports_accepted_total", ""] == 7
        for path in ("/v1/surveys", "/healthz", "/telemetry/metrics"):
            assert await problem(await client.get(path)) == (404, "not-found")


@pytest.mark.asyncio
async def test_reports_are_counted_by_what_became_of_them(collector: Collector) -> None:
    await collector.send(envelope(1), envelope(2))
    await collector.send(envelope(1), envelope(1, 1), envelope(3, epoch=1), b"\xc0")
    samples = shown(collector.meters)
    assert samples["deniable_reports_accepted_total", ""] == 2
    assert samples["deniable_reports_duplicate_total", ""] == 1
    assert refused(samples) == {"report-conflict": 1, "too-early": 1, "malformed": 1}
    assert refused(samples, "requests") == {}
    assert samples["deniable_verify_seconds_count", ""] == 2
    assert samples["deniable_commit_seconds_count", ""] == 2
    assert samples["deniable_reports_in_hand", ""] == 0


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("now", "epoch", "early", "late"),
    [
        (START - 300, 0, 300.0, None),
        (START - 0.25, 0, 0.25, None),
        (START, 0, None, None),
        (START + DAY - 0.25, 0, None, None),
        (START + DAY, 0, None, 0.0),
        (START + 3 * DAY - 1, 1, None, DAY - 1.0),
    ],
)
async def test_what_comes_outside_of_its_epoch_shows_the_devices_clocks(
    collector: Collector, now: float, epoch: int, early: float | None, late: float | None
) -> None:
    collector.clock.time = now
    assert (await collector.send(envelope(1, epoch=epoch))).accepted == 1
    samples = shown(collector.meters)
    for name, value in (("early", early), ("late", late)):
        assert samples[f"deniable_{name}_seconds_count", ""] == (value is not None)
        assert samples[f"deniable_{name}_seconds_sum", ""] == (value or 0.0)


@pytest.mark.asyncio
async def test_requests_are_counted_by_why_they_were_refused(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy() -> None:
        raise StoreError("busy")

    async def fails() -> None:
        raise RuntimeError("unforeseen")

    get: Callable[[str], Awaitable[Any]] = collector.client.get
    await get("/nowhere")
    await get("/v1/surveys?x=1")
    await get("/v1/reports")  # another method: no code of ours
    await collector.upload(b"xyzzy")
    monkeypatch.setattr(collector.store, "ping", busy)
    await get("/readyz")
    monkeypatch.setattr(collector.store, "ping", fails)
    await get("/readyz")
    samples = shown(collector.meters)
    assert refused(samples, "requests") == {
        "not-found": 1,
        "bad-query": 1,
        "malformed": 1,
        "overloaded": 1,
    }
    assert samples["deniable_requests_failed_total", ""] == 1
    assert refused(samples) == {}


@pytest.mark.asyncio
async def test_connections_are_counted_while_they_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, most_connections=1) as collector:

        def count(name: str) -> float:
            return shown(collector.meters)[name, ""]

        held = HeldStore(collector, monkeypatch)
        reader, writer = await asyncio.open_connection(collector.client.host, collector.client.port)
        writer.write(upload())
        async with asyncio.timeout(SECONDS):
            await held.entered.wait()
        assert count("deniable_connections") == 1
        # One too many: it is over once its end is read.
        assert head_of(await exchange(collector, b""))[0] == 503
        assert count("deniable_connections_refused_total") == 1
        assert count("deniable_connections") == 1
        held.release.set()
        writer.write(request(b"GET /healthz HTTP/1.1"))
        async with asyncio.timeout(SECONDS):
            await reader.read()
        assert count("deniable_connections") == 0
        writer.close()
        await writer.wait_closed()
