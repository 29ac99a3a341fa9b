"""Environment variables override the settings file, and point to secrets that are in no file."""

import json
import re
from pathlib import Path

import pytest

from deniable.directory import SETTINGS, Config, InvalidConfig
from tests.directory.test_config import EVERY, everything, write

VALUES = {
    name: ", ".join(re.findall('"(.*?)"', text)) if text.startswith("[") else text.strip('"')
    for name, (text, _) in EVERY.items()
} | {"trusted_proxies": "10.0.0.0/8,::1"}
SECRET = "hunter2"
URL = f"postgresql://me:{SECRET}@db.example/reports"


def variables(suffix: str = "", **values: str) -> dict[str, str]:
    return {f"DENIABLE_{name.upper()}{suffix}": value for name, value in values.items()}


def refusal(directory: Path, environment: dict[str, str]) -> str:
    with pytest.raises(InvalidConfig) as caught:
        Config.load(directory, environment)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    assert Config.load(write(tmp_path), variables(**VALUES)) == everything(tmp_path)


def test_every_setting_can_come_from_a_file_of_its_own(tmp_path: Path) -> None:
    pointers = {}
    for name, value in VALUES.items():
        (tmp_path / name).write_text(f"{value}\n", "utf-8")
        pointers[name] = str(tmp_path / name)
    assert Config.load(write(tmp_path), variables("_FILE", **pointers)) == everything(tmp_path)


def test_the_settings_know_where_each_stands(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(URL, "utf-8")
    given = variables(port="2") | variables("_FILE", store=str(tmp_path / "secret"))
    config = Config.load(write(tmp_path), given)
    assert config.place("store") == "DENIABLE_STORE_FILE: store"
    assert config.place("port") == "DENIABLE_PORT: port"
    assert config.place("host") == f"{tmp_path / 'collector.toml'}: host"
    assert SECRET not in repr(config)


def test_a_variable_beats_the_file_and_a_database_has_either_scheme(tmp_path: Path) -> None:
    given = write(tmp_path, port="1", host='"10.0.0.1"')
    for scheme in ("postgresql://", "postgres://"):
        url = f"{scheme}deniable@db.example/deniable"
        config = Config.load(given, variables(port="2", store=url))
        assert (config.port, config.host, config.store) == (2, "10.0.0.1", url)


def test_variables_may_stand_for_settings_that_must_be_given(tmp_path: Path) -> None:
    given = write(tmp_path, origin=None, authority=None)
    config = Config.load(given, variables(origin=VALUES["origin"], authority=VALUES["authority"]))
    assert config.origin == VALUES["origin"]


@pytest.mark.parametrize(
    ("text", "names"), [("", set()), ("one", {"one"}), (" one ,two,, ", {"one", "two"})]
)
def test_a_list_is_separated_by_commas(tmp_path: Path, text: str, names: set[str]) -> None:
    given = write(tmp_path, public=json.dumps(["overridden"]))
    assert Config.load(given, variables(public=text)).public == names


def test_a_number_is_digits_perhaps_with_a_point(tmp_path: Path) -> None:
    directory = write(tmp_path)
    for text in ("", " 1", "1 ", "+1", "1_0", "0x1", "1.0", "many", "١", "9" * 99):
        message = refusal(directory, variables(port=text))
        assert message == "DENIABLE_PORT: port must be a number", text
    for text in ("", "1e3", ".5", "5.", "nan", "inf", "-1", "1,5"):
        message = refusal(directory, variables(upkeep_seconds=text))
        assert message == "DENIABLE_UPKEEP_SECONDS: upkeep_seconds must be a number", text
    message = refusal(directory, variables(port="65536"))
    assert message == "DENIABLE_PORT: port must be from 0 to 65535"


def test_a_value_and_a_file_of_it_contradict_each_other(tmp_path: Path) -> None:
    both = variables(store=URL) | variables("_FILE", store=str(tmp_path / "secret"))
    message = refusal(write(tmp_path), both)
    assert message == "DENIABLE_STORE and DENIABLE_STORE_FILE are both set; unset one"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_secret_comes_from_a_file_without_its_last_line_break(tmp_path: Path, end: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes((URL + end).encode())
    config = Config.load(write(tmp_path), variables("_FILE", store=str(secret)))
    assert config.store == URL
    assert SECRET not in repr(config)


def test_a_file_that_is_wrong_is_named_and_not_repeated(tmp_path: Path) -> None:
    pointer = variables("_FILE", store=str(tmp_path / "secret"))
    assert "the file cannot be read" in refusal(write(tmp_path), pointer)
    for content in (f"{URL}\n\n", f"{URL}\n{URL}", f"mysql://{SECRET}", "", f"\xff{SECRET}"):
        (tmp_path / "secret").write_bytes(content.encode("latin-1"))
        message = refusal(write(tmp_path), pointer)
        assert message.startswith("DENIABLE_STORE_FILE: ")
        assert SECRET not in message


def test_other_variables_are_nobody_s_business(tmp_path: Path) -> None:
    Config.load(write(tmp_path), {"DENIABLE_SERVICE_HOST": "10.0.0.1", "DENIABLE_CONSENT": "off"})
    assert not {"DENIABLE_DIR", "DENIABLE_CONSENT"} & {setting.variable for setting in SETTINGS}
