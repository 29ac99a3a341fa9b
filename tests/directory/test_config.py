"""The settings file: every setting is checked, and whatever is wrong is named in one line."""

from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from deniable.directory import CONFIG_FILE, SETTINGS, Config, InvalidConfig
from deniable.logs import VerifierKey, Witness
from deniable.logs.notes import COSIGNER
from deniable.messages.schedule import EARLY_SECONDS
from tests.support.surveys import AUTHORITY

WITNESS = VerifierKey("w.example", COSIGNER, AUTHORITY.public_key)

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


def each_of(**wrong: list[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in wrong.items() for value in values]


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    assert Config.load(write(tmp_path)) == Config(
        origin="https://collector.example",
        authority=AUTHORITY.public_key,
        store=tmp_path / "store.sqlite",
        gateway_keys=tmp_path / "gateway.json",
    )


EVERY: dict[str, tuple[str, object]] = {
    "origin": ('"http://127.0.0.1:8080"', "http://127.0.0.1:8080"),
    "authority": (f'"{KEY}"', AUTHORITY.public_key),
    "host": ('"0.0.0.0"', "0.0.0.0"),
    "port": ("0", 0),
    "store": ('"elsewhere/reports.sqlite"', Path("elsewhere/reports.sqlite")),
    "database_connections": ("3", 3),
    "public": ('["one-survey", "another"]', frozenset({"one-survey", "another"})),
    "board": ('["mood", "theme", "mood"]', ("mood", "theme")),
    "hidden_texts": ('["some words"]', frozenset({"some words"})),
    "upload_origins": ('["https://example.org"]', frozenset({"https://example.org"})),
    "workers": ("4", 4),
    "address_rate": ("12.5", 12.5),
    "trusted_proxies": ('["10.0.0.0/8", "::1"]', (ip_network("10.0.0.0/8"), ip_network("::1/128"))),
    "relays": ('["192.0.2.7"]', (ip_network("192.0.2.7/32"),)),
    "relay_rate": ("50", 50.0),
    "gateway_keys": ('"/run/secrets/gateway.json"', Path("/run/secrets/gateway.json")),
    "witnesses": (
        f'["{WITNESS} https://w.example"]',
        (Witness("w1", WITNESS, "https://w.example"),),
    ),
    "tls_certificate": ('"tls/chain.pem"', Path("tls/chain.pem")),
    "tls_key": ('"/etc/deniable/key.pem"', Path("/etc/deniable/key.pem")),
    "metrics": ('"[::1]:9377"', ("::1", 9377)),
    "log_format": ('"json"', "json"),
    "upkeep_seconds": ("0", 0.0),
    "relayed_from": ('"2026-12-31"', 1_798_675_200 - EARLY_SECONDS),
}
"""By setting: what may stand in the file, never its default, and what it is read as.

Paths are relative to the directory.
"""


def everything(directory: Path) -> Config:
    """Return what EVERY says."""
    values: dict[str, Any] = {name: value for name, (_, value) in EVERY.items()}
    paths = {name: directory / each for name, each in values.items() if isinstance(each, Path)}
    return Config(**values | paths)


def test_every_setting_is_read(tmp_path: Path) -> None:
    assert set(EVERY) == {setting.name for setting in SETTINGS}
    minimal = Config.load(write(tmp_path))
    config = Config.load(write(tmp_path, **{name: text for name, (text, _) in EVERY.items()}))
    given = everything(tmp_path)
    assert config == given
    for name in EVERY:
        assert type(getattr(config, name)) is type(getattr(given, name))
        assert name == "authority" or getattr(config, name) != getattr(minimal, name)


def test_a_password_is_in_no_repr(tmp_path: Path) -> None:
    config = Config.load(write(tmp_path, store='"postgresql://me:hunter2@db.example/reports"'))
    assert "hunter2" in str(config.store)
    assert "hunter2" not in repr(config)


def test_one_field_is_all_there_is_to_a_setting(tmp_path: Path) -> None:
    """What ``init``, ``doctor`` and the documents need follows from the fields of ``Config``."""
    minimal = Config.load(write(tmp_path))
    assert [setting.name for setting in SETTINGS] == [
        field.name for field in fields(Config) if field.name != "places"
    ]
    for setting in SETTINGS:
        assert setting.meaning
        assert "\n" not in setting.meaning
        assert setting.variable == f"DENIABLE_{setting.name.upper()}"
        if setting.default is None:
            assert setting.name in MINIMAL
        elif setting.name not in {"store", "gateway_keys"}:  # whose paths start at the directory
            assert getattr(minimal, setting.name) == setting.read(setting.default)
    assert "places" not in repr(minimal)


def test_a_setting_without_default_must_be_given(tmp_path: Path) -> None:
    for name in MINIMAL:
        assert f"{name} is missing" in refusal(write(tmp_path, **{name: None}))


@pytest.mark.parametrize(
    ("name", "value"),
    each_of(
        origin=["1", '["https://collector.example"]'],
        authority=["1"],
        host=["127"],
        port=['"8377"', "8377.0", "true"],
        store=["false"],
        public=['"one-survey"', "{}"],
        workers=['"many"', "true", "1e6"],
        upkeep_seconds=['"10"'],
        address_rate=["true"],
        trusted_proxies=['"10.0.0.0/8"'],
    ),
)
def test_a_value_of_another_type_is_refused(tmp_path: Path, name: str, value: str) -> None:
    assert f"{name} must be a TOML " in refusal(write(tmp_path, **{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    each_of(
        origin=[
            *('""', '"collector.example"', '"http://collector.example"'),
            *(f'"https://{each}"' for each in ("c.example/", "C.example", "c.example:443")),
        ],
        authority=[
            *('""', '"not hexadecimal"', f'"{KEY[:-2]}"', f'"{KEY[:-1]}"', f'"{KEY}00"'),
            *(f'"{"00" * 32}"', f'"01{"00" * 31}"', f'"{"ff" * 32}"'),
        ],
        port=["-1", "65536"],
        public=["[1]", '["good", ["nested"]]'],
        board=["[1]"],
        upload_origins=[
            *('["example.org"]', '["https://example.org/page"]', "[1]"),
            *('["*"]', '["https://example.org", "*"]'),
        ],
        store=['""', '"mysql://me:hunter2@db.example/reports"'],
        database_connections=["1"],
        workers=["0", "257"],
        address_rate=["-0.5", "inf"],
        trusted_proxies=['["proxy.example"]', '["10.0.0.1/8"]', "[167772160]"],
        metrics=['"9377"', '"::1:9377"', '"127.0.0.1:70000"'],
        log_format=['"xml"'],
        upkeep_seconds=["-1", "inf"],
        relayed_from=['"tomorrow"', '"2026-02-30"'],
    ),
)
def test_a_value_outside_its_domain_is_refused(tmp_path: Path, name: str, value: str) -> None:
    message = refusal(write(tmp_path, **{name: value}))
    assert f": {name} " in message
    assert len(message.splitlines()) == 1
    assert "hunter2" not in message


def test_certificate_and_key_need_each_other(tmp_path: Path) -> None:
    for alone in ("tls_certificate", "tls_key"):
        message = refusal(write(tmp_path, **{alone: '"file.pem"'}))
        assert message.startswith(f"{tmp_path / CONFIG_FILE}: {alone} is set")
        assert "set both or neither" in message


def test_a_setting_that_is_unknown_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("Origin", "ports", "authority-key", "secret"):
        message = refusal(write(tmp_path, **{name: '"x"'}))
        assert "unknown setting" in message
        assert name in message


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    assert "deniable init" in refusal(tmp_path)
    assert "deniable init" in refusal(tmp_path / "nowhere")


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    digits = b"port = " + b"1" * 5000
    for content in (b"origin = ", b"\xff\xfe", b"port = 1\nport = 2\n", b"= 1", digits):
        (tmp_path / CONFIG_FILE).write_bytes(content)
        refusal(tmp_path)
    (tmp_path / CONFIG_FILE).unlink()
    (tmp_path / CONFIG_FILE).mkdir()
    refusal(tmp_path)
