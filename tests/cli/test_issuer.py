"""Issuers' keys, by the survey or by the epoch: made, listed in surveys, replaced, and erased."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.enrolment import EpochKeys, PublicKeys
from deniable.enrolment.epoch_keys import PUBLIC_FILE
from deniable.key_files import read_key_file
from deniable.messages import Enrolment, InvalidManifest, Schedule
from deniable.publishing.blind_keys import BlindKeys, ListedKeys, check_grid
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY, Workplace, fail, succeed
from tests.enrolment.blind_issuers import BLIND, ISSUER, MODULI, key_directory
from tests.support.surveys import DAY, START

OLD, NEW = "issuer.pem", "issuer-2.pem"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Return two issuers' key files."""
    for name in (OLD, NEW):
        succeed("issuer new", tmp_path / name)
    return tmp_path / OLD, tmp_path / NEW


def public(file: Path) -> str:
    return read_key_file(file).public_key.hex()


def certified(*files: Path) -> dict[str, str]:
    issuers = ", ".join(f'"{public(file)}"' for file in files)
    return {"enrolment": '"certificate"', "issuers": f"[{issuers}]"}


def test_a_key_is_made_private_and_its_public_half_is_told(
    tmp_path: Path, place: Workplace
) -> None:
    file, inside = tmp_path / OLD, place.directory / OLD
    printed = succeed("issuer new", file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"public key    {public(file)}\n" in printed
    assert f'issuers = ["{public(file)}"]' in printed
    assert "never overwritten" in fail("issuer new", file)
    file.chmod(0o640)
    assert "chmod 600" in fail("issuer show", file)
    file.chmod(0o600)
    file.write_text("no key")
    assert "not an unencrypted PEM" in fail("issuer show", file)
    assert "No such file" in fail("issuer show", tmp_path / "missing.pem")
    assert "outside" in place.fail("issuer new", inside)
    assert not inside.exists()


def test_publishing_and_showing_name_the_issuers(place: Workplace, pair: tuple[Path, Path]) -> None:
    current, following = map(public, pair)
    printed = place.dry_run(**certified(*pair)) + place.publish(**certified(*pair))
    shown = place.succeed("survey show tea")
    notice = place.succeed("survey notice tea").replace(" | ", ": ")
    for text in (printed, shown):
        assert f"vouches:\n          {current},\n          then {following}" in text
    assert "hich account a response came from: the issuer and" in " ".join(notice.split())
    assert "Client(enrol=...)" in printed
    assert [key.hex() for key in place.manifest().enrolment.issuers] == [current, following]


def test_another_list_of_issuers_is_another_survey(
    place: Workplace, pair: tuple[Path, Path]
) -> None:
    key = f"public key  {public(pair[1])}"
    assert succeed("issuer show", pair[1]).splitlines() == [key]
    place.publish()
    assert "open: nobody vouches" in place.succeed("survey show tea")
    for sequence, files in enumerate([pair[:1], pair, pair[1:]], start=1):
        place.publish(**certified(*files))
        assert place.manifest().sequence == sequence
        again = place.written(**certified(*files))
        assert "nothing has changed" in place.fail("survey publish", again)


LISTED = {"enrolment": '"blind"', "issuer": f'"{ISSUER}"', "issuer_keys": f'"{PUBLIC_FILE}"'}
LISTED |= {"epochs": "4"}


@pytest.fixture
def keys(tmp_path: Path, place: Workplace) -> Path:
    """Return a directory of four keys, whose public halves are beside the survey's file."""
    directory = key_directory(tmp_path)
    shutil.copy(directory / PUBLIC_FILE, place.directory)
    return directory


def list_keys(place: Workplace, moduli: tuple[bytes, ...], first: int = 0) -> None:
    (place.directory / PUBLIC_FILE).write_text(PublicKeys(first, moduli).text(), "utf-8")


def refused(place: Workplace, **changes: str) -> str:
    file = place.written(**LISTED | changes)
    return place.fail("survey publish", file).removeprefix(f"{file}: ")


def test_keys_are_made_and_the_survey_that_lists_them_is_published(
    tmp_path: Path, place: Workplace
) -> None:
    directory, inside = tmp_path / "keys", place.directory / "keys"
    printed = place.succeed("issuer keys --epochs 2", directory)
    lines = printed.splitlines()
    assert f"  cp {directory / PUBLIC_FILE} ." in lines
    assert "successors" not in printed
    assert lines[0].startswith(f"private keys  {directory}, for epochs 0 to 1")
    assert f'issuer_keys = "{PUBLIC_FILE}"' in lines
    shutil.copy(directory / PUBLIC_FILE, place.directory)
    told = place.dry_run(**LISTED | {"epochs": "2"})
    place.publish(**LISTED | {"epochs": "2"})
    for text in (told, place.succeed("survey show tea")):
        assert ISSUER in text
        assert "one per epoch, for epochs 0 to 1; the last key ends on" in " ".join(text.split())
    assert place.manifest().enrolment.keys == EpochKeys(directory).public.moduli
    assert "outside" in place.fail("issuer keys --epochs 1", inside)
    assert not inside.exists()


def test_a_successor_lists_the_same_keys_for_the_epochs_to_come_and_more_behind_them(
    place: Workplace, keys: Path
) -> None:
    list_keys(place, MODULI[:3])
    place.publish(**LISTED | {"epochs": "3"})
    assert place.manifest().enrolment.keys == MODULI[:3]
    assert "nothing has changed" in refused(place, epochs="3")
    assert "--epochs 1" in refused(place)
    list_keys(place, MODULI)
    assert "nothing has changed" in refused(place, epochs="3")
    place.publish(**LISTED)
    made = place.manifest()
    # It begins when the first epoch ends, with the number behind it.
    assert (made.sequence, made.enrolment.first, made.enrolment.keys) == (1, 1, MODULI[1:])
    assert "nothing has changed" in refused(place)
    # From another issuer, or with other keys, it is another survey.
    place.publish(**LISTED | {"issuer": '"other.example.org"'})
    assert place.manifest().sequence == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"issuer": ""}, "issuer"),
        ({"issuer": '"https://issuer.example.org"'}, "issuer"),
        ({"issuer_keys": ""}, "issuer_keys"),
        ({"issuer_keys": '"missing.json"'}, "issuer_keys"),
        ({"issuer_keys": '"survey.toml"'}, "issuer_keys"),
        ({"issuers": "[]"}, "issuers"),
        ({"enrolment": '"open"'}, "issuer"),
        ({"epochs": "5"}, "issuer_keys"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    place: Workplace, keys: Path, changes: dict[str, str], field: str
) -> None:
    assert refused(place, **changes).startswith(f"{field}: ")


