"""The settings file: every setting is checked, and whatever is wrong is named in one line."""

from dataclasses import fields
from pathlib import Path

import pytest

from deniable.server import CONFIG_FILE, SETTINGS, Config, InvalidConfig
from deniable.server.config import Setting
from tests.support.surveys import AUTHORITY

KEY = AUTHORITY.public_key.hex()
MINIMAL = {"origin": '"https://collector.example"', "authority": f'"{KEY}"'}


def write(directory: Path, **changes: str | None) -> Path:
    """Write a settings file in TOML; a setting that is None is left out."""
    settings = {name: value for name, value in (MINIMAL | changes).items() if value is not None}
    text = "\n".join(f"{name} = {value}" for name, value in settings.items())
    (directory / CONFIG_FILE).write_text(text, "utf-8")
    return directory


def refusal(directory: Path) -> str:
    with pytest.raises(InvalidConfig) as caught:
        Config.load(directory)
    message = str(caught.value)
    assert CONFIG_FILE in message
    return message


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    assert Config.load(write(tmp_path)) == Config(
        origin="https://collector.example",
        authority=AUTHORITY.public_key,
        host="127.0.0.1",
        port=8377,
        store=tmp_path / "store.sqlite",
        public=frozenset(),
        most_waiting=20_000,
    )


def test_every_setting_is_read(tmp_path: Path) -> None:
    given = write(
        tmp_path,
        origin='"http://127.0.0.1:8080"',
        host='"0.0.0.0"',
        port="0",
        store='"elsewhere/reports.sqlite"',
        public='["one-survey", "another"]',
        most_waiting="256",
    )
    assert Config.load(given) == Config(
        origin="http://127.0.0.1:8080",
        authority=AUTHORITY.public_key,
        host="0.0.0.0",
        port=0,
        store=tmp_path / "elsewhere" / "reports.sqlite",
        public=frozenset({"one-survey", "another"}),
        most_waiting=256,
    )


def test_an_absolute_store_is_taken_as_it_is(tmp_path: Path) -> None:
    given = write(tmp_path, store='"/var/lib/deniable/store.sqlite"')
    assert Config.load(given).store == Path("/var/lib/deniable/store.sqlite")


def test_the_table_of_settings_is_complete() -> None:
    assert [setting.name for setting in SETTINGS] == [field.name for field in fields(Config)]
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.meaning
        assert "\n" not in setting.meaning
        assert setting.default is None or type(setting.default) is setting.kind


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_default_passes_its_own_check(setting: Setting) -> None:
    if setting.default is not None:
        setting.check(setting.default)
    else:
        assert setting.name in MINIMAL


@pytest.mark.parametrize("name", ["origin", "authority"])
def test_a_setting_without_default_must_be_given(tmp_path: Path, name: str) -> None:
    message = refusal(write(tmp_path, **{name: None}))
    assert f"{name} is missing" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("origin", "1"),
        ("origin", '["https://collector.example"]'),
        ("authority", "1"),
        ("host", "127"),
        ("port", '"8377"'),
        ("port", "8377.0"),
        ("port", "true"),
        ("store", "false"),
        ("public", '"one-survey"'),
        ("public", "{}"),
        ("most_waiting", '"many"'),
        ("most_waiting", "true"),
        ("most_waiting", "1e6"),
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path: Path, name: str, value: str) -> None:
    assert f"{name} must be a TOML " in refusal(write(tmp_path, **{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("origin", '""'),
        ("origin", '"collector.example"'),
        ("origin", '"http://collector.example"'),
        ("origin", '"https://collector.example/"'),
        ("origin", '"https://Collector.example"'),
        ("origin", '"https://collector.example:443"'),
        ("authority", '""'),
        ("authority", '"not hexadecimal"'),
        ("authority", f'"{KEY[:-2]}"'),
        ("authority", f'"{KEY[:-1]}"'),
        ("authority", f'"{KEY}00"'),
        ("authority", f'"{"00" * 32}"'),
        ("authority", f'"01{"00" * 31}"'),
        ("authority", f'"{"ff" * 32}"'),
        ("port", "-1"),
        ("port", "65536"),
        ("public", "[1]"),
        ("public", '["good", ["nested"]]'),
        ("most_waiting", "-1"),
        ("most_waiting", "0"),
        ("most_waiting", "255"),
    ],
)
def test_a_value_outside_its_domain_is_refused_by_name(
    tmp_path: Path, name: str, value: str
) -> None:
    message = refusal(write(tmp_path, **{name: value}))
    assert f": {name} " in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("name", ["Origin", "ports", "authority-key", "secret"])
def test_a_setting_that_is_unknown_is_refused_by_name(tmp_path: Path, name: str) -> None:
    message = refusal(write(tmp_path, **{name: '"x"'}))
    assert "unknown setting" in message
    assert name in message


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    assert "deniable init" in refusal(tmp_path)
    assert "deniable init" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    [b"origin = ", b"\xff\xfe", b"port = 1\nport = 2\n", b"= 1", b"port = " + b"1" * 5000],
    ids=["half a line", "not UTF-8", "twice", "no key", "thousands of digits"],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CONFIG_FILE).write_bytes(content)
    refusal(tmp_path)


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).mkdir()
    refusal(tmp_path)
