"""Surveys of up to 2^20 responses, over HTTP: what is judged, counted and told."""

from pathlib import Path
from typing import Any

import pytest

from deniable.estimates import estimate_histogram
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import DesignMechanism
from deniable.messages import RefusalCode
from deniable.reading import EpochStanding, EpochState
from tests.server.collector import running
from tests.stores.places import PLACES, publish
from tests.support.designs import large_survey
from tests.support.reports import envelope


def never(*_: Any) -> Any:
    raise AssertionError("nothing of the matrix is asked for")


@pytest.mark.parametrize(
    ("kind", "categories"),
    [("sqlite", 1024), pytest.param("sqlite", 10_000, marks=pytest.mark.long), ("postgres", 1024)],
)
async def test_reports_of_a_large_design_become_a_histogram_of_its_categories(
    tmp_path: Path, kind: str, categories: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = large_survey(categories)
    most = survey.mechanism.responses
    for entry in ("row", "probability", "randomise"):
        monkeypatch.setattr(DesignMechanism, entry, never)
    monkeypatch.setattr(Affine, "supports", never)
    async with running(tmp_path, store=await PLACES[kind](tmp_path).open()) as collector:
        await publish(collector.store, survey)
        collector.clock.time += 1
        responses = [most - 1, 0, most - 1, *range(7, most, most // 40)]
        good = [envelope(device, y, survey=survey) for device, y in enumerate(responses)]
        answer = await collector.send(*good, envelope(999, most, survey=survey))
        assert (answer.accepted, answer.refused) == (
            len(good),
            ((len(good), RefusalCode.OUT_OF_DOMAIN),),
        )
        path = f"/v1/surveys/{survey.name}/histogram"
        told = await collector.client.get(path, headers=await collector.token())
        body, size = await told.json(), len(await told.read())
        counts = {y: responses.count(y) for y in responses}
        expected = estimate_histogram(survey, 0, counts, standing=EpochStanding(EpochState.OPEN))
        assert body == expected.to_dict()
        assert len(body["categories"]) == categories
        assert "responses" not in body
        assert size < 300 * categories
