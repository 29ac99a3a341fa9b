"""The store's work in SQLite, synchronously: one object is used by one thread.

The rules S1 to S5 stand in ``store.py``. SQLite's write-ahead log with synchronous=FULL makes a
commit durable before it returns (S1).
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from deniable.messages import MAX_ROTATIONS, Manifest, Rotation
from deniable.messages.receipt import Receipt
from deniable.stores.store import (
    Role,
    RotationConflict,
    StoreError,
    StoreFull,
    SurveyConflict,
    UnknownSchema,
    Verdict,
)

__all__ = ["SqliteDatabase"]

_MIGRATIONS = ("0001_initial.sql",)
_BUSY_SECONDS = 10.0
_RETRY_SECONDS = 0.01


class SqliteDatabase:
    """A collector's store in one SQLite file, created and migrated when opened.

    Args:
        path: the file.

    Raises:
        UnknownSchema: if a newer version of deniable wrote it.
        StoreError: if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be opened: {error}") from error
        self._surveys: dict[bytes, tuple[int, int]] = {}
        try:
            self._use_wal()
            self._path, self._place = path, _identity(path)
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA foreign_keys=ON")
            self._migrate()
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{path} cannot be opened: {error}") from error
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, receipts: Sequence[Receipt]) -> list[Verdict]:
        """Store receipts in one transaction; one verdict each, in their order."""
        verdicts: list[Verdict] = []
        counted: Counter[tuple[int, int, int]] = Counter()
        sealed: dict[tuple[int, int], bool] = {}
        with self._transaction() as connection:
            for receipt in receipts:
                survey, _ = self._survey(receipt.survey_id)
                slot = (survey, receipt.epoch)
                if slot not in sealed:
                    sealed[slot] = self._is_sealed(*slot)
                if sealed[slot]:
                    verdicts.append(Verdict.SEALED)
                    continue
                stored = connection.execute(
                    "INSERT INTO receipts VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (*slot, receipt.key, receipt.response),
                ).rowcount
                if stored:
                    counted[*slot, receipt.response] += 1
                    verdicts.append(Verdict.ACCEPTED)
                    continue
                (first,) = connection.execute(
                    "SELECT response FROM receipts"
                    " WHERE survey = ? AND epoch = ? AND public_key = ?",
                    (*slot, receipt.key),
                ).fetchone()
                same = first == receipt.response
                verdicts.append(Verdict.DUPLICATE if same else Verdict.CONFLICT)
            connection.executemany(
                "INSERT INTO counts VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
                [(*key, reports) for key, reports in counted.items()],
            )
            arrived: Counter[tuple[int, int]] = Counter()
            for (survey, epoch, _), new in counted.items():
                arrived[survey, epoch] += new
            for slot, new in arrived.items():
                self._advance(*slot, new)
        return verdicts

    def publish(self, manifest: Manifest, envelope: bytes) -> None:
        """Add a survey; publishing the same one again changes nothing."""
        with self._transaction() as connection:
            newest = connection.execute(
                "SELECT survey_id, sequence FROM surveys WHERE name = ?"
                " ORDER BY sequence DESC LIMIT 1",
                (manifest.name,),
            ).fetchone()
            if newest is not None and newest[0] == manifest.survey_id:
                return
            if newest is not None and newest[1] >= manifest.sequence:
                raise SurveyConflict(
                    f"{manifest.name} has sequence {newest[1]}; a successor needs a higher one"
                )
            connection.execute(
                "INSERT INTO surveys (survey_id, name, sequence, minimum, envelope)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    manifest.survey_id,
                    manifest.name,
                    manifest.sequence,
                    manifest.minimum_reports,
                    envelope,
                ),
            )

    def surveys(self) -> list[bytes]:
        """Return the envelopes of all surveys, by name and descending sequence."""
        with self._reading() as connection:
            rows = connection.execute("SELECT envelope FROM surveys ORDER BY name, sequence DESC")
            return [envelope for (envelope,) in rows]

    def rotate(
        self, rotation: Rotation, envelope: bytes, sign_anew: Callable[[bytes], bytes]
    ) -> int:
        """Publish a hand-over of the authority's key, and every survey under the new one."""
        with self._transaction() as connection:
            (rotations,) = connection.execute("SELECT count(*) FROM rotations").fetchone()
            if rotations >= MAX_ROTATIONS:
                raise RotationConflict(
                    f"the authority was rotated {rotations} times; give the apps a new one"
                )
            added = connection.execute(
                "INSERT INTO rotations (old_key, new_key, sequence, envelope)"
                " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (rotation.old_key, rotation.new_key, rotation.sequence, envelope),
            ).rowcount
            if not added:
                raise RotationConflict("one of these keys was rotated before; each is only once")
            rows = connection.execute("SELECT survey, envelope FROM surveys").fetchall()
            anew = [(sign_anew(signed), survey, signed) for survey, signed in rows]
            changed = [(after, survey) for after, survey, before in anew if after != before]
            connection.executemany("UPDATE surveys SET envelope = ? WHERE survey = ?", changed)
        return len(changed)

    def rotations(self) -> list[bytes]:
        """Return the envelopes of all rotations, oldest first."""
        with self._reading() as connection:
            rows = connection.execute("SELECT envelope FROM rotations ORDER BY rotation")
            return [envelope for (envelope,) in rows]

    def counts(self, survey_id: bytes, epoch: int, responses: int) -> list[int]:
        """Return how often each response was counted, as figures may show it."""
        counts = [0] * responses
        with self._reading() as connection:
            survey, minimum = self._survey(survey_id)
            rows = connection.execute(
                f"SELECT response, reports FROM {_shown(minimum)}"  # noqa: S608
                " WHERE survey = ? AND epoch = ?",
                (survey, epoch),
            )
            for response, reports in rows:
                counts[response] = reports
        return counts

    def newest_epoch(self, survey_id: bytes) -> int | None:
        """Return the newest epoch that has a figure to show."""
        with self._reading() as connection:
            survey, _ = self._survey(survey_id)
            (epoch,) = connection.execute(
                "SELECT max(epoch) FROM epochs WHERE survey = ? AND shown > 0", (survey,)
            ).fetchone()
            return None if epoch is None else int(epoch)

    def seal(self, survey_id: bytes, epoch: int) -> None:
        """Seal an epoch for good."""
        with self._transaction() as connection:
            survey, _ = self._survey(survey_id)
            connection.execute("INSERT OR IGNORE INTO seals VALUES (?, ?)", (survey, epoch))

    def add_token(self, digest: bytes, role: Role, label: str) -> None:
        """Keep the digest of a token."""
        with self._transaction() as connection:
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?)", (digest, role.value, label))

    def token_role(self, digest: bytes) -> Role | None:
        """Return the role of the token with this digest."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT role FROM tokens WHERE digest = ?", (digest,)
            ).fetchone()
            return None if row is None else Role(row[0])

    def ping(self) -> None:
        """Return if the store can be read."""
        with self._reading() as connection:
            self._check_place()
            connection.execute("SELECT 1 FROM surveys LIMIT 1").fetchone()

    def _advance(self, survey: int, epoch: int, new: int) -> None:
        """Count an epoch's reports; show them once `minimum` more have come than are shown."""
        (minimum,) = self._connection.execute(
            "SELECT minimum FROM surveys WHERE survey = ?", (survey,)
        ).fetchone()
        reports, shown = self._connection.execute(
            "INSERT INTO epochs VALUES (?, ?, ?, 0)"
            " ON CONFLICT DO UPDATE SET reports = reports + excluded.reports"
            " RETURNING reports, shown",
            (survey, epoch, new),
        ).fetchone()
        if reports - shown < minimum:
            return
        slot = {"survey": survey, "epoch": epoch}
        if minimum > 1:
            self._connection.execute(
                "INSERT OR REPLACE INTO published_counts"
                " SELECT * FROM counts WHERE survey = :survey AND epoch = :epoch",
                slot,
            )
        self._connection.execute(
            "UPDATE epochs SET shown = reports WHERE survey = :survey AND epoch = :epoch", slot
        )

    def _survey(self, survey_id: bytes) -> tuple[int, int]:
        """Return the survey's number in this store and its minimum_reports."""
        known = self._surveys.get(survey_id)
        if known is None:
            known = self._connection.execute(
                "SELECT survey, minimum FROM surveys WHERE survey_id = ?", (survey_id,)
            ).fetchone()
            if known is None:
                raise StoreError("the survey is not in this store")
            self._surveys[survey_id] = known
        return known

    def _is_sealed(self, survey: int, epoch: int) -> bool:
        row = self._connection.execute(
            "SELECT 1 FROM seals WHERE survey = ? AND epoch = ?", (survey, epoch)
        ).fetchone()
        return row is not None

    def _use_wal(self) -> None:
        # Processes that open a new file at once refuse each other here without waiting: the busy
        # timeout does not hold for the switch to write-ahead logging.
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _migrate(self) -> None:
        with self._reading() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(_MIGRATIONS):
            raise UnknownSchema("the store was written by a newer version of deniable; upgrade")
        for number, name in enumerate(_MIGRATIONS[version:], start=version + 1):
            script = files("deniable.stores.sqlite").joinpath("migrations", name).read_text("utf-8")
            with self._reading() as connection:
                try:
                    connection.executescript(
                        f"BEGIN IMMEDIATE; {script}; PRAGMA user_version={number}; COMMIT"
                    )
                except sqlite3.OperationalError:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    (now,) = connection.execute("PRAGMA user_version").fetchone()
                    if now < number:  # else another process was faster
                        raise

    def _check_place(self) -> None:
        """Check that the open file is the one at its path: into a deleted one nothing is durable.

        Raises:
            StoreError: if it was deleted or replaced.
        """
        if self._place != _identity(self._path):
            raise StoreError(f"{self._path} was deleted or replaced while it was open; restart")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            self._check_place()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._connection
        except sqlite3.Error as error:
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            kind = StoreFull if full else StoreError
            raise kind(f"the store failed: {error}") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _shown(minimum: int) -> str:
    return "counts" if minimum <= 1 else "published_counts"
