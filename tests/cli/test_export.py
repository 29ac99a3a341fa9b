"""Bundles of apps, read back as apps do, and the gateway keys in them."""

import json
import time
from pathlib import Path

import pytest

from deniable.client import IN_MEMORY, Client, ClientSettings, Survey
from deniable.directory import Config
from deniable.directory.gateway_file import first_gateway, read_gateway_file, rotated_gateway
from deniable.key_files import KeyFileError, create_key_file
from deniable.messages import open_manifest
from deniable.messages.bundle import read_bundle
from deniable.messages.gateway import MAX_GATEWAY_KEYS, GatewayKeys, open_gateway_keys
from tests.cli.commands import Workplace
from tests.cli.test_kinds import MEMOISED, NUMERIC, TWO_ROUND
from tests.cli.test_successors import TENTH
from tests.support.surveys import AUTHORITY, MANIFEST, ORIGIN, START


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
    ids=["plain", "delta", "text", "memoised", "two-round", "mean"],
)
def test_the_file_declares_a_survey_that_can_be_answered(
    place: Workplace, changes: dict[str, str]
) -> None:
    place.publish(**{"epochs": "4"} | changes)
    survey, config = Survey.bundled(exported(place)), Config.load(place.directory)
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


def bundled(place: Workplace) -> GatewayKeys:
    bundle = read_bundle(place.succeed("survey export tea").encode())
    assert bundle.gateway is not None
    return open_gateway_keys(bundle.gateway, (bundle.authority,))


def test_a_new_gateway_is_private_and_stands_in_bundles(place: Workplace, tmp_path: Path) -> None:
    place.publish()
    other = tmp_path / "other.pem"
    create_key_file(other)
    assert "not the current signing key" in place.fail("gateway new --authority-key", other)
    assert not Config.load(place.directory).gateway_keys.exists()
    document = json.loads(place.succeed("survey export tea"))
    assert "gateway" not in document
    before = place.manifest()
    assert "gateway" in place.fail("gateway show")
    printed = place.succeed("gateway new")
    file = Config.load(place.directory).gateway_keys
    assert file.stat().st_mode & 0o777 == 0o600
    keys = bundled(place)
    assert abs(keys.sequence - time.time()) < 3_600
    (key,) = keys.configurations
    assert key.public_key.hex() in printed
    assert f"{keys.origin}/.well-known/ohttp-gateway" in place.succeed("gateway show")
    assert "rotate" in place.fail("gateway new")
    assert place.manifest() == before
    (held,) = read_gateway_file(file).private_bytes.values()
    assert held.hex() not in printed
    assert held.hex() not in repr(read_gateway_file(file)) + place.succeed("gateway show")


def test_a_rotation_keeps_what_surveys_need_and_no_more(place: Workplace) -> None:
    place.succeed("gateway new")
    place.succeed("gateway rotate")  # nothing is published: nothing needs the first
    assert len(read_gateway_file(Config.load(place.directory).gateway_keys).private_bytes) == 1
    place.publish()
    (old,) = bundled(place).configurations
    schedule = place.manifest().schedule
    over = time.strftime("%Y-%m-%d", time.gmtime(schedule.end + schedule.grace_seconds))
    assert f"needed until {over}" in place.succeed("gateway rotate")
    new, kept = bundled(place).configurations
    assert kept == old != new
    place.succeed("authority rotate --yes")
    assert bundled(place).configurations == (new, old)
    place.succeed("gateway rotate --drop-older --yes")
    assert not {old, new} & set(bundled(place).configurations)
    file = read_gateway_file(Config.load(place.directory).gateway_keys)
    assert (len(file.private_bytes), file.needed_until) == (1, {})


def test_so_many_keys_are_needed_at_once_at_most_and_none_is_named_twice() -> None:
    file = first_gateway(ORIGIN, AUTHORITY, 0)
    chain = (AUTHORITY.public_key,)
    end = MANIFEST.schedule.end + MANIFEST.schedule.grace_seconds
    for number in range(2, MAX_GATEWAY_KEYS + 1):
        file = rotated_gateway(file, file.opened(chain), AUTHORITY, [MANIFEST], end - 1)
        assert len(file.opened(chain).configurations) == len(file.private_bytes) == number
    with pytest.raises(KeyFileError):
        rotated_gateway(file, file.opened(chain), AUTHORITY, [MANIFEST], end - 1)
    for _ in range(300):  # around the one byte that names a key
        before = file.opened(chain)
        file = rotated_gateway(file, before, AUTHORITY, [MANIFEST], end)
        assert file.opened(chain).sequence == max(before.sequence + 1, end)
        assert not set(file.private_bytes) & {key.key_id for key in before.configurations}


def test_a_file_that_was_put_back_rotates_beyond_what_devices_know() -> None:
    chain = (AUTHORITY.public_key,)
    old = first_gateway(ORIGIN, AUTHORITY, START)
    lost, after = (
        rotated_gateway(old, old.opened(chain), AUTHORITY, [MANIFEST], START + seconds)
        for seconds in (60, 120)
    )
    assert after.opened(chain).sequence > lost.opened(chain).sequence > START
