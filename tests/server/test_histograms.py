"""Histograms: for analysts, or for anybody where the operator says so; never raw counts alone."""

import asyncio
from typing import Any

import pytest

from deniable.directory import new_token, token_digest
from deniable.estimates import estimate_histogram
from deniable.messages import Manifest, Repeat, UploadAnswer
from deniable.reading import EpochStanding, EpochState
from tests.server.collector import Collector, problem
from tests.server.sockets import exchange, request
from tests.support.reports import envelope
from tests.support.surveys import DAY, MANIFEST, START, manifest

PATH = f"/v1/surveys/{MANIFEST.name}/histogram"
SUCCESSOR = manifest(sequence=1)
COURTEOUS = manifest(name="courteous", minimum_reports=3)
OPEN = EpochStanding(EpochState.OPEN)
MEMOISED = manifest(name="memoised", repeat=Repeat("memoised", 3))


async def fill(collector: Collector, epoch: int = 0, devices: int = 6) -> None:
    """Let some devices report."""
    batch = [envelope(d, (0, 0, 0, 1, 4, 4)[d % 6], epoch=epoch) for d in range(devices)]
    assert await collector.send(*batch) == UploadAnswer(devices, 0)


async def read(collector: Collector, query: str = "", path: str = PATH) -> dict[str, Any]:
    answer = await collector.client.get(path + query, headers=await collector.token())
    assert answer.status == 200
    assert answer.content_type == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    body: dict[str, Any] = await answer.json()
    return body


async def test_the_newest_epoch_that_is_over_is_shown_or_the_named(collector: Collector) -> None:
    for query, refused in (
        *((query, (409, "too-few-reports")) for query in ("", "?epoch=0", "?epoch=7")),
        (f"?survey={'0' * 64}", (404, "not-found")),
    ):
        answer = await collector.client.get(PATH + query, headers=await collector.token())
        assert await problem(answer) == refused
    await fill(collector)
    for days, default in enumerate((([0], 6), ([0], 6), ([1], 2))):
        if days:  # before that, no epoch is over, and the open one is shown
            collector.clock.time += DAY
        if days == 1:
            await fill(collector, epoch=1, devices=2)
        for query, shown in (("", default), ("?epoch=0", ([0], 6))):
            body = await read(collector, query)
            assert (body["epochs"], body["n"]) == shown


