"""A blind issuer's key files: private, whole, never made twice, and erased: rules K1 to K3."""

import json
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deniable.enrolment import EpochKeys, PublicKeys, create_epoch_keys
from deniable.enrolment.epoch_keys import PUBLIC_FILE
from deniable.key_files import KeyFileError
from deniable.privacy_pass import check_moduli
from tests.enrolment.blind_issuers import MODULI, key_directory
from tests.support.rsa_keys import RSA_KEYS


def test_keys_are_made_private_and_more_go_on_behind_the_last(tmp_path: Path) -> None:
    directory = tmp_path / "keys"
    first = create_epoch_keys(directory, 2, 3)
    both = create_epoch_keys(directory, 1)
    assert (both.first, both.end, both.moduli[:2]) == (3, 6, first.moduli)
    check_moduli(both.moduli)
    assert PublicKeys.read(directory / PUBLIC_FILE) == both
    keys = EpochKeys(directory)
    assert [keys.key(modulus).modulus for modulus in both.moduli] == list(both.moduli)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()}
    private = {f"epoch-0000{epoch}.pem": 0o600 for epoch in (3, 4, 5)}
    assert modes == private | {PUBLIC_FILE: 0o644}
    with pytest.raises(KeyFileError, match="the next must begin at epoch 6"):
        create_epoch_keys(directory, 1, 7)


def test_k1_whoever_makes_them_at_once_or_after_a_crash_finds_those_that_are_there(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "keys"
    barrier = threading.Barrier(3)

    def create(_: int) -> PublicKeys:
        barrier.wait(60)
        return create_epoch_keys(directory, 1, 0)

    with ThreadPoolExecutor(3) as pool:
        (made,) = set(pool.map(create, range(3), timeout=60))
    (directory / PUBLIC_FILE).unlink()  # as a kill leaves them, before it is written
    again = create_epoch_keys(directory, 1, 0)
    assert again == made
    assert len(list(directory.iterdir())) == 2


def test_k3_what_is_erased_was_overwritten_in_place_and_is_gone(tmp_path: Path) -> None:
    directory = key_directory(tmp_path)
    keys, others = EpochKeys(directory), EpochKeys(directory)
    key = keys.key(MODULI[1])
    file = directory / "epoch-00001.pem"
    with file.open("rb") as held:  # as whoever reads the disk below the directory
        size = os.fstat(held.fileno()).st_size
        keys.erase({MODULI[1], bytes(256)})
        assert held.read() == bytes(size)
    assert not file.exists()
    assert not keys.holds(MODULI[1])
    assert keys.holds(MODULI[2])
    with pytest.raises(KeyFileError, match="No such file"):
        keys.key(MODULI[1])
    for again in (keys, others):  # an erased key is no error
        again.erase({MODULI[1]})
    assert key.modulus == MODULI[1]
    assert keys.public.moduli == MODULI  # public halves stay


def test_k2_k3_each_step_is_durable_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "keys"
    synced: list[tuple[bool, list[bool]]] = []

    def fsync(descriptor: int) -> None:
        of_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        files = (directory / "epoch-00000.pem", directory / PUBLIC_FILE)
        synced.append((of_directory, [any(it.read_bytes()) for it in files if it.exists()]))

    monkeypatch.setattr(os, "fsync", fsync)
    made = create_epoch_keys(directory, 1, 0)
    # The private half, its name, the public half, its name.
    assert synced == [(False, []), (True, [True]), (False, [True]), (True, [True, True])]
    synced.clear()
    EpochKeys(directory).erase(made.moduli)
    assert synced == [(False, [False, True]), (True, [True])]


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    directory = key_directory(tmp_path)
    keys = EpochKeys(directory)
    (directory / "epoch-00000.pem").chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        keys.key(MODULI[0])


def test_a_key_of_another_epoch_in_its_place_is_refused(tmp_path: Path) -> None:
    directory = key_directory(tmp_path)
    (directory / "epoch-00000.pem").replace(directory / "epoch-00001.pem")
    with pytest.raises(KeyFileError, match="not the key"):
        EpochKeys(directory).key(MODULI[1])
    with pytest.raises(KeyFileError, match="No such file"):
        EpochKeys(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"first": 0, "keys": []}', '{"first": 0, "keys": ["00"]}'),
        *('{"first": 0, "keys": [7]}', '{"first": true, "keys": ["%s"]}'),
        *('{"first": -1, "keys": ["%s"]}', '{"first": 0, "keys": "%s"}'),
    ],
)
def test_a_file_of_public_halves_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    listed = json.loads((key_directory(tmp_path) / PUBLIC_FILE).read_text("utf-8"))
    assert listed == {"first": 0, "keys": [key.modulus.hex() for key in RSA_KEYS]}
    file = tmp_path / PUBLIC_FILE
    file.write_text(content.replace("%s", MODULI[0].hex()), "utf-8")
    with pytest.raises(KeyFileError):
        PublicKeys.read(file)
