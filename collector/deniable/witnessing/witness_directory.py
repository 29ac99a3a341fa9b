"""A witness's directory: its private key, the logs that it watches, and what it cosigned last.

Judging, cosigning and remembering are one transaction, and it is durable before the cosignature
leaves it (W1 of ``judgement.py``): whenever the process is killed, and however many there are of
one directory, the newest checkpoint is the largest that was ever given away.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from deniable import sqlite_files
from deniable.enrolment import KeyFileError, create_key_file, read_key_file
from deniable.transparency_log import (
    COSIGNER,
    LOG,
    SignedCheckpoint,
    TransparencyLogError,
    VerifierKey,
)
from deniable.transparency_log.verifier_key import check_key_name
from deniable.witnessing.errors import WitnessDirectoryError
from deniable.witnessing.judgement import Cosigner, judge
from deniable.witnessing.submission import Submission

KEY_FILE: Final = "witness.pem"
STATE_FILE: Final = "witness.db"
_APPLICATION_ID: Final = 0x64777473  # "dwts"
_BUSY_SECONDS: Final = 10.0
_MIGRATIONS: Final = (sqlite_files.migration_script("deniable.witnessing", "0001_initial.sql"),)


@dataclass(frozen=True, slots=True)
class WatchedLog:
    """A log's key, and the checkpoint that was cosigned last under its name, if any was."""

    key: VerifierKey
    newest: SignedCheckpoint | None


class WitnessDirectory:
    """A directory that ``create`` made, opened.

    Raises:
        WitnessDirectoryError: if it is none, or cannot be used.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / STATE_FILE
        self._lock = threading.Lock()
        if not self._path.exists():
            # Made anew it would have forgotten all that it cosigned.
            raise WitnessDirectoryError(
                f"{self._path} is not there; `deniable witness new` makes a new witness, with a key"
                " of its own"
            )
        with self._failing():
            signing_key = read_key_file(directory / KEY_FILE)
            self._connection = _connect(self._path)
            self._place = sqlite_files.file_identity(self._path)
        with self._closing_on_failure(), self._failing():
            # What can be read must not be lost after it was answered.
            sqlite_files.make_durable(self._connection)
            row = self._connection.execute("SELECT vkey FROM witness").fetchone()
            self.key: Final = VerifierKey.parse(row[0] if row else "")
            self._cosigner = Cosigner(self.key.name, signing_key)
            if self._cosigner.key != self.key:
                raise WitnessDirectoryError(f"{directory / KEY_FILE} is not the key of {self.key}")

    @classmethod
    def create(cls, directory: Path, name: str) -> Self:
        """Make a witness in a directory that has none, with a new key, and open it.

        Raises:
            WitnessDirectoryError: if there is one, or the name is no key's.
        """
        with cls._failing():
            check_key_name(name)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            public_key = create_key_file(directory / KEY_FILE).public_key
            sqlite_files.create_private(directory / STATE_FILE)
            connection = _connect(directory / STATE_FILE)
            try:
                sqlite_files.migrate(connection, _MIGRATIONS, _APPLICATION_ID)
                with sqlite_files.writing(connection):
                    key = VerifierKey(name, COSIGNER, public_key)
                    connection.execute("INSERT INTO witness VALUES (?)", (str(key),))
            finally:
                connection.close()
        return cls(directory)

    def watch(self, key: VerifierKey) -> None:
        """Cosign from now on what a log of this key signs under the key's name.

        Raises:
            WitnessDirectoryError: if it is no log's key, or the directory cannot be used.
        """
        if key.algorithm != LOG:
            raise WitnessDirectoryError(f"the key of {key.name} is a witness's; name a log's")
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO logs VALUES (?, ?) ON CONFLICT DO NOTHING", (str(key), key.name)
            )

    def logs(self) -> list[WatchedLog]:
        """Return the logs that are watched."""
        query = "SELECT vkey, checkpoint FROM logs LEFT JOIN newest USING (origin) ORDER BY 1"
        with self._using() as connection:
            return [
                WatchedLog(VerifierKey.parse(vkey), text and SignedCheckpoint.parse(text))
                for vkey, text in connection.execute(query)
            ]

    def newest(self, origin_hash: str) -> SignedCheckpoint | None:
        """Return the checkpoint that was cosigned last, by the SHA-256 of its origin in hex."""
        query = "SELECT checkpoint FROM newest WHERE hash = ?"
        with self._using() as connection:
            row = connection.execute(query, (origin_hash,)).fetchone()
        return SignedCheckpoint.parse(row[0]) if row else None

    def cosign(self, submission: Submission, now: int) -> str:
        """Judge a submission, remember what it submits as the newest, return the cosignature.

        Raises:
            NotCosigned: for the rule that it breaks.
            WitnessDirectoryError: if the directory cannot be used.
        """
        origin = submission.signed.checkpoint.origin
        origin_hash = sha256(origin.encode()).hexdigest()
        with self._writing() as connection:
            rows = connection.execute("SELECT vkey FROM logs WHERE origin = ?", (origin,))
            log_keys = [VerifierKey.parse(vkey) for (vkey,) in rows]
            query = "SELECT checkpoint FROM newest WHERE origin = ?"
            row = connection.execute(query, (origin,)).fetchone()
            newest = SignedCheckpoint.parse(row[0]) if row else None
            cosigned = judge(submission, log_keys, newest, self._cosigner, now)
            connection.execute(
                "INSERT OR REPLACE INTO newest VALUES (?, ?, ?)",
                (origin, origin_hash, cosigned.text),
            )
        return cosigned.signatures[-1].line

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection, sqlite_files.writing(connection, _BUSY_SECONDS):
            yield connection

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._failing():
            if self._place != sqlite_files.file_identity(self._path):
                # Whoever opens the file that stands there now has not seen what this one has.
                raise WitnessDirectoryError(f"{self._path} was replaced while open; restart")
            yield self._connection

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._connection.close()
            raise

    @staticmethod
    @contextmanager
    def _failing() -> Iterator[None]:
        try:
            yield
        except (KeyFileError, TransparencyLogError) as error:
            raise WitnessDirectoryError(str(error)) from error
        except (OSError, sqlite3.Error, sqlite_files.UnknownFile) as error:
            raise WitnessDirectoryError(f"the witness's state cannot be used: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    def recognise(connection: sqlite3.Connection) -> int:
        return sqlite_files.schema_version(connection, len(_MIGRATIONS), _APPLICATION_ID)

    return sqlite_files.connect(path, _BUSY_SECONDS, recognise)