async def test_epochs_whose_devices_keep_responses_are_never_pooled(collector: Collector) -> None:
    await collector.publish(MEMOISED)
    path = f"/v1/surveys/{MEMOISED.name}/histogram"
    for epoch in range(8):
        collector.clock.time = START + epoch * DAY + DAY // 2
        batch = [envelope(d, d % 5, epoch=epoch, survey=MEMOISED) for d in range(5)]
        assert await collector.send(*batch) == UploadAnswer(5, 0)
    for epoch in range(8):
        body = await read(collector, f"?epoch={epoch}", path)
        assert (body["epochs"], body["n"]) == ([epoch], 5)
        assert body["kept_range"] == ([0, 2], [3, 5], [6, 7])[epoch // 3]
    # All of these reports together would seem to be 40 independent ones: there is no such figure.
    for query in ("?epoch=0&epoch=1", "?epoch=0,1", "?epoch=0-2", "?epochs=0", "?epoch=all"):
        answer = await collector.client.get(path + query, headers=await collector.token())
        assert await problem(answer) == (400, "bad-query")
    # One epoch of each range is new noise.
    assert (await read(collector, "?epoch=2-3", path))["epochs"] == [2, 3]


async def test_surveys_of_one_name_are_never_pooled(collector: Collector) -> None:
    await fill(collector)
    await collector.publish(SUCCESSOR)
    token = await collector.token()
    newer = f"?survey={SUCCESSOR.survey_id.hex()}"
    empty = await collector.client.get(f"{PATH}{newer}", headers=token)
    assert await problem(empty) == (409, "too-few-reports")
    await collector.send(envelope(1, survey=SUCCESSOR))
    assert (await read(collector, newer))["n"] == 1
    # Unless one is named, it is the one with the most reports.
    assert (await read(collector))["n"] == 6
    await collector.send(*(envelope(device, survey=SUCCESSOR) for device in range(2, 9)))
    assert (await read(collector))["n"] == (await read(collector, "?epoch=0"))["n"] == 8
    older = await read(collector, f"?survey={MANIFEST.survey_id.hex()}&epoch=0&level=0.9")
    assert (older["n"], older["survey_id"]) == (6, MANIFEST.survey_id.hex())


async def test_every_parameter_is_checked(collector: Collector) -> None:
    await fill(collector)
    epochs = ["", "8", "-1", "x", "1.0", "0x1", "%C2%B2", "9" * 30, "0000000", "%201", "1e0", "+1"]
    levels = ["", "0", "1", "-0.5", "95", "nan", "inf", "x", "1e-999"]
    levels += ["٠.٩", "0.9_5", "9e+1", "e-1", ".", "+0.9", " 0.9", "0.9%0a", "0..9"]
    others = ["survey=x", "unknown=1", "epoch=0&epoch=0", "level=0.9&level=0.9", "Epoch=0"]
    token = await collector.token()
    for query in [*(f"epoch={e}" for e in epochs), *(f"level={each}" for each in levels), *others]:
        answer = await collector.client.get(f"{PATH}?{query}", headers=token)
        assert await problem(answer) == (400, "bad-query"), query


async def test_without_a_valid_token_nobody_reads(collector: Collector) -> None:
    await fill(collector)
    token = (await collector.token())["Authorization"].removeprefix("Bearer ")
    for scheme in ("Bearer ", "bearer  "):
        held = {"Authorization": f"{scheme}{token}"}
        assert (await collector.client.get(PATH, headers=held)).status == 200
    wrong = [token[:-1], f"{token}0", token.upper(), f"{token} {token}", new_token(), "x", ""]
    wrong += [token_digest(token).hex(), "\u00ff", "deniable_" + "0" * 7000]
    shown = ["", "Bearer", token, f"Basic {token}", *(f"Bearer {each}" for each in wrong)]
    for headers in [{}, *({"Authorization": each} for each in shown)]:
        for path in (PATH, "/v1/surveys/nobody-asks/histogram"):
            answer = await collector.client.get(path, headers=headers)
            assert await problem(answer) == (401, "unauthorised"), headers
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    for token_ in (b"\xff", b"\xed\xa0\x80", b"\xc3(", b"\x80" * 100):
        asked = request(f"GET {PATH}".encode(), b"Authorization: Bearer " + token_)
        (refused,) = await exchange(collector, asked)
        assert refused.problem() == (401, "unauthorised")


async def test_a_histogram_is_made_once_while_nothing_new_comes(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counting(
        manifest: Manifest, epoch: int, counts: dict[int, int], *more: Any, **named: Any
    ) -> Any:
        made.append(sum(counts.values()))
        return estimate_histogram(manifest, epoch, counts, *more, **named)

    monkeypatch.setattr("deniable.presenting.surveys.estimate_histogram", counting)
    await fill(collector, devices=5)
    token = await collector.token()
    bodies = await asyncio.gather(*(collector.client.get(PATH, headers=token) for _ in range(4)))
    first, *others = [await answer.read() for answer in bodies]
    assert others == [first] * 3
    assert made == [5]
    assert (await read(collector, "?level=0.9"))["level"] == 0.9
    assert made == [5, 5]
    await collector.send(envelope(5))
    assert (await read(collector))["n"] == 6
    assert made == [5, 5, 6]
    for level in range(100, 133):  # no more than 32 are kept
        await read(collector, f"?level=0.{level}")
    await read(collector)
    assert made[-1] == 6
    assert len(made) == 37
