"""``survey export``: what an app bundles, read back as an app does."""

from pathlib import Path

import pytest

from deniable.client import IN_MEMORY, Client, ClientSettings, Survey
from deniable.directory import Config
from deniable.messages import open_manifest
from deniable.messages.bundle import read_bundle
from tests.cli.commands import Workplace, succeed
from tests.cli.serving import answering
from tests.cli.test_kinds import MEMOISED, NUMERIC, TWO_ROUND
from tests.cli.test_publish import declared
from tests.cli.test_running import TENTH


def exported(place: Workplace, name: str = "tea") -> bytes:
    return place.succeed("survey export", name).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"epsilon": '"0.5"', "delta": '"0.001"', "epoch": '"12 hours"'},
        {"question": '"Wie oft, „Grüner Tee“?"'},
        MEMOISED,
        TWO_ROUND,
        NUMERIC,
    ],
    ids=["plain", "delta", "text", "memoised", "two-round", "numeric"],
)
def test_the_file_declares_what_publish_printed_and_can_be_answered(
    place: Workplace, changes: dict[str, str]
) -> None:
    printed = declared(place.publish(**{"epochs": "4"} | changes))
    survey, config = Survey.bundled(exported(place)), Config.load(place.directory)
    assert survey == printed
    limits = ("0.001", 43_200) if "delta" in changes else ("0", 86_400)
    assert (survey.max_delta, survey.min_epoch_seconds) == limits
    with Client(
        config.origin,
        authority=config.authority,
        surveys=[survey],
        state=IN_MEMORY,
        consent="on",
        background=False,
        settings=ClientSettings(first_epoch="now", environment={}),
    ) as client:
        assert client.report("tea", survey.categories[0], strict=True).ok


def test_it_is_written_where_it_is_wanted(place: Workplace, tmp_path: Path) -> None:
    place.publish()
    file = tmp_path / "tea.json"
    said = place.succeed("survey export tea --out", file)
    assert f"wrote {file}" in said
    assert file.read_bytes() == exported(place)
    missing = tmp_path / "missing" / "tea.json"
    assert "missing" in place.fail("survey export tea --out", missing)


def test_after_a_rotation_it_bears_the_key_that_signs_now(place: Workplace, tmp_path: Path) -> None:
    place.publish()
    old = tmp_path / "tea.json"
    old.write_bytes(exported(place))
    before = read_bundle(old.read_bytes())
    place.succeed("authority rotate --yes")
    after = read_bundle(exported(place))
    with answering(place) as server:
        reached = ("--collector", server.url, "--authority", old)
        assert read_bundle(succeed("survey export tea", *reached).encode()) == after
    assert before.authority == Config.load(place.directory).authority != after.authority
    assert before.declaration == after.declaration


def test_it_has_what_the_apps_that_bundle_it_are_to_follow(place: Workplace) -> None:
    for sequence, changes in enumerate(({}, {"epsilon": '"0.5"'}, TENTH)):
        place.publish(**changes)
        bundle = read_bundle(exported(place))
        manifests = [open_manifest(each, bundle.authority) for each in bundle.manifests]
        assert [manifest.sequence for manifest in manifests] == [sequence]


def test_what_no_device_would_take_is_not_exported(place: Workplace) -> None:
    place.publish(start="2020-01-01T00:00:00Z")
    assert "publish a successor" in place.fail("survey export tea")
    assert "survey list" in place.fail("survey export coffee")
    place.publish(name='"juice"')
    place.set(origin='"http://127.0.0.1:8378"')
    assert "another origin" in place.fail("survey export juice")
