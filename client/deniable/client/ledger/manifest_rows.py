"""The manifests that a device knows of, as the state holds them: accepted, refused, and proofs.

1. Sequences belong to an authority, whatever key of its chain signed; its first key names it.
2. Of the refused manifests of a name the newest is kept, to notice a rollback and to say why.
3. A second manifest of the same sequence is kept as proof against its signer, up to a few.
"""

import sqlite3

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import NameRecord, SignedManifest
from deniable.client.ledger.allowance import reserved_of_name
from deniable.client.state.tallies import reserved_in_all

__all__ = ["last_refusal", "name_record", "remember_refused", "store_manifest"]

_MOST_PROOFS = 4
"""Equivocating manifests kept per name: two prove the point, an attacker must not fill the disk."""


def name_record(connection: sqlite3.Connection, authority: bytes, name: str) -> NameRecord:
    """Return what is known of a name, inside a transaction."""
    # After an app update to another authority its manifests start afresh. What was reserved and
    # decided does not.
    highest = connection.execute(
        "SELECT sequence, survey_id FROM manifests"
        " WHERE authority = ? AND name = ? AND role != 'equivocating'"
        " ORDER BY sequence DESC LIMIT 1",
        (authority, name),
    ).fetchone()
    accepted = connection.execute(
        "SELECT survey_id FROM manifests WHERE authority = ? AND name = ? AND role = 'accepted'",
        (authority, name),
    ).fetchall()
    return NameRecord(
        highest,
        frozenset(survey_id for (survey_id,) in accepted),
        reserved_in_all(connection),
        reserved_of_name(connection, name),
    )


def store_manifest(
    connection: sqlite3.Connection,
    authority: bytes,
    signed: SignedManifest,
    role: str,
    now: float,
    reserved: int = 0,
    reason: str = "",
) -> None:
    """Store a manifest in a role, inside a transaction; older refused ones of its name go."""
    manifest = signed.manifest
    connection.execute(
        "INSERT INTO manifests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (authority, survey_id) DO UPDATE"
        " SET role = excluded.role, reserved = excluded.reserved, reason = excluded.reason",
        (
            authority,
            manifest.survey_id,
            manifest.name,
            manifest.sequence,
            signed.envelope,
            signed.signer,
            role,
            reserved,
            int(now),
            reason,
        ),
    )
    # One refused manifest a name is enough to notice a rollback; the others go, but for proofs.
    connection.execute(
        "DELETE FROM manifests"
        " WHERE authority = ?1 AND name = ?2 AND role = 'refused' AND sequence < ?3"
        " AND sequence NOT IN (SELECT sequence FROM manifests"
        " WHERE authority = ?1 AND name = ?2 AND role = 'equivocating')",
        (authority, manifest.name, manifest.sequence),
    )


def remember_refused(
    connection: sqlite3.Connection,
    authority: bytes,
    signed: SignedManifest,
    error: ManifestRefused,
    now: float,
) -> None:
    """Remember a manifest that was refused, inside a transaction, as far as rules 2 and 3 go."""
    manifest = signed.manifest
    known = connection.execute(
        "SELECT 1 FROM manifests WHERE authority = ? AND survey_id = ?",
        (authority, manifest.survey_id),
    ).fetchone()
    # One that is not pinned must not keep out, by a higher sequence, one that is.
    if known or error.fault in {ManifestFault.ROLLED_BACK, ManifestFault.NOT_PINNED}:
        return
    if error.fault is not ManifestFault.EQUIVOCATION:
        store_manifest(connection, authority, signed, "refused", now, reason=str(error))
        return
    (proofs,) = connection.execute(
        "SELECT count(*) FROM manifests WHERE authority = ? AND name = ? AND role = 'equivocating'",
        (authority, manifest.name),
    ).fetchone()
    if proofs < _MOST_PROOFS:
        store_manifest(connection, authority, signed, "equivocating", now, reason=str(error))


def last_refusal(connection: sqlite3.Connection, authority: bytes, name: str) -> str | None:
    """Return why the newest manifest of a name was refused, if it was; inside a transaction."""
    row = connection.execute(
        "SELECT reason FROM manifests WHERE authority = ? AND name = ? AND role = 'refused'"
        " ORDER BY sequence DESC LIMIT 1",
        (authority, name),
    ).fetchone()
    return None if row is None else str(row[0])
