"""A file of version 1 becomes one of this version, with all that was in it."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from deniable.messages import sign_manifest
from deniable.stores import Counts, Role, SqliteStore, StoreError, Token, counts_digest
from deniable.stores.sqlite.database import VERSION, SqliteDatabase
from tests.stores.places import ISSUER, NOW, A, C, D, S, SqlitePlace, counts
from tests.support.reports import report
from tests.support.surveys import AUTHORITY, MANIFEST, manifest

COURTEOUS = manifest(name="courteous", minimum_reports=3)
DIGEST = sha256(b"token").digest()
FIRST = files("deniable.stores.sqlite").joinpath("migrations", "0001_initial.sql")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = SqlitePlace(tmp_path).file
    write_version_1(path)
    return path


def write_version_1(path: Path) -> None:
    """Write a file as version 1 left it: receipts with whole keys and with short ones, seals."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(FIRST.read_text("utf-8"))
        for number, survey in enumerate((MANIFEST, COURTEOUS), start=1):
            connection.execute(
                "INSERT INTO surveys VALUES (?, ?, ?, ?, ?, ?)",
                (
                    number,
                    survey.survey_id,
                    survey.name,
                    survey.sequence,
                    survey.minimum_reports,
                    sign_manifest(survey, AUTHORITY),
                ),
            )
        connection.executemany(
            "INSERT INTO receipts VALUES (?, ?, ?, ?)",
            [
                *((1, 0, report(n).key + bytes(16), n % 2) for n in range(10)),
                (1, 1, report(1, epoch=1).key, 3),
                *((2, 0, report(n, survey=COURTEOUS).key, 1) for n in range(5)),
            ],
        )
        connection.executemany(
            "INSERT INTO counts VALUES (?, ?, ?, ?)",
            [(1, 0, 0, 5), (1, 0, 1, 5), (1, 1, 3, 1), (2, 0, 1, 5)],
        )
        connection.executemany(
            "INSERT INTO epochs VALUES (?, ?, ?, ?)", [(1, 0, 10, 10), (1, 1, 1, 1), (2, 0, 5, 3)]
        )
        connection.execute("INSERT INTO published_counts VALUES (2, 0, 1, 3)")
        connection.executemany("INSERT INTO seals VALUES (?, ?)", [(1, 0), (1, 7)])
        connection.execute("INSERT INTO tokens VALUES (?, 'analyst', 'whose')", (DIGEST,))
        connection.execute("PRAGMA user_version=1")
        connection.commit()


async def test_everything_is_still_there(file: Path) -> None:
    store = await SqliteStore.open(file)
    try:
        assert await store.check() == []
        assert await counts(store) == [5, 5, 0, 0, 0]
        assert await store.counts(COURTEOUS.survey_id, 0) == {None: {1: 3}}
        assert await store.tokens() == [Token(DIGEST, Role.ANALYST, "whose", 0)]
        assert len(await store.surveys()) == 2
        # Receipts still tell a repeat from a new report.
        batch = [report(1, 3, epoch=1), report(1, 0, epoch=1), report(2, epoch=1, issuer=ISSUER)]
        assert await store.add(batch) == [D, C, A]
        assert await store.add([report(5, 1, survey=COURTEOUS)]) == [A]
        assert await store.counts(COURTEOUS.survey_id, 0) == {None: {1: 6}}
        assert await store.check() == []
    finally:
        await store.close()


async def test_s4_seals_hold_and_have_a_digest_and_a_time(file: Path) -> None:
    store = await SqliteStore.open(file)
    try:
        assert await store.add([report(0), report(90), report(90, epoch=7)]) == [S, S, S]
        first, second = await store.seals(MANIFEST.survey_id)
        counted: Counts = {None: {0: 5, 1: 5}}
        assert (first.epoch, first.reports) == (0, 10)
        assert first.digest == counts_digest(MANIFEST.survey_id, 0, counted)
        assert (second.epoch, second.reports) == (7, 0)
        assert second.digest == counts_digest(MANIFEST.survey_id, 7, {})
        # Version 1 kept no time: the day that receipts are kept begins with the migration.
        assert min(first.sealed_at, second.sealed_at) > NOW
        assert first.pruned_at is None
    finally:
        await store.close()


async def test_a_migrated_file_has_the_schema_of_a_new_one(file: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.sqlite"
    for path in (file, new):
        await (await SqliteStore.open(path)).close()

    def schema(path: Path) -> tuple[int, set[tuple[str, ...]]]:
        with closing(sqlite3.connect(path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return version, set(connection.execute("SELECT type, name, sql FROM sqlite_master"))

    assert schema(file) == schema(new)
    assert schema(file)[0] == VERSION


def test_a_migration_that_fails_leaves_the_file_as_it_was(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE tokens")  # the last that is migrated
        before = connection.execute("SELECT * FROM sqlite_master").fetchall()
    with pytest.raises(StoreError):
        SqliteDatabase(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT * FROM sqlite_master").fetchall() == before
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM receipts").fetchone() == (16,)
