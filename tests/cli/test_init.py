"""``deniable init`` makes a collector once, and keeps the authority's key away from it."""

import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.directory import SETTINGS, Config, read_authority_key
from deniable.key_files import read_key_file
from deniable.public_log.publish import log_key_file, verifier_key
from tests.cli.commands import Workplace, fail, succeed


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_init_makes_settings_store_example_and_key(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "collector"
    shown = succeed("init", directory)
    place = Workplace(directory)
    assert {file.name for file in directory.iterdir()} == {
        "collector.toml",
        "example-survey.toml",
        "store.sqlite",
    }
    config = Config.load(directory)
    assert config.store == directory / "store.sqlite"
    assert read_authority_key(place.key_file).public_key == config.authority
    log_key = verifier_key("127.0.0.1:8377/log", read_key_file(log_key_file(place.key_file)))
    for text in (str(place.settings), str(place.key_file), config.authority.hex(), str(log_key)):
        assert text in shown
    assert (config.host, config.port, config.public) == ("127.0.0.1", 8377, frozenset())


def test_only_the_owner_reads_what_is_secret_or_about_people(
    tmp_path: Path, careless_umask: None
) -> None:
    directory = tmp_path / "collector"
    succeed("init", directory)
    assert mode(directory) == 0o700
    assert mode(directory / "collector.toml") == 0o600
    assert mode(directory / "store.sqlite") == 0o600
    assert mode(Workplace(directory).key_file) == 0o600


def test_every_other_setting_needs_only_its_mark_taken_off(place: Workplace) -> None:
    before = Config.load(place.directory)
    settings = tuple(f"# {setting.name} = " for setting in SETTINGS)
    lines = place.settings.read_text("utf-8").splitlines()
    uncovered = [line[2:] if line.startswith(settings) else line for line in lines]
    place.settings.write_text("\n".join(uncovered), "utf-8")
    assert list(tomllib.loads(place.settings.read_text("utf-8"))) == sorted(
        (setting.name for setting in SETTINGS),
        key=lambda name: (name not in {"origin", "authority", "port"}, _place(name)),
    )
    assert Config.load(place.directory) == before


def _place(name: str) -> int:
    return [setting.name for setting in SETTINGS].index(name)


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


def test_a_collector_is_never_overwritten(place: Workplace) -> None:
    before = {file: file.read_bytes() for file in place.directory.iterdir()}
    key = place.key_file.read_bytes()
    place.key_file.unlink()
    assert "never overwritten" in fail("init", place.directory)
    assert {file: file.read_bytes() for file in place.directory.iterdir()} == before
    assert not place.key_file.exists()
    assert key


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    directory = tmp_path / "collector"
    key = Workplace(directory).key_file
    key.write_text("precious", "utf-8")
    assert "never overwritten" in fail("init", directory)
    assert key.read_text("utf-8") == "precious"
    assert not Workplace(directory).settings.exists()


@pytest.mark.parametrize("inside", ["key.pem", "keys/key.pem", "../collector/key.pem", "x/../k"])
def test_the_key_must_be_outside_the_directory(tmp_path: Path, inside: str) -> None:
    directory = tmp_path / "collector"
    message = fail("init", directory, "--authority-key", directory / inside)
    assert "outside" in message
    assert not directory.exists()


def test_a_link_does_not_bring_the_key_inside(tmp_path: Path) -> None:
    directory, link = tmp_path / "collector", tmp_path / "link"
    directory.mkdir()
    link.symlink_to(directory)
    assert "outside" in fail("init", directory, "--authority-key", link / "key.pem")


@pytest.mark.parametrize(
    "origin", ["http://collector.example", "collector.example", "https://x/", "https://X", ""]
)
def test_an_origin_that_no_manifest_may_name_is_refused(tmp_path: Path, origin: str) -> None:
    directory = tmp_path / "collector"
    assert "origin" in fail("init", directory, "--origin", origin)
    assert not directory.exists()


def test_a_key_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "key.pem"
    assert "cannot be written" in fail("init", tmp_path / "collector", "--authority-key", missing)


def test_after_a_refusal_init_works_as_if_nothing_had_been(tmp_path: Path) -> None:
    directory = tmp_path / "collector"
    fail("init", directory, "--origin", "http://collector.example")
    fail("init", directory, "--authority-key", tmp_path / "missing" / "key.pem")
    succeed("init", directory)
    assert Config.load(directory).port == 8377
