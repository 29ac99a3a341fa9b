"""Key files: private, whole, and never made twice."""

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deniable.enrolment import read_record_key
from deniable.key_files import KeyFileError, create_key_file, read_key_file


def test_a_signing_key_is_read_as_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "issuer.pem"
    assert create_key_file(file).public_key == read_key_file(file).public_key
    with pytest.raises(KeyFileError, match="never overwritten"):
        create_key_file(file)
    for make in (create_key_file, read_record_key):
        with pytest.raises(KeyFileError, match="cannot be written"):
            make(tmp_path / "no" / "key")


def test_a_record_key_is_made_once_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "record.key"
    key = read_record_key(file)
    assert len(key) == 32
    assert read_record_key(file) == key
    assert read_record_key(tmp_path / "other.key") != key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.key", "record.key"]


def test_of_many_that_make_it_at_once_all_read_one_record_key(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def read(_: int) -> bytes:
        barrier.wait(60)
        return read_record_key(tmp_path / "record.key")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(read, range(8), timeout=60))) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["record.key"]


@pytest.mark.parametrize("content", ["", "00", "0" * 63, "x" * 64, "0" * 66, "é" * 32])
def test_a_record_key_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "record.key"
    file.write_text(content, "utf-8")
    file.chmod(0o600)
    with pytest.raises(KeyFileError, match="32 bytes in hex"):
        read_record_key(file)


@pytest.mark.parametrize("read", [read_key_file, read_record_key])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, read: object) -> None:
    file = tmp_path / "key"
    file.write_text("0" * 64, "utf-8")
    file.chmod(0o640)
    assert callable(read)
    with pytest.raises(KeyFileError, match="chmod 600"):
        read(file)
