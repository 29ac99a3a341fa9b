"""What analysts read besides histograms: versions, epochs and counts; and from which origins."""

import asyncio
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deniable.estimates import View
from deniable.messages import FRESH, Manifest
from deniable.presenting import connect
from deniable.presenting.fields import histogram_csv
from tests.server.collector import Collector, problem, running
from tests.server.test_pages import SEEN
from tests.support.designs import large_survey
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST, START, manifest

NAME = MANIFEST.name
ID = MANIFEST.survey_id.hex()
SUCCESSOR = manifest(sequence=1, epsilon="0.5")
COURTEOUS = manifest(name="courteous", minimum_reports=3)
"""Whose figures advance by three."""


async def get(collector: Collector, path: str, name: str = NAME) -> Any:
    headers = await collector.token()
    answer = await collector.client.get(f"/v1/surveys/{name}{path}", headers=headers)
    assert answer.status == 200, await answer.text()
    return await answer.json()


async def test_all_versions_of_a_name_are_listed_also_ended_ones(collector: Collector) -> None:
    await collector.publish(SUCCESSOR)
    await collector.store.end(MANIFEST.survey_id, START + 5)
    collector.clock.time += 1
    answer = await collector.client.get(f"/v1/surveys/{NAME}/versions")
    listed = (await answer.json())["surveys"]
    assert [(each["survey_id"], each["ended_at"]) for each in listed] == [
        (SUCCESSOR.survey_id.hex(), None),
        (ID, START + 5),
    ]
    unknown = await collector.client.get("/v1/surveys/nobody-asks/versions")
    assert await problem(unknown) == (404, "not-found")


def twins() -> tuple[Manifest, Manifest]:
    """Return two surveys of a name whose ids begin with the same four digits, the older first."""
    seen: dict[bytes, Manifest] = {}
    for sequence in count(1):
        made = manifest(sequence=sequence)
        before = seen.setdefault(made.survey_id[:2], made)
        if before is not made:
            return before, made
    raise AssertionError


async def test_an_older_survey_is_named_by_a_beginning_of_its_id(collector: Collector) -> None:
    older, newer = twins()
    await collector.publish(older)
    await collector.publish(newer)
    collector.clock.time += 1
    assert (await get(collector, ""))["survey_id"] == newer.survey_id.hex()
    for survey in (older, newer, MANIFEST):
        identifier = survey.survey_id.hex()
        assert (await get(collector, f"?survey={identifier[:12]}"))["survey_id"] == identifier
    begins = older.survey_id.hex()[:4]
    ambiguous = await collector.client.get(f"/v1/surveys/{NAME}?survey={begins}")
    assert await problem(ambiguous) == (400, "bad-query")
    assert "2 ids of this name begin with these" in await ambiguous.text()


async def test_what_is_read_is_what_the_object_says_of_every_kind(collector: Collector) -> None:
    tried = SEEN
    for survey in tried:
        await collector.publish(survey)
        k = survey.mechanism.responses
        for epoch, reports in ((0, 40), (3, 25)):
            await collector.store.add(
                [report(d, d % k, epoch=epoch, survey=survey) for d in range(reports)]
            )
    collector.clock.time += 1
    headers = await collector.token()
    url, token = str(collector.client.make_url("")), headers["Authorization"].split()[1]
    surveys = connect(url.rstrip("/"), token, authority=AUTHORITY.public_key.hex())
    for survey in tried:
        read = await asyncio.to_thread(surveys.__getitem__, survey.name)
        range_ = range(4) if survey.repeat == FRESH else range(1)
        query = f"?level=0.9&epoch=0-{len(range_) - 1}"
        histogram = await asyncio.to_thread(partial(read.histogram, range_, level=0.9))
        assert histogram.epochs == ((0, 3) if survey.repeat == FRESH else (0,))
        told = await get(collector, f"/histogram{query}", survey.name)
        assert told == histogram.to_dict()
        csv = await text(collector, f"/histogram{query}&format=csv", survey.name)
        assert csv == histogram_csv(histogram)
        path = f"/v1/surveys/{survey.name}/histogram{query}&view=projected"
        answer = await collector.client.get(path, headers=headers)
        if survey.values is not None:
            assert await problem(answer) == (400, "bad-query")
        else:
            viewed = await answer.json()
            assert viewed == histogram.to_dict(View.PROJECTED)
            shown = [row["shown"] for row in viewed["categories"]]
            assert min(shown) >= 0
            assert sum(shown) == pytest.approx(len(histogram.sample.decoder.parts))
        series = await asyncio.to_thread(partial(read.series, level=0.9))
        assert await get(collector, "/series?level=0.9", survey.name) == series.to_dict()
        assert await text(collector, "/series?level=0.9&format=csv", survey.name) == series.to_csv()
        if survey.repeat == FRESH:
            comparison = await asyncio.to_thread(partial(read.compare, 3, "0", level=0.9))
            query = "?epoch=3&against=0&level=0.9"
            told = await get(collector, f"/comparison{query}", survey.name)
            assert told == comparison.to_dict()
            csv = await text(collector, f"/comparison{query}&format=csv", survey.name)
            assert csv == comparison.to_csv()


