"""``deniable init`` makes a collector once, its key elsewhere; and directories in odd states."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.counterparts.signing import sign_manifest
from deniable.directory import SETTINGS, Config, read_authority_key, with_store
from deniable.key_files import read_key_file
from deniable.messages import Manifest, SigningKey
from deniable.public_log.publish.publisher import log_key_file, verifier_key
from deniable.reading import duration_text
from tests.cli.commands import Workplace, fail, succeed
from tests.support.surveys import manifest


@pytest.fixture
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_init_makes_settings_store_example_and_key_for_the_owner_alone(
    tmp_path: Path, careless_umask: None
) -> None:
    directory = tmp_path / "new" / "collector"
    shown = succeed("init", directory)
    place = Workplace(directory)
    files = {file.name: file.stat().st_mode & 0o777 for file in directory.iterdir()}
    assert {*files} == {"collector.toml", "example-survey.toml", "store.sqlite"}
    assert (files["collector.toml"], files["store.sqlite"]) == (0o600, 0o600)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert place.key_file.stat().st_mode & 0o777 == 0o600
    config = Config.load(directory)
    assert config.store == directory / "store.sqlite"
    assert read_authority_key(place.key_file).public_key == config.authority
    log_key = verifier_key("127.0.0.1:8377/log", read_key_file(log_key_file(place.key_file)))
    for text in (str(place.settings), str(place.key_file), config.authority.hex(), str(log_key)):
        assert text in shown
    assert (config.host, config.port, config.public) == ("127.0.0.1", 8377, frozenset())


def test_every_other_setting_needs_only_its_mark_taken_off(place: Workplace) -> None:
    before = Config.load(place.directory)
    settings = tuple(f"# {setting.name} = " for setting in SETTINGS)
    lines = place.settings.read_text("utf-8").splitlines()
    uncovered = [line[2:] if line.startswith(settings) else line for line in lines]
    place.settings.write_text("\n".join(uncovered), "utf-8")
    names = [setting.name for setting in SETTINGS]
    written = sorted(names, key=lambda name: name not in {"origin", "authority", "port"})
    assert list(tomllib.loads(place.settings.read_text("utf-8"))) == written
    assert Config.load(place.directory) == before


def test_options_go_into_the_settings(tmp_path: Path) -> None:
    directory, key = tmp_path / "collector", tmp_path / "keys.pem"
    origin = "https://telemetry.example.org"
    succeed("init", directory, "--origin", origin, "--port", "0", "--authority-key", key)
    config = Config.load(directory)
    assert (config.origin, config.port) == (origin, 0)
    assert read_authority_key(key).public_key == config.authority
    assert not Workplace(directory).key_file.exists()


@pytest.mark.parametrize(
    ("origin", "port"),
    [
        ("http://127.0.0.1:18431", 18431),
        ("http://[::1]:18431", 18431),
        ("http://[::1]", 8377),
        ("http://127.0.0.1", 8377),
        ("https://telemetry.example.org:8443", 8377),  # a proxy's
    ],
)
def test_it_listens_where_an_origin_on_this_machine_says(
    tmp_path: Path, origin: str, port: int
) -> None:
    succeed("init", tmp_path / "collector", "--origin", origin)
    config = Config.load(tmp_path / "collector")
    assert (config.origin, config.port) == (origin, port)
    succeed("init", tmp_path / "other", "--origin", origin, "--port", "1234")
    assert Config.load(tmp_path / "other").port == 1234


def test_neither_a_collector_nor_a_key_is_ever_overwritten(
    place: Workplace, tmp_path: Path
) -> None:
    before = {file: file.read_bytes() for file in place.directory.iterdir()}
    place.key_file.unlink()
    assert "never overwritten" in fail("init", place.directory)
    assert {file: file.read_bytes() for file in place.directory.iterdir()} == before
    assert not place.key_file.exists()
    other = Workplace(tmp_path / "other")
    other.key_file.write_text("precious", "utf-8")
    assert "never overwritten" in fail("init", other.directory)
    assert other.key_file.read_text("utf-8") == "precious"
    assert not other.settings.exists()


@pytest.mark.parametrize("inside", ["key.pem", "keys/key.pem", "../collector/key.pem", "x/../k"])
def test_the_key_must_be_outside_the_directory(tmp_path: Path, inside: str) -> None:
    directory = tmp_path / "collector"
    assert "outside" in fail("init", directory, "--authority-key", directory / inside)
    assert not directory.exists()
    # Nor does a link bring it inside.
    directory.mkdir()
    (tmp_path / "link").symlink_to(directory)
    assert "outside" in fail("init", directory, "--authority-key", tmp_path / "link" / "key.pem")


@pytest.mark.parametrize(
    "origin", ["http://collector.example", "collector.example", "https://x/", "https://X", ""]
)
def test_after_a_refusal_init_works_as_if_nothing_had_been(tmp_path: Path, origin: str) -> None:
    directory, missing = tmp_path / "collector", tmp_path / "missing" / "key.pem"
    assert "origin" in fail("init", directory, "--origin", origin)
    assert not directory.exists()
    assert "cannot be written" in fail("init", directory, "--authority-key", missing)
    succeed("init", directory)
    assert Config.load(directory).port == 8377


def publish_by_another(place: Workplace, survey: Manifest) -> None:
    """Write a survey into the store that another authority signed."""
    envelope = sign_manifest(survey, SigningKey(bytes(range(32))))
    with_store(Config.load(place.directory), lambda store: store.publish(survey, envelope))


@pytest.mark.parametrize(
    "words", ["serve", "token new", "survey list", "survey show tea", "hist tea"]
)
def test_a_store_that_is_not_there_is_not_begun_anew(place: Workplace, words: str) -> None:
    store = place.directory / "store.sqlite"
    store.unlink()
    assert str(store) in place.fail(words)
    assert "store.sqlite" in place.fail("survey publish", place.written())
    assert not store.exists()


def test_a_survey_of_another_authority_is_told_and_not_shown(place: Workplace) -> None:
    place.publish()
    publish_by_another(place, manifest(name="foreign"))
    result = place.run("survey list")
    assert result.exit_code == 0
    assert "foreign" not in result.stdout
    assert "tea" in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert place.run("survey show foreign").exit_code == 1
    # One that is in the way of a successor.
    publish_by_another(place, manifest(name="tea", sequence=7))
    result = place.run("survey publish", place.written(epsilon='"0.5"'))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "sequence 7" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0 seconds"), (1, "1 second"), (90, "90 seconds"), (120, "2 minutes")),
        *((3600, "1 hour"), (43_200, "12 hours"), (86_400, "1 day"), (864_000, "10 days")),
        *((14 * 86_400, "2 weeks"), (86_401, "86401 seconds")),
    ],
)
def test_a_duration_is_told_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text
