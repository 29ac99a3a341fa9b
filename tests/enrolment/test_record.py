"""The record's contract, R1 to R4, with the races of threads and processes."""

import multiprocessing
import os
import shutil
import sqlite3
import stat
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from deniable.enrolment import IssuanceRecord, RecordError, SqliteIssuanceRecord
from tests.enrolment.issuers import record as open_record
from tests.support.effort import effort

SECONDS = 60.0
END = 1_700_000_000
CLAIMANTS, SLOTS, PROCESSES = 8, effort(100), 3


def digest(number: int) -> bytes:
    return number.to_bytes(32)


def test_r1_the_first_holder_of_a_slot_stays(record: IssuanceRecord) -> None:
    assert record.claim(digest(1), digest(10), END) == digest(10)
    assert record.claim(digest(1), digest(11), END) == digest(10)
    assert record.claim(digest(1), digest(10), END) == digest(10)
    assert record.claim(digest(2), digest(11), END) == digest(11)


def claim_all(record: IssuanceRecord, claimant: int) -> list[bytes | None]:
    """Claim every slot for one claimant, from another one on than the others do."""
    found: dict[int, bytes | None] = {}
    for slot in (*range(claimant * 7 % SLOTS, SLOTS), *range(claimant * 7 % SLOTS)):
        found[slot] = record.claim(digest(slot), digest(1000 + claimant), END)
    return [found[slot] for slot in range(SLOTS)]


def test_r1_of_threads_that_claim_at_once_all_hear_of_one_holder(record: IssuanceRecord) -> None:
    barrier = threading.Barrier(CLAIMANTS)

    def claim(claimant: int) -> list[bytes | None]:
        barrier.wait(SECONDS)
        return claim_all(record, claimant)

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        told = list(pool.map(claim, range(CLAIMANTS), timeout=SECONDS))
    assert all(each == told[0] for each in told)
    assert None not in told[0]


def _claim_in_process(folder: Path, claimant: int) -> list[bytes | None]:
    with open_record(folder) as record:  # the first of them makes the file
        return claim_all(record, claimant)


@pytest.mark.long
def test_r1_of_processes_that_claim_at_once_all_hear_of_one_holder(tmp_path: Path) -> None:
    spawned = multiprocessing.get_context("spawn")
    together = spawned.Barrier(PROCESSES)  # they begin at once, however long each takes to start
    with ProcessPoolExecutor(PROCESSES, spawned, together.wait, (SECONDS,)) as pool:
        tasks = [pool.submit(_claim_in_process, tmp_path, n) for n in range(CLAIMANTS)]
        told = [task.result(SECONDS) for task in tasks]
    assert all(each == told[0] for each in told)
    assert None not in told[0]


def test_r1_nobody_else_writes_between_the_look_and_the_claim(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    refused: list[str] = []

    def come_between(statement: str) -> None:
        if "FROM forgotten" in statement:
            with pytest.raises(RecordError, match="locked"):
                other.claim(digest(1), digest(11), END)
            refused.append(statement)

    with SqliteIssuanceRecord(tmp_path / "issued.sqlite") as other:
        other._connection.execute("PRAGMA busy_timeout=1")
        record._connection.set_trace_callback(come_between)
        assert record.claim(digest(1), digest(10), END) == digest(10)
        assert other.claim(digest(1), digest(11), END) == digest(10)
    assert len(refused) == 1


def test_r3_what_is_forgotten_cannot_be_claimed_again(record: IssuanceRecord) -> None:
    record.claim(digest(1), digest(10), END)
    record.claim(digest(2), digest(20), END + 1)
    record.forget(END)
    assert record.claim(digest(1), digest(10), END) is None
    assert record.claim(digest(3), digest(30), END) is None
    assert record.claim(digest(2), digest(21), END + 1) == digest(20)
    assert record.claim(digest(4), digest(40), END - 1) == digest(40)  # none of those was erased
    record.forget(END)
    assert record.claim(digest(4), digest(40), END - 1) is None


def test_r2_sqlite_writes_through_to_the_disk_before_it_answers(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    asked: list[str] = []
    record._connection.set_trace_callback(asked.append)
    assert record._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert record._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    record.claim(digest(1), digest(10), END)
    assert asked[-1] == "COMMIT"


def test_r4_forgotten_bytes_are_overwritten_and_the_file_is_private(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    file = tmp_path / "issued.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    record.claim(b"\xa7" * 32, b"\xb8" * 32, END)
    record.forget(END)
    record.close()
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"\xa7" * 32 not in content
    assert b"\xb8" * 32 not in content


def test_a_file_that_was_replaced_is_not_used_any_more(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    file = tmp_path / "issued.sqlite"
    file.rename(tmp_path / "elsewhere.sqlite")
    with pytest.raises(RecordError, match="replaced"):
        record.claim(digest(1), digest(10), END)
    with SqliteIssuanceRecord(file), pytest.raises(RecordError, match="replaced"):
        record.claim(digest(1), digest(10), END)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_record_is_not_used_beyond_a_fork(record: SqliteIssuanceRecord) -> None:
    record._process -= 1  # as in a child, without forking a process that has threads
    with pytest.raises(RecordError, match="fork"):
        record.claim(digest(1), digest(10), END)


@pytest.mark.parametrize(
    ("statement", "message"),
    [("CREATE TABLE theirs (x)", "another program"), ("PRAGMA user_version=2", "newer version")],
)
def test_a_database_that_it_does_not_know_is_not_touched(
    tmp_path: Path, statement: str, message: str
) -> None:
    file = tmp_path / "issued.sqlite"
    if "newer" in message:
        SqliteIssuanceRecord(file).close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()
    before = file.read_bytes()
    with pytest.raises(RecordError, match=message):
        SqliteIssuanceRecord(file)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (before, [file])


def test_opening_makes_durable_what_a_killed_process_had_written(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    record.claim(digest(1), digest(10), END)
    left = tmp_path / "left"
    left.mkdir()
    for name in ("issued.sqlite", "issued.sqlite-wal"):  # as a kill leaves them
        shutil.copyfile(tmp_path / name, left / name)
    log = left / "issued.sqlite-wal"
    before = log.stat().st_size
    with SqliteIssuanceRecord(left / "issued.sqlite") as opened:
        assert log.stat().st_size > before  # a commit, which synchronises all that the log holds
        assert opened.claim(digest(1), digest(11), END) == digest(10)


def test_a_disk_that_fails_is_a_record_error_and_the_record_goes_on(
    tmp_path: Path, record: SqliteIssuanceRecord
) -> None:
    record._connection.execute("PRAGMA busy_timeout=1")
    with closing(sqlite3.connect(tmp_path / "issued.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecordError, match="locked"):
            record.claim(digest(1), digest(10), END)
        other.execute("ROLLBACK")
    assert record.claim(digest(1), digest(10), END) == digest(10)
    with pytest.raises(RecordError):
        SqliteIssuanceRecord(tmp_path / "no" / "folder.sqlite")
