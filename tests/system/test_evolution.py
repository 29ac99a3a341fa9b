"""A name in the field for years: apps with other categories are counted, each by itself."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.client import IN_MEMORY, Client, ClientSettings, Survey
from deniable.directory import Config
from deniable.messages import Manifest, open_manifest, split_manifests
from tests.cli.commands import Workplace, succeed
from tests.cli.serving import serving
from tests.cli.test_running import TENTH
from tests.support.watched import until


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    directory = tmp_path / "collector"
    succeed("init", directory)
    return Workplace(directory)


def test_apps_before_and_after_a_fifth_category_report_at_the_same_time(place: Workplace) -> None:
    def bundle() -> bytes:
        return succeed("survey", "export", "tea", "--dir", place.directory).encode()

    with serving(place) as server:
        origin = f"http://127.0.0.1:{server.port}"
        settings = place.settings.read_text("utf-8")
        place.settings.write_text(settings.replace("http://127.0.0.1:8377", origin), "utf-8")
        authority = Config.load(place.directory).authority
        place.publish(epochs="8")
        old = Survey.bundled(bundle())
        assert "keep answering sequence 0" in " ".join(place.publish(**TENTH).split())
        new = Survey.bundled(bundle())

        def offered() -> list[Manifest]:
            status, body = server.request("GET", "/v1/surveys/tea/manifests")
            envelopes = split_manifests(body) if status == 200 else []
            return [open_manifest(each, authority) for each, _ in envelopes]

        until(lambda: len(offered()) == 2)  # the server reads its store once a second
        manifests = offered()
        assert [each.sequence for each in manifests] == [1, 0]
        assert manifests[0].schedule == manifests[1].schedule
        # Two that bundle it, and one that was declared in code and asks.
        for survey in (old, new, replace(old, bundle=None)):
            client = Client(
                origin,
                authority=authority,
                surveys=[survey],
                state=IN_MEMORY,
                consent="on",
                background=False,
                settings=ClientSettings(first_epoch="now", environment={}),
            )
            with client:
                assert client.refresh().ready == ("tea",)
                client.report("tea", survey.categories[-1], strict=True)
                assert client.flush().delivered == 1
        for manifest, reports in zip(manifests, (1, 2), strict=True):
            chosen = ("--survey", manifest.survey_id.hex(), "--dir", place.directory, "--json")
            shown = json.loads(succeed("hist", "tea", *chosen))
            assert shown["n"] == reports
            assert len(shown["categories"]) == len(manifest.categories)