async def text(collector: Collector, path: str, name: str) -> str:
    headers = await collector.token()
    answer = await collector.client.get(f"/v1/surveys/{name}{path}", headers=headers)
    assert (answer.status, answer.content_type, answer.charset) == (200, "text/csv", "utf-8")
    return await answer.text()


async def test_a_series_has_every_survey_of_its_name_or_the_named(collector: Collector) -> None:
    later = manifest(sequence=1, schedule=replace(MANIFEST.schedule, epochs=30))
    await collector.publish(later)
    for epoch in (0, 2):
        await collector.store.add([report(d, d % 5, epoch=epoch) for d in range(10)])
    await collector.store.add([report(d, epoch=9, survey=later) for d in range(5)])
    collector.clock.time += 1

    async def epochs(query: str = "") -> list[tuple[str, int, int]]:
        rows = (await get(collector, f"/series{query}"))["rows"]
        return [(r["survey_id"], r["epoch"], r["n"]) for r in rows if r["category"] == "good"]

    newer = later.survey_id.hex()
    older = [(ID, 0, 10), (ID, 1, 0), (ID, 2, 10)]
    assert await epochs() == [*older, (newer, 9, 5)]
    assert await epochs(f"?survey={ID[:12]}") == older
    assert await epochs(f"?survey={newer[:12]}") == [(newer, 9, 5)]
    assert await epochs(f"?survey={ID[:12]}&epoch=1-7") == [(ID, 2, 10)]
    assert await epochs("?epoch=9") == [(newer, 9, 5)]
    answer = await collector.client.get(
        f"/v1/surveys/{NAME}/series?epoch=0-8", headers=await collector.token()
    )
    assert await problem(answer) == (409, "too-few-reports")


async def test_a_comparison_is_of_surveys_that_may_both_be_read(tmp_path: Path) -> None:
    alike, private = manifest(name="alike"), manifest(name="private")
    async with running(tmp_path, public=(NAME, "alike")) as collector:
        await collector.publish(alike)
        await collector.publish(private)
        for survey in (MANIFEST, alike, private):
            await collector.store.add([report(d, d % 5, survey=survey) for d in range(10)])
        collector.clock.time += 1
        for against, stranger, analyst in (
            ("alike", 200, 200),
            ("private", 401, 200),
            ("private:0", 401, 200),
            ("nobody-asks", 400, 400),
            ("previous", 409, 409),
            ("0-x", 400, 400),
            ("older", 400, 400),
            ("alike:99999", 400, 400),
        ):
            for path in (f"/v1/surveys/{NAME}/comparison", f"/surveys/{NAME}/differences.svg"):
                url = f"{path}?against={against}"
                assert (await collector.client.get(url)).status == stranger, url
                answer = await collector.client.get(url, headers=await collector.token())
                assert answer.status == analyst, url
            page = await (await collector.client.get(f"/surveys/{NAME}/compare")).text()
            assert ('value="alike"' in page, 'value="private"' in page) == (True, False)
        assert "a comparison needs two days with figures" in page
        told = await get(collector, "/comparison?against=alike")
        assert (told["survey"], told["against_survey"]) == (NAME, "alike")


async def test_a_series_is_no_way_around_the_steps(collector: Collector) -> None:
    await collector.publish(COURTEOUS)
    collector.clock.time += 1

    async def shown(path: str) -> int:
        told = await get(collector, path, COURTEOUS.name)
        rows = told.get("rows") or told.get("epochs") or [told]
        return int(rows[0]["n"]) if isinstance(rows[0], dict) else int(told["n"])

    for device in range(6):
        await collector.store.add([report(device, survey=COURTEOUS)])
        if device in {2, 3, 4}:
            for path in ("/series", "/counts", "/epochs", "/histogram?epoch=0-3"):
                assert await shown(path) == 3
    assert await shown("/series") == 6


@pytest.mark.long
async def test_what_takes_minutes_or_gigabytes_is_for_ones_own(collector: Collector) -> None:
    large, huge = large_survey(1024), large_survey(10_000)
    for survey in (large, huge):
        await collector.publish(survey)
        await collector.store.add([report(d, d, survey=survey) for d in range(20)])
    collector.clock.time += 1
    token = await collector.token()
    path = f"/v1/surveys/{huge.name}/counts?epoch=0-2"
    answer = await collector.client.get(path, headers=token)
    assert await problem(answer) == (400, "bad-query")
    shown = await get(collector, "/histogram?view=projected", huge.name)
    assert len(shown["categories"]) == 10_000
    # A query of each category by itself would take a quarter of an hour.
    assert len((await get(collector, "/series", huge.name))["rows"]) == 10_000
