"""What /metrics says, as Prometheus' own parser reads it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest, values
from prometheus_client.multiprocess import mark_process_dead
from prometheus_client.parser import text_string_to_metric_families

from deniable.messages import RefusalCode
from deniable.server.gauges import Gauges
from deniable.server.metrics import Meters
from deniable.server.routes.app import build_metrics_server
from deniable.server.routes.catalogue import Catalogue
from deniable.server.routes.estimating import SharedAnswer
from deniable.stores import Role, StoreError
from tests.server.collector import Collector, OwnServer, problem, totals
from tests.support.clock import FakeClock
from tests.support.reports import envelope
from tests.support.surveys import DAY, MANIFEST, START

Samples = dict[tuple[str, str], float]
BACKED_UP = START - 5 * DAY


def parsed(text: str) -> Samples:
    """Return each sample by its name and the values of its labels, if any."""
    samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type in {"counter", "gauge", "histogram"}
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, " ".join(sample.labels.values()))
            assert key not in samples
            samples[key] = sample.value
    return samples


def shown(meters: Meters) -> Samples:
    return parsed(generate_latest(meters).decode())


def refused(samples: Samples, of: str = "reports") -> dict[str, float]:
    name = f"deniable_{of}_refused_total"
    return {code: value for (each, code), value in samples.items() if each == name and value}


def test_every_meter_is_shown_from_the_start_and_to_the_last_unit() -> None:
    samples = shown(meters := Meters())
    assert {*samples.values()} == {0.0}
    meters.reports_accepted.inc(12_345_678_901)
    assert shown(meters)["deniable_reports_accepted_total", ""] == 12_345_678_901
    names = {name.removeprefix("deniable_").removesuffix("_total") for name, _ in samples}
    # Most pairs of route and status never come together: such a pair is shown once it did.
    assert names >= totals(Meters()).keys() - {"requests"}
    assert names >= {f"late_seconds_{part}" for part in ("bucket", "sum", "count")}
    assert "requests" not in names


def test_workers_add_up_and_a_new_one_forgets_what_was_open_in_its_predecessor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    one, other = (Meters(str(tmp_path), number) for number in (0, 1))
    for seconds, worker in enumerate((one, other)):
        worker.connections.inc(3)
        worker.reports_accepted.inc(5)
        worker.last_report_timestamp.set(START + seconds)
        worker.reports_refused[RefusalCode.BAD_KEY].inc()
        worker.verify_seconds.observe(0.5)
    before = shown(one)
    assert before == shown(other)
    assert before["deniable_connections", ""] == 6
    files = {*tmp_path.iterdir()}
    # All their room is taken: a full disk would end whoever writes to what is not.
    assert all(file.stat().st_blocks * 512 >= file.stat().st_size > 0 for file in files)
    (tmp_path / "counter_2.db").touch()  # a third one makes its files at this moment
    mark_process_dead(1, str(tmp_path))
    assert shown(one) == before | {("deniable_connections", ""): 3}
    again = Meters(str(tmp_path), 1)
    assert {*tmp_path.iterdir()} == files | {tmp_path / "counter_2.db"}  # however many die
    again.reports_accepted.inc(5)
    samples = shown(one)
    assert samples["deniable_connections", ""] == 3
    assert samples["deniable_reports_accepted_total", ""] == 15
    assert samples["deniable_last_report_timestamp_seconds", ""] == START + 1
    assert refused(samples) == {"bad-key": 2}
    assert samples["deniable_verify_seconds_count", ""] == 2


async def test_operators_may_read_it_and_nobody_else(collector: Collector) -> None:
    get = collector.client.get
    assert await problem(await get("/metrics")) == (401, "unauthorised")
    analyst = await collector.token(Role.ANALYST)
    assert await problem(await get("/metrics", headers=analyst)) == (403, "forbidden")
    answer = await get("/metrics", headers=await collector.token(Role.OPERATOR))
    assert answer.status == 200
    assert answer.headers["Content-Type"] == CONTENT_TYPE_PLAIN_0_0_4
    text = await answer.text()
    assert MANIFEST.name not in text
    assert MANIFEST.survey_id.hex() not in text
    samples = parsed(text)
    assert samples["deniable_connections", ""] == 1
    assert refused(samples, "requests") == {"unauthorised": 1, "forbidden": 1}


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


async def test_what_comes_outside_of_its_epoch_shows_their_clocks(collector: Collector) -> None:
    early, late = list[float](), list[float]()
    for device, (now, epoch, kept, seconds) in enumerate(
        (
            (START - 300, 0, early, 300.0),
            (START - 0.25, 0, early, 0.25),
            (START, 0, None, 0.0),
            (START + DAY - 0.25, 0, None, 0.0),
            (START + DAY, 0, late, 0.0),
            (START + 3 * DAY - 1, 1, late, DAY - 1.0),
        )
    ):
        collector.clock.time = now
        assert (await collector.send(envelope(device, epoch=epoch))).accepted == 1
        if kept is not None:
            kept.append(seconds)
        samples = shown(collector.meters)
        for name, all_ in (("early", early), ("late", late)):
            assert samples[f"deniable_{name}_seconds_count", ""] == len(all_)
            assert samples[f"deniable_{name}_seconds_sum", ""] == sum(all_)


async def test_requests_are_counted_by_why_they_were_refused(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails_to_read() -> None:
        raise StoreError("disk I/O error")

    async def fails() -> None:
        raise RuntimeError("unforeseen")

    get: Callable[[str], Awaitable[Any]] = collector.client.get
    await get("/nowhere")
    await get("/v1/surveys?x=1")
    await get("/v1/reports")  # another method: no code of ours
    await collector.upload(b"xyzzy")
    monkeypatch.setattr(collector.store, "ended", fails_to_read)
    collector.clock.time += 1
    await get("/v1/surveys/another")
    monkeypatch.setattr(collector.store, "ended", fails)
    collector.clock.time += 1
    await get("/v1/surveys/another")
    samples = shown(collector.meters)
    once = ("not-found", "bad-query", "malformed", "store-failed")
    assert refused(samples, "requests") == dict.fromkeys(once, 1)
    assert samples["deniable_requests_failed_total", ""] == 1
    assert refused(samples) == {}


async def test_requests_are_counted_by_route_and_status(collector: Collector) -> None:
    get: Callable[[str], Awaitable[Any]] = collector.client.get
    for path in ("", "", f"/{MANIFEST.name}", "/another"):
        await get(f"/v1/surveys{path}")
    for path in (f"/{MANIFEST.name}", "/v1/reports"):
        await get(path)
    await collector.client.head("/healthz")
    await collector.send(envelope(1))
    samples = shown(collector.meters).items()
    counted = {labels: n for (name, labels), n in samples if name == "deniable_requests_total"}
    once = "{name} 200,/v1/surveys/{name} 404,other 404,other 405,/healthz 200,/v1/reports 200"
    assert counted == dict.fromkeys(f"/v1/surveys/{once}".split(","), 1) | {"/v1/surveys 200": 2}


def gauges(collector: Collector, **settings: Any) -> Gauges:
    config, store, clock = collector.config, collector.store, collector.clock
    catalogue = Catalogue(store, config.authority, clock)
    return Gauges(replace(config, **settings), store, catalogue, clock)


async def test_gauges_tell_what_an_operator_alarms_on(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=7 << 30)
    monkeypatch.setattr("deniable.server.gauges.shutil.disk_usage", lambda _: usage)
    await collector.store.note_backup(BACKED_UP)
    measuring = gauges(collector, workers=3)
    measured = await measuring.measure()
    assert measured == {
        "store_up": 1,
        "disk_free_bytes": 7 << 30,
        "survey_end_timestamp_seconds": MANIFEST.schedule.end,
        "seals_overdue": 0,
        "backup_timestamp_seconds": BACKED_UP,
        "workers_wanted": 3,
    }
    text = generate_latest(measuring).decode()
    assert MANIFEST.name not in text
    samples = parsed(text)
    assert {name: samples[f"deniable_{name}", ""] for name in measured} == measured


async def test_a_disk_without_room_for_uploads_is_full_though_a_row_may_fit(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=(1 << 20) - 1)
    monkeypatch.setattr("deniable.server.gauges.shutil.disk_usage", lambda _: usage)
    assert (await gauges(collector).measure())["store_up"] == 0
    assert await problem(await collector.client.get("/readyz")) == (507, "storage-full")


async def test_a_store_that_readiness_calls_down_is_down_in_the_metrics(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring, seconds = gauges(collector), FakeClock()
    for shared in vars(measuring).values():
        if isinstance(shared, SharedAnswer):
            monkeypatch.setattr(shared, "_clock", seconds)
    await measuring.check()
    seconds.time += 3.0
    assert (await measuring.measure())["store_up"] == 1

    async def fail() -> None:
        raise StoreError("frozen")

    monkeypatch.setattr(collector.store, "ping", fail)
    seconds.time += 2.0
    with pytest.raises(StoreError):
        await measuring.check()
    assert (await measuring.measure())["store_up"] == 0


async def test_the_end_that_is_told_is_that_of_a_survey_which_runs(collector: Collector) -> None:
    day = replace(MANIFEST, name="a-day", schedule=replace(MANIFEST.schedule, epochs=1))
    successor = replace(day, sequence=day.sequence + 1, schedule=MANIFEST.schedule)
    name = "survey_end_timestamp_seconds"
    await collector.publish(day)
    assert (await gauges(collector).measure())[name] == day.schedule.end
    await collector.publish(successor)
    assert (await gauges(collector).measure())[name] == MANIFEST.schedule.end
    await collector.store.end(successor.survey_id, START)
    assert (await gauges(collector).measure())[name] == day.schedule.end
    collector.clock.time = MANIFEST.schedule.end
    assert name not in await gauges(collector).measure()


async def test_only_epochs_with_reports_are_overdue(collector: Collector) -> None:
    schedule = MANIFEST.schedule
    for epoch in (0, 2):
        collector.clock.time = START + epoch * schedule.epoch_seconds
        await collector.send(envelope(1, epoch=epoch))

    async def overdue(now: float) -> float:
        collector.clock.time = now
        return (await gauges(collector).measure())["seals_overdue"]

    assert await overdue(schedule.closes(0) + 3_599) == 0
    assert await overdue(schedule.closes(0) + 3_600) == 1
    # Nothing is in the later ones: there is nothing to seal.
    assert await overdue(schedule.end + 1_000 * DAY) == 3
    await collector.store.seal(MANIFEST.survey_id, 2, START)
    assert await overdue(schedule.end + 1_000 * DAY) == 2
    await collector.store.end(MANIFEST.survey_id, START + DAY)
    assert await overdue(START + DAY + 3_599) == 0
    assert await overdue(START + DAY + 3_600) == 2


@pytest.mark.parametrize("broken", ["", "ping", "seals"])
async def test_on_its_own_address_anyone_may_read_it_and_a_store_that_fails_costs_its_own_samples(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("the store failed")

    collector.meters.reports_accepted.inc(7)
    if broken:
        monkeypatch.setattr(collector.store, broken, fails)
    server = OwnServer(build_metrics_server(collector.config, collector.meters, gauges(collector)))
    async with TestClient[Any, None](server) as client:
        samples = parsed(await (await client.get("/metrics")).text())
        # Where no flood of devices comes between.
        assert (await client.get("/healthz")).status == 200
        for path in ("/v1/surveys", "/readyz"):
            assert await problem(await client.get(path)) == (404, "not-found")
    assert samples["deniable_reports_accepted_total", ""] == 7
    assert samples["deniable_store_up", ""] == (broken != "ping")
    assert ("deniable_disk_free_bytes", "") in samples
    assert (("deniable_seals_overdue", "") in samples) is not bool(broken)
