"""A blind issuer's keys are made, published by epochs, and erased; its surveys go on."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.enrolment import EpochKeys, PublicKeys
from deniable.enrolment.epoch_keys import PUBLIC_FILE
from deniable.messages import Enrolment, InvalidManifest, Schedule
from deniable.publishing.blind_keys import BlindKeys, check_grid, check_unshared
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY, Workplace, fail, succeed
from tests.enrolment.blind_issuers import BLIND, ISSUER, MODULI, key_directory
from tests.support.rsa_keys import RSA_KEYS, RsaKey
from tests.support.surveys import DAY, START

LISTED = {
    "enrolment": '"blind"',
    "issuer": f'"{ISSUER}"',
    "issuer_keys": f'"{PUBLIC_FILE}"',
    "epochs": "4",
}


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
    message = fail("survey", "publish", file, "--dir", place.directory)
    return message.removeprefix(f"{file}: ")


def test_keys_are_made_and_the_survey_that_lists_them_is_published(
    tmp_path: Path, place: Workplace
) -> None:
    directory = tmp_path / "keys"
    printed = succeed("issuer", "keys", directory, "--epochs", "2", "--dir", place.directory)
    lines = printed.splitlines()
    assert f"  cp {directory / PUBLIC_FILE} ." in lines
    assert "successors" not in printed
    assert lines[0].startswith(f"private keys  {directory}, of epochs 0 to 1")
    assert f'issuer_keys = "{PUBLIC_FILE}"' in lines
    shutil.copy(directory / PUBLIC_FILE, place.directory)
    printed = place.publish(**LISTED | {"epochs": "2"})
    shown = succeed("survey", "show", "tea", "--dir", place.directory)
    for text in (printed, shown):
        assert ISSUER in text
        unbroken = " ".join(text.split())
        assert "one an epoch, for 0 to 1; the last ends on" in unbroken
    enrolment = place.manifest().enrolment
    assert enrolment.keys == EpochKeys(directory).public.moduli
    show = ("issuer", "show", directory, "--dir", place.directory)
    assert f"tea, sequence 0: as {ISSUER}, in epochs 0 to 1" in succeed(*show)
    inside = place.directory / "keys"
    made = fail("issuer", "keys", inside, "--epochs", "1", "--dir", place.directory)
    assert "outside" in made
    assert not inside.exists()


def test_a_successor_lists_the_same_keys_for_the_epochs_to_come_and_more_behind_them(
    place: Workplace, keys: Path
) -> None:
    list_keys(place, MODULI[:3])
    place.publish(**LISTED | {"epochs": "3"})
    assert place.manifest().enrolment.keys == MODULI[:3]
    again = refused(place, epochs="3")
    assert "nothing has changed" in again
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
    made = succeed("issuer", "keys", keys, "--epochs", "1", "--dir", place.directory)
    assert "a manifest lists at most 64; successors list the others" in made
    assert "epochs: must be at most 64" in refused(place, epochs="65")


def test_a_key_of_another_name_or_epoch_is_refused(place: Workplace, keys: Path) -> None:
    place.publish(name='"coffee"', **LISTED)
    assert "the key of epoch 0 of coffee" in refused(place)
    assert "make keys for this survey alone" in refused(place)
    list_keys(place, MODULI[1:])
    assert "has for epoch 1 the key of epoch 2 of coffee" in refused(
        place, name='"coffee"', epochs="3", question='"Another?"', issuer='"next.example.org"'
    )


def test_a_name_s_epoch_has_one_key_of_an_issuer() -> None:
    """Tokens name their key by one byte: a second key could be meant, and not be what was asked."""
    schedule = replace(BLIND.schedule, epochs=1)
    former, newer = (
        replace(BLIND, schedule=schedule, enrolment=replace(BLIND.enrolment, keys=(modulus,)))
        for modulus in MODULI[:2]
    )
    with pytest.raises(InvalidManifest, match="another key for epoch 0"):
        check_unshared(newer, [former])
    enrolment = replace(newer.enrolment, issuer="next.example.org")
    check_unshared(replace(newer, enrolment=enrolment), [former])


def test_a_factor_of_another_survey_is_refused() -> None:
    mixed = RsaKey(RSA_KEYS[0].p, RSA_KEYS[1].q).modulus
    schedule, enrolment = Schedule(START, DAY, 1, DAY), replace(BLIND.enrolment, keys=(mixed,))
    other = replace(BLIND, name="other", schedule=schedule, enrolment=enrolment)
    with pytest.raises(InvalidManifest, match="shares a factor with that of epoch 0 of blind"):
        check_unshared(other, [BLIND])
    check_unshared(BLIND, [BLIND, replace(BLIND, sequence=1, nonce=bytes(15) + b"\1")])


def test_blind_surveys_of_a_collector_have_one_grid_of_epochs() -> None:
    """Devices answer one of them an epoch, and refuse those of another grid."""
    schedule = BLIND.schedule
    for start, length, other, fits in (
        (schedule.start + 2 * DAY, DAY, "other", True),
        (schedule.end + 5, 2 * DAY, "other", True),
        (schedule.start + 1, DAY, "other", False),
        (schedule.start, 2 * DAY, "other", False),
        (schedule.start + 1, DAY, BLIND.name, False),
    ):
        beside = replace(
            BLIND, name=other, sequence=1, schedule=Schedule(start, length, len(MODULI), DAY)
        )
        opened = replace(beside, enrolment=Enrolment())
        check_grid(opened, [BLIND])
        check_grid(beside, [replace(BLIND, enrolment=Enrolment())])
        if fits:
            check_grid(beside, [BLIND])
        else:
            field = "start" if length == DAY else "epoch"
            with pytest.raises(InvalidManifest, match=f"^{field}: .* of blind, which"):
                check_grid(beside, [BLIND])


def test_a_blind_survey_begins_with_the_epoch_of_the_others() -> None:
    week = 7 * DAY
    other = replace(BLIND, schedule=Schedule(START, week, 4, DAY))
    listed = BlindKeys(ISSUER, PublicKeys(0, MODULI))
    written = replace(
        SurveyFile.parse(SURVEY), start=None, epoch_seconds=week, epochs=4, enrolment=listed
    )
    for now in (START, START + week - 1, START + 2.5 * week):
        made = next_manifest(written, [], BLIND.origin, bytes(16), now, beside=[other])
        assert made.schedule.epoch_at(now) == 0
        check_grid(made, [other])


def test_private_keys_of_epochs_that_are_over_are_erased(
    place: Workplace, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.publish(**LISTED)
    erase = ("issuer", "erase", keys, "--dir", place.directory)
    assert succeed(*erase) == "erased  0\nleft    epochs 0 to 3\n"
    today = time.time() // DAY * DAY  # epoch 0 began then; the second's grace ends after three days
    monkeypatch.setattr(time, "time", lambda: today + 3.5 * DAY)
    assert succeed(*erase) == "erased  2\nleft    epochs 2 to 3\n"
    show = succeed("issuer", "show", keys, "--dir", place.directory)
    assert "private keys  epochs 2 to 3" in show
    assert json.loads((keys / PUBLIC_FILE).read_text("utf-8"))["first"] == 0
