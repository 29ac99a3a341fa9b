"""A collector's directory in odd states: a lost store, a foreign survey, a narrow terminal."""

import asyncio
from pathlib import Path

import pytest

from deniable.directory import Config
from deniable.documents.terminal import document_text
from deniable.estimates import Histogram, estimate_histogram
from deniable.messages import Manifest, SigningKey, sign_manifest
from deniable.reading import duration_text
from deniable.stores import SqliteStore
from tests.cli.commands import Workplace, fail, run, succeed
from tests.support.surveys import manifest

LONG = manifest(categories=("a category with a name of more than forty letters", "b", "c"))


def store_foreign_survey(place: Workplace, survey: Manifest) -> None:
    """Write a survey into the store that another authority signed."""

    async def work() -> None:
        store = await SqliteStore.open(Path(Config.load(place.directory).store))
        await store.publish(survey, sign_manifest(survey, SigningKey(bytes(range(32)))))
        await store.close()

    asyncio.run(work())


def shown(histogram: Histogram, width: int) -> str:
    return document_text(histogram.document(), width)


@pytest.mark.parametrize(
    "command",
    [("serve",), ("token", "new"), ("survey", "list"), ("survey", "show", "tea"), ("hist", "tea")],
    ids=" ".join,
)
def test_a_store_that_is_not_there_is_not_begun_anew(
    place: Workplace, command: tuple[str, ...]
) -> None:
    store = place.directory / "store.sqlite"
    store.unlink()
    assert str(store) in fail(*command, "--dir", place.directory)
    assert "store.sqlite" in fail("survey", "publish", place.written(), "--dir", place.directory)
    assert not store.exists()


def test_a_survey_of_another_authority_is_told_and_not_shown(place: Workplace) -> None:
    place.publish()
    store_foreign_survey(place, manifest(name="foreign"))
    result = run("survey", "list", "--dir", place.directory)
    assert result.exit_code == 0
    assert "foreign" not in result.stdout
    assert "tea" in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert run("survey", "show", "foreign", "--dir", place.directory).exit_code == 1


def test_a_foreign_survey_in_the_way_of_a_successor_is_one_line(place: Workplace) -> None:
    place.publish()
    store_foreign_survey(place, manifest(name="tea", sequence=7))
    written = place.written(epsilon='"0.5"')
    result = run("survey", "publish", written, "--dir", place.directory)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "sequence 7" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_table_fits_the_terminal_and_drops_the_bars_before_the_numbers(width: int) -> None:
    histogram = estimate_histogram(LONG, 0, [400, 500, 600])
    text = shown(histogram, width)
    assert max(map(len, text.splitlines())) <= width
    for i in range(3):
        assert f"{histogram.estimate[i]:.1%}" in text
        ends = histogram.simultaneous.low[i], histogram.simultaneous.high[i]
        assert f"{ends[0]:.1%} to {ends[1]:.1%}" in text
    assert ("█" in text) is (width >= 200)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (90, "90 seconds"),
        (120, "2 minutes"),
        (3600, "1 hour"),
        (43_200, "12 hours"),
        (86_400, "1 day"),
        (10 * 86_400, "10 days"),
        (14 * 86_400, "2 weeks"),
        (86_401, "86401 seconds"),
    ],
)
def test_a_duration_is_told_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_relative_directory_is_the_same_collector(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.publish()
    monkeypatch.chdir(place.directory.parent)
    assert "tea" in succeed("survey", "list", "--dir", Path(place.directory.name))
