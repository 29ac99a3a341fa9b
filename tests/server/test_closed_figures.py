"""Estimates in /metrics: of closed epochs of surveys that the settings name, as they are."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from deniable.estimates import estimate_histogram
from deniable.messages import Manifest
from deniable.presenting.rows import chosen_rows
from deniable.server import gauges
from deniable.server.gauges import ClosedFigures
from deniable.server.routes.catalogue import Catalogue
from deniable.stores import StoreError
from tests.server.collector import Collector, running
from tests.server.test_metrics import Samples, parsed
from tests.support.reports import envelope
from tests.support.surveys import DAY, MANIFEST, manifest

NAMES = frozenset({MANIFEST.name, "a-first", "many", "odd", "nobody-published"})
MANY = manifest(name="many", categories=tuple(f"a {number}" for number in range(30)))
ODD = manifest(name="odd", categories=('a "b"', "back\\slash", "c"), minimum_reports=50)

FIRST = manifest(name="a-first")


def closed_figures(collector: Collector) -> ClosedFigures:
    catalogue = Catalogue(collector.store, collector.config.authority, collector.clock)
    return ClosedFigures(collector.config, collector.store, catalogue, collector.clock)


@pytest.fixture
async def collector(tmp_path: Path) -> AsyncIterator[Collector]:
    async with running(tmp_path, metrics_surveys=NAMES) as made:
        yield made


@pytest.fixture
def figures(collector: Collector) -> ClosedFigures:
    return closed_figures(collector)


async def lines(figures: ClosedFigures) -> str:
    await figures.renew()
    return generate_latest(figures).decode()


async def send(collector: Collector, survey: Manifest, epoch: int, n: int) -> list[int]:
    """Send some reports, fewer of each following response; return how often each was sent."""
    k = survey.mechanism.responses
    responses = [device * device % k for device in range(n)]
    sent = [
        envelope(device, response, epoch=epoch, survey=survey)
        for device, response in enumerate(responses)
    ]
    for start in range(0, n, 100):
        await collector.send(*sent[start : start + 100])
    return [responses.count(response) for response in range(k)]


def linted(text: str) -> str:
    """Return what promtool says of the text."""
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("needs promtool")
    command = [promtool, "check", "metrics"]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    return done.stdout + done.stderr


def of(samples: Samples, survey: str) -> Samples:
    return {
        (name.removeprefix("deniable_"), labels.removesuffix(survey).strip()): value
        for (name, labels), value in samples.items()
        if "_estimate" in name and labels.endswith(survey)
    }


async def test_only_closed_epochs_of_named_surveys_are_told_of(
    collector: Collector, figures: ClosedFigures
) -> None:
    for survey in (MANY, ODD, manifest(name="private")):
        await collector.publish(survey)
    await send(collector, MANIFEST, 0, 400)
    await send(collector, ODD, 0, 49)
    many = await send(collector, MANY, 0, 400)
    await send(collector, manifest(name="private"), 0, 100)
    assert "_estimate" not in await lines(figures)
    collector.clock.time += DAY  # over, and its late reports are taken
    counts = await send(collector, MANIFEST, 1, 300)
    assert "_estimate" not in await lines(figures)
    collector.clock.time += DAY  # the grace of epoch 0 is over, and that of epoch 1 is not
    samples = parsed(await lines(figures))
    assert {labels.split()[-1] for name, labels in samples if "_estimate" in name} == {
        *(MANIFEST.name, "many")  # of the odd one too few reports came
    }
    assert of(samples, MANIFEST.name)["estimate_reports", ""] == 400
    rows = chosen_rows(estimate_histogram(MANY, 0, many), "unbiased", top=20).rows  # the largest
    lows = {key: low for key, low in of(samples, "many").items() if key[0] == "estimate_low"}
    assert lows == {("estimate_low", row["category"]): row["low"] for row in rows}
    collector.clock.time += DAY
    samples = of(parsed(await lines(figures)), MANIFEST.name)
    histogram = estimate_histogram(MANIFEST, 1, counts)
    ends = histogram.simultaneous
    for answer, value, low, high in zip(
        MANIFEST.categories, histogram.estimate, ends.low, ends.high, strict=True
    ):
        assert samples["estimate", answer] == value
        assert samples["estimate_low", answer] == low
        assert samples["estimate_high", answer] == high
    assert samples["estimate_reports", ""] == 300
    assert samples["estimate_fake_reports", ""] == histogram.sample.fewest_fakes
    end = MANIFEST.schedule.epoch_start(2)
    assert samples["estimate_epoch_end_timestamp_seconds", ""] == end


async def test_prometheus_reads_whatever_answers_are_called(
    collector: Collector, figures: ClosedFigures
) -> None:
    await collector.publish(ODD)
    await send(collector, ODD, 0, 60)
    collector.clock.time += 3 * DAY
    text = await lines(figures)
    answers = {labels for name, labels in of(parsed(text), "odd") if name == "estimate"}
    assert answers == {*ODD.categories}
    complaints = linted(text)
    assert "deniable_estimate" not in complaints
    assert "error while linting" not in complaints


async def test_a_survey_that_fails_keeps_no_other_from_being_told_of_and_is_looked_at_again(
    collector: Collector,
    figures: ClosedFigures,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = gauges._figures_of
    failures = iter([ZeroDivisionError(), StoreError("away")])

    def figures_of(survey: Manifest, counts: Any) -> Any:
        if survey.name == FIRST.name:
            raise ZeroDivisionError
        for failure in failures:
            raise failure
        return made(survey, counts)

    monkeypatch.setattr(gauges, "_figures_of", figures_of)
    monkeypatch.setattr(gauges, "_SECONDS", 0.0)
    renewed, renew = asyncio.Event(), figures.renew

    async def telling() -> None:
        await renew()
        if "deniable_estimate{" in generate_latest(figures).decode():
            renewed.set()

    monkeypatch.setattr(figures, "renew", telling)
    await collector.publish(FIRST)
    for survey in (FIRST, MANIFEST):
        await send(collector, survey, 0, 60)
    collector.clock.time += 3 * DAY
    keeping = asyncio.create_task(figures.keep())
    async with asyncio.timeout(60):
        await renewed.wait()
    keeping.cancel()
    assert (text := await lines(figures)).count("deniable_estimate{") == len(MANIFEST.categories)
    assert {labels.split()[-1] for _, labels in parsed(text)} == {MANIFEST.name}
    assert "estimates for the metrics could not be made" in caplog.text
    monkeypatch.setattr(gauges, "_figures_of", None)
    assert await lines(figures) == text  # a survey is not estimated again for every look


async def test_nothing_is_made_where_no_survey_is_named(tmp_path: Path) -> None:
    async with running(tmp_path) as collector:
        await closed_figures(collector).keep()
