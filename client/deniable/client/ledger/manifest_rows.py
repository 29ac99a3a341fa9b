"""The manifests that a device knows of, as the state holds them: in four roles.

1. Sequences belong to an authority, whatever key of its chain signed; its first key names it.
2. ``accepted`` may be followed; ``replaced`` was, and stays for as long as the journal shows its
   reports; of the ``refused`` of a name the newest is kept, to say why.
3. A second manifest of the same sequence is ``equivocating``, kept as proof against its signer, up
   to a few.
"""

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import astuple

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import NameRecord, SignedManifest
from deniable.client.ledger.reservations import Reservation
from deniable.messages import Manifest

__all__ = [
    "accepted_envelopes",
    "followed_envelope",
    "last_refusal",
    "name_record",
    "remember_refused",
    "store_accepted",
    "take_the_place",
]

_MOST_BYTES = 64 * 1024
"""Of a manifest that is not followed; of a larger one only the id is kept, a digest of it."""
_MOST_PROOFS = 4
"""Equivocating manifests kept per name: two prove the point, an attacker must not fill the disk."""


def name_record(
    connection: sqlite3.Connection, authority: bytes, name: str, now: float
) -> NameRecord:
    """Return what is known of a name but what is reserved, inside a transaction."""
    # After an app update to another authority its manifests start afresh. What was reserved and
    # decided does not.
    rows = connection.execute(
        "SELECT sequence, survey_id, role, starts FROM manifests"
        " WHERE authority = ? AND name = ? AND role != 'equivocating' ORDER BY sequence",
        (authority, name),
    ).fetchall()
    followed = [
        (sequence, survey_id)
        for sequence, survey_id, role, starts in rows
        if role == "replaced" or (role == "accepted" and starts <= now)
    ]
    (decided,) = connection.execute(
        "SELECT coalesce(max(epoch), -1) FROM decisions WHERE name = ?", (name,)
    ).fetchone()
    return NameRecord(
        highest=followed[-1] if followed else None,
        accepted=frozenset(survey_id for _, survey_id, role, _ in rows if role != "refused"),
        seen={sequence: survey_id for sequence, survey_id, _, _ in rows},
        decided=decided,
    )


def accepted_envelopes(
    connection: sqlite3.Connection, authority: bytes, name: str
) -> list[tuple[bytes, bytes]]:
    """Return ids and signed bytes of a name's accepted manifests, newest first."""
    return connection.execute(
        "SELECT survey_id, envelope FROM manifests"
        " WHERE authority = ? AND name = ? AND role = 'accepted'"
        " AND typeof(envelope) = 'blob' ORDER BY sequence DESC",
        (authority, name),
    ).fetchall()


def followed_envelope(
    connection: sqlite3.Connection, survey_id: bytes
) -> list[tuple[bytes, bytes]]:
    """Return id and signed bytes of a manifest that is or was followed, if there is one."""
    return connection.execute(
        "SELECT survey_id, envelope FROM manifests"
        " WHERE survey_id = ? AND role IN ('accepted', 'replaced')"
        " AND typeof(envelope) = 'blob'",
        (survey_id,),
    ).fetchall()


def store_accepted(
    connection: sqlite3.Connection, authority: bytes, signed: SignedManifest, now: float
) -> None:
    """Store a manifest that is followed from now on, inside a transaction."""
    _store(connection, authority, signed, "accepted", "", now)
    connection.execute(
        "DELETE FROM manifests WHERE authority = :authority AND name = :name AND role = 'refused'"
        " AND sequence < :sequence AND sequence NOT IN (SELECT sequence FROM manifests"
        " WHERE authority = :authority AND name = :name AND role = 'equivocating')",
        {
            "authority": authority,
            "name": signed.manifest.name,
            "sequence": signed.manifest.sequence,
        },
    )


