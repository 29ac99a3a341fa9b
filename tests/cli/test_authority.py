"""Rotating the authority's key: nothing published is lost, and no key is."""

import shutil
import stat
from pathlib import Path

from deniable.directory import Config, read_authority_key, with_store
from deniable.key_files import create_key_file
from deniable.messages import follow_rotations, open_manifest, open_rotation
from tests.cli.commands import Workplace


def rotations(place: Workplace) -> list[bytes]:
    return with_store(Config.load(place.directory), lambda store: store.rotations())


def envelopes(place: Workplace) -> list[bytes]:
    return with_store(Config.load(place.directory), lambda store: store.surveys())


def next_file(place: Workplace, number: int = 2) -> Path:
    return place.key_file.with_name(f"{place.directory.name}-authority-{number}.pem")


def rotate(place: Workplace, *options: str | Path) -> str:
    return place.succeed("authority rotate --yes", *options)


def test_a_rotation_makes_a_key_that_signs_everything_from_now_on(place: Workplace) -> None:
    place.publish()
    before = place.manifest()
    pinned = Config.load(place.directory).authority
    printed = rotate(place)
    new = read_authority_key(next_file(place))
    assert stat.S_IMODE(next_file(place).stat().st_mode) == 0o600
    for text in (pinned.hex(), new.public_key.hex(), str(next_file(place)), "1 survey\n"):
        assert text in printed
    assert Config.load(place.directory).authority == pinned
    (envelope,) = rotations(place)
    assert follow_rotations(pinned, [open_rotation(envelope)]) == (pinned, new.public_key)
    (survey,) = envelopes(place)
    assert open_manifest(survey, new.public_key).survey_id == before.survey_id
    assert "published" in place.publish(epsilon='"0.5"')
    assert open_manifest(envelopes(place)[0], new.public_key) == place.manifest()
    assert place.manifest().sequence == before.sequence + 1


def test_show_tells_which_key_apps_pin_and_which_one_signs_now(place: Workplace) -> None:
    old = read_authority_key(place.key_file).public_key.hex()
    shown = place.succeed("authority show")
    assert shown.splitlines() == [
        f"apps pin   {old}",
        f"signs now  {old}",
        f"its file   {place.key_file}",
    ]
    rotate(place)
    new = read_authority_key(next_file(place)).public_key.hex()
    next_file(place).rename(next_file(place).with_name("elsewhere.pem"))
    assert place.succeed("authority show").splitlines() == [
        f"apps pin   {old}",
        f"rotated    {new}  (sequence 1)",
        f"signs now  {new}",
        "its file   not next to the collector's directory",
    ]


def test_the_former_key_a_strangers_and_nobody_s_yes_hand_nothing_over(
    place: Workplace, tmp_path: Path
) -> None:
    result = place.run("authority rotate")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "for good?" in result.stderr
    stranger = tmp_path / "stranger.pem"
    create_key_file(stranger)
    another = place.fail("authority rotate --yes --authority-key", stranger)
    assert "not the current signing key" in another
    assert rotations(place) == []
    assert not next_file(place).exists()
    rotate(place)
    former = ("--authority-key", place.key_file)
    assert "not the current signing key" in place.fail("survey publish", place.written(), *former)
    assert "not the current signing key" in place.fail("authority rotate --yes", *former)
    assert envelopes(place) == []
    assert len(rotations(place)) == 1


def test_a_next_key_that_is_there_is_used_and_never_overwritten(place: Workplace) -> None:
    file = next_file(place)
    key = create_key_file(file)
    before = file.read_bytes()
    rotate(place)
    assert file.read_bytes() == before
    assert open_rotation(rotations(place)[0]).new_key == key.public_key


def test_no_key_takes_over_from_itself(place: Workplace) -> None:
    shutil.copy(place.key_file, next_file(place))
    assert "malformed" in place.fail("authority rotate --yes")
    assert rotations(place) == []


def test_once_apps_pin_the_new_key_the_settings_may_name_it(place: Workplace) -> None:
    place.publish()
    rotate(place)
    old = Config.load(place.directory).authority.hex()
    new = read_authority_key(next_file(place)).public_key.hex()
    settings = place.settings.read_text("utf-8").replace(old, new)
    place.settings.write_text(settings, "utf-8")
    assert place.manifest().name == "tea"
    place.publish(epsilon='"0.5"')
    rotate(place)
    opened = [open_rotation(envelope) for envelope in rotations(place)]
    assert [rotation.sequence for rotation in opened] == [1, 2]
    # Who still pins the oldest key follows both.
    assert len(follow_rotations(bytes.fromhex(old), opened)) == 3