def test_more_keys_than_a_manifest_lists_are_refused_with_what_to_do(
    place: Workplace, keys: Path
) -> None:
    listed = tuple(n.to_bytes(256) for n in range(65))
    list_keys(place, listed)
    (keys / PUBLIC_FILE).write_text(PublicKeys(0, listed).text(), "utf-8")
    made = place.succeed("issuer keys --epochs 1", keys)
    assert "a manifest lists at most 64 keys; successors list the others" in made
    assert "epochs: must be at most 64" in refused(place, epochs="65")


def test_a_name_s_epoch_has_one_key_of_an_issuer() -> None:
    """Tokens name their key by one byte: a second key could be meant, and not be what was asked."""
    one = Schedule(START, DAY, 1, DAY)
    former, newer = (
        replace(BLIND, schedule=one, enrolment=replace(BLIND.enrolment, keys=(modulus,)))
        for modulus in MODULI[:2]
    )
    with pytest.raises(InvalidManifest, match="a different key for epoch 0"):
        ListedKeys([former]).check(newer)
    enrolment = replace(newer.enrolment, issuer="next.example.org")
    ListedKeys([former]).check(replace(newer, enrolment=enrolment))
    ListedKeys([BLIND, replace(BLIND, sequence=1, nonce=bytes(15) + b"\1")]).check(BLIND)


@pytest.mark.parametrize(
    ("start", "length", "name", "field"),
    [
        (BLIND.schedule.start + 2 * DAY, DAY, "other", ""),
        (BLIND.schedule.end + 5, 2 * DAY, "other", ""),
        (BLIND.schedule.start + 1, DAY, "other", "start"),
        (BLIND.schedule.start, 2 * DAY, "other", "epoch"),
        (BLIND.schedule.start + 1, DAY, BLIND.name, "start"),
    ],
)
def test_blind_surveys_of_a_collector_have_one_grid_of_epochs(
    start: int, length: int, name: str, field: str
) -> None:
    """Devices answer one of them an epoch, and refuse those of another grid."""
    schedule = Schedule(start, length, len(MODULI), DAY)
    beside = replace(BLIND, name=name, sequence=1, schedule=schedule)
    check_grid(replace(beside, enrolment=Enrolment()), [BLIND])
    check_grid(beside, [replace(BLIND, enrolment=Enrolment())])
    if not field:
        check_grid(beside, [BLIND])
        return
    with pytest.raises(InvalidManifest, match=f"^{field}: .* of blind, because"):
        check_grid(beside, [BLIND])


def test_a_blind_survey_begins_with_the_epoch_of_the_others() -> None:
    week = 7 * DAY
    other = replace(BLIND, schedule=Schedule(START, week, 4, DAY))
    keys = BlindKeys(ISSUER, PublicKeys(0, MODULI))
    written = replace(SurveyFile.parse(SURVEY), epoch_seconds=week, epochs=4, enrolment=keys)
    for now in (START, START + week - 1, START + 2.5 * week):
        made = next_manifest(written, [], BLIND.origin, bytes(16), now, beside=[other])
        assert made.schedule.epoch_at(now) == 0
        check_grid(made, [other])