def take_the_place(
    connection: sqlite3.Connection,
    authority: bytes,
    name: str,
    chosen: Collection[Manifest],
    now: float,
) -> None:
    """Let the chosen manifests take the place of all others of their name, in a transaction."""
    for survey_id, _ in accepted_envelopes(connection, authority, name):
        if survey_id not in {manifest.survey_id for manifest in chosen}:
            connection.execute(
                "UPDATE manifests SET role = 'replaced' WHERE authority = ? AND survey_id = ?",
                (authority, survey_id),
            )
    # What never began was never followed; of what was, the last and what has reports stay.
    connection.execute(
        "DELETE FROM manifests"
        " WHERE authority = :authority AND name = :name AND role = 'replaced'"
        " AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.survey_id = manifests.survey_id)"
        " AND (starts > :now OR sequence < (SELECT max(sequence) FROM manifests"
        " WHERE authority = :authority AND name = :name AND starts <= :now"
        " AND role IN ('accepted', 'replaced')))",
        {"authority": authority, "name": name, "now": int(now)},
    )


def remember_refused(
    connection: sqlite3.Connection,
    authority: bytes,
    refused: Sequence[tuple[SignedManifest, ManifestRefused]],
    now: float,
) -> None:
    """Remember manifests that were refused, inside a transaction, as far as rules 2 and 3 go."""
    for signed, error in refused:
        manifest = signed.manifest
        known = connection.execute(
            "SELECT 1 FROM manifests WHERE authority = ? AND survey_id = ?",
            (authority, manifest.survey_id),
        ).fetchone()
        # One that is not pinned must not stand for one that is.
        if known or error.fault in {ManifestFault.ROLLED_BACK, ManifestFault.NOT_PINNED}:
            continue
        if error.fault is not ManifestFault.EQUIVOCATION:
            _remember_newest(connection, authority, signed, error, now)
            continue
        (proofs,) = connection.execute(
            "SELECT count(*) FROM manifests"
            " WHERE authority = ? AND name = ? AND role = 'equivocating'",
            (authority, manifest.name),
        ).fetchone()
        if proofs < _MOST_PROOFS:
            _store(connection, authority, signed, "equivocating", str(error), now)


def last_refusal(connection: sqlite3.Connection, authority: bytes, name: str) -> str | None:
    """Return why the newest manifest of a name was refused, if it was; inside a transaction."""
    row = connection.execute(
        "SELECT reason FROM manifests WHERE authority = ? AND name = ? AND role = 'refused'"
        " ORDER BY sequence DESC LIMIT 1",
        (authority, name),
    ).fetchone()
    return None if row is None else str(row[0])


def _remember_newest(
    connection: sqlite3.Connection,
    authority: bytes,
    signed: SignedManifest,
    error: ManifestRefused,
    now: float,
) -> None:
    key = {
        "authority": authority,
        "name": signed.manifest.name,
        "sequence": signed.manifest.sequence,
    }
    (newer,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM manifests WHERE authority = :authority AND name = :name"
        " AND role = 'refused' AND sequence > :sequence)",
        key,
    ).fetchone()
    if newer:
        return
    # The others go, but for those of which there are proofs.
    connection.execute(
        "DELETE FROM manifests WHERE authority = :authority AND name = :name AND role = 'refused'"
        " AND sequence NOT IN (SELECT sequence FROM manifests"
        " WHERE authority = :authority AND name = :name AND role = 'equivocating')",
        key,
    )
    _store(connection, authority, signed, "refused", str(error), now)


def _store(
    connection: sqlite3.Connection,
    authority: bytes,
    signed: SignedManifest,
    role: str,
    reason: str,
    now: float,
) -> None:
    manifest = signed.manifest
    connection.execute(
        "INSERT INTO manifests (authority, survey_id, name, sequence, envelope, signer, role, seen,"
        " reason, starts, epoch_seconds, epochs, range_epochs, range_cost, reserved)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (authority, survey_id) DO UPDATE"
        " SET role = excluded.role, envelope = excluded.envelope, reason = excluded.reason,"
        " starts = excluded.starts,"
        " epoch_seconds = excluded.epoch_seconds, epochs = excluded.epochs,"
        " range_epochs = excluded.range_epochs, range_cost = excluded.range_cost,"
        " reserved = excluded.reserved",
        (
            authority,
            manifest.survey_id,
            manifest.name,
            manifest.sequence,
            signed.envelope if role == "accepted" or len(signed.envelope) <= _MOST_BYTES else b"",
            signed.signer,
            role,
            int(now),
            reason,
            *astuple(Reservation.of(manifest) if role == "accepted" else _NONE),
        ),
    )


_NONE = Reservation(0, 1, 0, 1, 0, 0)
"""Of a manifest that is not followed: it may have no pure guarantee, and so no cost."""
