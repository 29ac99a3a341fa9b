"""Credentials of issuers, as the state holds them: one row for each key that was wanted.

They are certificates, or the tokens of blind enrolment.

1. One is wanted for an epoch that can be decided, and only before it is decided. A certificate is
   wanted once more for the same key if the collector refused the one that a report bears.
2. It is erased when the collector takes the epoch's reports no more, by purge, and when consent
   ends. What remains of the row is that an issuer was asked.
3. A report that waits for another certificate is not sent; a day after the epoch closed it is
   dropped, as it is when the issuer declines.
4. Whom a device has asked for a token stays so: under another manifest of the name none is wanted
   for an epoch that begins before that one ends.

Every function here is to be called within a transaction of the state.
"""

import sqlite3
from typing import NamedTuple

from deniable.client.survey import DAY
from deniable.messages import Manifest, replace_credential
from deniable.messages.ed25519 import SIGNATURE_BYTES
from deniable.privacy_pass import MODULUS_BYTES


class CredentialKey(NamedTuple):
    """The key of a credential's row: this device has one credential for a survey and epoch."""

    name: str
    survey_id: bytes
    epoch: int


def held_credential(connection: sqlite3.Connection, key: CredentialKey) -> bytes | None:
    """Return the credential, None if there is none."""
    row = connection.execute(
        "SELECT credential, blind FROM credentials WHERE (name, survey_id, epoch) = (?, ?, ?)", key
    ).fetchone()
    held, blind = (None, 0) if row is None else row
    # Whatever bits have become is no credential.
    length = MODULUS_BYTES if blind else SIGNATURE_BYTES
    return held if isinstance(held, bytes) and len(held) == length else None


def asked_elsewhere(connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> bool:
    """Tell whether an issuer was asked under another manifest, for an epoch that overlaps (rule 4).

    It is of concern where that manifest or this one is of blind enrolment.
    """
    row = connection.execute(
        "SELECT 1 FROM credentials WHERE name = ? AND survey_id != ? AND asks > 0 AND ends > ?"
        " AND (blind OR ?)",
        (
            manifest.name,
            manifest.survey_id,
            manifest.schedule.epoch_start(epoch),
            manifest.enrolment.mode == "blind",
        ),
    ).fetchone()
    return row is not None


def want_credential(
    connection: sqlite3.Connection, manifest: Manifest, epoch: int, due: float, now: float
) -> tuple[float, int]:
    """Return the time to ask, ``due`` if it was not wanted before, and the calls made so far.

    Instants are Unix seconds.
    """
    key = CredentialKey(manifest.name, manifest.survey_id, epoch)
    row = connection.execute(
        "SELECT due, asks FROM credentials WHERE (name, survey_id, epoch) = (?, ?, ?)"
        " AND typeof(due) || typeof(asks) = 'realinteger'",  # or bits rotted
        key,
    ).fetchone()
    if row is not None:
        return row[0], row[1]
    connection.execute(
        "INSERT OR REPLACE INTO credentials (name, survey_id, epoch, ends, closes, asks, due,"
        " renewal, wanted, blind) VALUES (?, ?, ?, ?, ?, 0, ?, 0, ?, ?)",
        (
            *key,
            manifest.schedule.epoch_start(epoch + 1),
            manifest.schedule.closes(epoch),
            float(due),
            int(now),
            manifest.enrolment.mode == "blind",
        ),
    )
    return float(due), 0


def renewals(connection: sqlite3.Connection, origin: str) -> list[tuple[CredentialKey, float, int]]:
    """Return the certificates that reports wait for, when to ask, and the calls made so far."""
    rows = connection.execute(
        "SELECT c.name, c.survey_id, c.epoch, c.due, c.asks FROM credentials c JOIN decisions d"
        " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
        " WHERE c.renewal = 1 AND d.status = 'pending' AND d.origin = ?"
        " AND typeof(c.due) || typeof(c.asks) = 'realinteger'",
        (origin,),
    ).fetchall()
    return [(CredentialKey(*row[:3]), row[3], row[4]) for row in rows]


def begin_asking(
    connection: sqlite3.Connection, key: CredentialKey, due: float, until: float
) -> bool:
    """Count a call that is about to be made; False if another process was faster than ``due``."""
    changed = connection.execute(
        "UPDATE credentials SET asks = asks + 1, due = ?"
        " WHERE (name, survey_id, epoch) = (?, ?, ?) AND due = ?",
        (float(until), *key, due),
    ).rowcount
    return changed == 1


def put_off(connection: sqlite3.Connection, key: CredentialKey, due: float) -> None:
    """Ask again at ``due``, in Unix seconds."""
    connection.execute(
        "UPDATE credentials SET due = ? WHERE (name, survey_id, epoch) = (?, ?, ?)",
        (float(due), *key),
    )


def keep_credential(
    connection: sqlite3.Connection,
    key: CredentialKey,
    credential: bytes,
    issuer: bytes,
    send: float,
) -> None:
    """Store a verified credential; a report that waited for it gets it, to be sent then."""
    report = connection.execute(
        "SELECT d.envelope FROM decisions d JOIN credentials c"
        " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
        " WHERE (c.name, c.survey_id, c.epoch) = (?, ?, ?)"
        " AND c.renewal = 1 AND d.status = 'pending'",
        key,
    ).fetchone()
    connection.execute(
        "UPDATE credentials SET credential = ?, issuer = ?,"
        " renewal = CASE WHEN renewal = 1 THEN 2 ELSE renewal END"
        " WHERE (name, survey_id, epoch) = (?, ?, ?)",
        (credential, issuer, *key),
    )
    if report is not None:
        connection.execute(
            "UPDATE decisions SET envelope = ?, due = max(?, held)"
            " WHERE (name, survey_id, epoch) = (?, ?, ?)",
            (replace_credential(report[0], credential), float(send), *key),
        )


def renew_credential(connection: sqlite3.Connection, name: str, epoch: int, due: float) -> None:
    """Want another certificate for a pending report's key; only once."""
    connection.execute(
        "UPDATE credentials SET credential = NULL, renewal = 1, due = :due"
        " WHERE name = :name AND epoch = :epoch AND renewal = 0 AND NOT blind AND survey_id = ("
        "SELECT survey_id FROM decisions"
        " WHERE name = :name AND epoch = :epoch AND status = 'pending')",
        {"name": name, "epoch": epoch, "due": float(due)},
    )


def withdraw_report(connection: sqlite3.Connection, key: CredentialKey, now: float) -> None:
    """Drop a report that waits for a certificate which it will not get."""
    connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = 'not-enrolled', settled = ?,"
        " envelope = NULL WHERE (name, survey_id, epoch) = (?, ?, ?) AND status = 'pending'",
        (int(now), *key),
    )
    connection.execute(
        "UPDATE credentials SET renewal = 2 WHERE (name, survey_id, epoch) = (?, ?, ?)", key
    )


def erase_ended_credentials(connection: sqlite3.Connection, now: float) -> None:
    """Erase the credentials of epochs that are closed (rules 2 and 3)."""
    connection.execute(
        "UPDATE decisions AS d SET status = 'dropped', verdict = 'not-enrolled', settled = :now,"
        " envelope = NULL WHERE d.status = 'pending' AND EXISTS (SELECT 1 FROM credentials c"
        " WHERE c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
        " AND c.renewal = 1 AND c.closes + :day <= :now)",
        {"now": int(now), "day": DAY},
    )
    connection.execute(
        "UPDATE credentials SET credential = NULL WHERE closes <= ? AND credential IS NOT NULL",
        (int(now),),
    )
