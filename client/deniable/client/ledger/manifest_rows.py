"""The manifests that a device knows of, as the state holds them: in four roles.

1. Sequences belong to an authority, whatever key of its chain signed; its first key names it.
2. ``accepted`` may be followed. ``replaced`` was, and is let go once nothing needs it: neither the
   bytes of its reports, nor the costs of its kept responses, nor a proof, nor rule 2 of
   ``following``, for the last one. Of the ``refused`` of a name the newest is kept, to say why.
3. A second manifest of the same sequence is ``equivocating``, kept as proof against its signer, up
   to a few.
"""

import sqlite3
from collections.abc import Collection, Iterable
from typing import NamedTuple

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import NameRecord, SignedManifest
from deniable.client.ledger.allowance import Reservation
from deniable.messages import Manifest

_MOST_BYTES = 64 * 1024
"""Of a manifest that is not followed; of a larger one only the id is kept, a digest of it."""
_MOST_PROOFS = 4
"""Equivocating manifests kept per name: two prove the point, an attacker must not fill the disk."""
_NONE = Reservation(0, 1, 0, 1, 0, 0)
"""Of a manifest that is not followed: it may have no pure guarantee, and so no cost."""


class ManifestRows(NamedTuple):
    """The manifests known of a name under an authority, which its chain's first key names."""

    connection: sqlite3.Connection
    authority: bytes
    name: str

    def record(self, now: float) -> NameRecord:
        """Return the record of the name, without what is reserved."""
        # After an app update to another authority its manifests start afresh. What was reserved and
        # decided does not.
        rows = self.connection.execute(
            "SELECT sequence, survey_id, role, starts FROM manifests"
            " WHERE authority = ? AND name = ? AND role != 'equivocating' ORDER BY sequence",
            (self.authority, self.name),
        ).fetchall()
        followed = [
            (sequence, survey_id)
            for sequence, survey_id, role, starts in rows
            if role == "replaced" or (role == "accepted" and starts <= now)
        ]
        (decided,) = self.connection.execute(
            "SELECT coalesce(max(epoch), -1) FROM decisions WHERE name = ?", (self.name,)
        ).fetchone()
        return NameRecord(
            highest=followed[-1] if followed else None,
            accepted=frozenset(survey_id for _, survey_id, role, _ in rows if role != "refused"),
            seen={sequence: survey_id for sequence, survey_id, _, _ in rows},
            decided=decided,
        )

    def accepted(self) -> list[tuple[bytes, bytes, bytes]]:
        """Return ids, signed bytes and proofs of the accepted manifests, newest first."""
        return self.connection.execute(
            "SELECT survey_id, envelope, CAST(proof AS BLOB) FROM manifests"
            " WHERE authority = ? AND name = ? AND role = 'accepted'"
            " AND typeof(envelope) = 'blob' ORDER BY sequence DESC",
            (self.authority, self.name),
        ).fetchall()

    def accept(self, signed: SignedManifest, now: float) -> None:
        """Store a manifest that is followed from now on."""
        self._store(signed, "accepted", "", now)
        self._forget_refused(signed.manifest.sequence)

    def take_the_place(self, chosen: Collection[Manifest], now: float) -> None:
        """Let the chosen manifests take the place of all others."""
        ids = {manifest.survey_id for manifest in chosen}
        replaced = [
            (self.authority, survey_id) for survey_id, *_ in self.accepted() if survey_id not in ids
        ]
        # What never began was never followed. Later nobody can tell: clocks are put back.
        self.connection.executemany(
            "DELETE FROM manifests WHERE authority = ? AND survey_id = ? AND starts > ?"
            " AND survey_id NOT IN (SELECT survey_id FROM decisions)",
            [(*key, int(now)) for key in replaced],
        )
        self.connection.executemany(
            "UPDATE manifests SET role = 'replaced' WHERE authority = ? AND survey_id = ?", replaced
        )
        self.connection.execute(
            "DELETE FROM manifests"
            " WHERE authority = :authority AND name = :name AND role = 'replaced'"
            " AND survey_id NOT IN (SELECT survey_id FROM decisions"
            " WHERE name = :name AND envelope IS NOT NULL"
            " UNION ALL SELECT survey_id FROM memos WHERE name = :name)"
            " AND sequence NOT IN (SELECT sequence FROM manifests"
            " WHERE authority = :authority AND name = :name AND role = 'equivocating')"
            " AND sequence < (SELECT max(sequence) FROM manifests"
            " WHERE authority = :authority AND name = :name AND role = 'replaced')",
            {"authority": self.authority, "name": self.name},
        )

    def remember_refused(
        self, refused: Iterable[tuple[SignedManifest, ManifestRefused]], now: float
    ) -> None:
        """Remember manifests that were refused, as far as rules 2 and 3 go."""
        for signed, error in refused:
            # One that is not pinned must not stand for one that is.
            if error.fault in {ManifestFault.ROLLED_BACK, ManifestFault.NOT_PINNED}:
                continue
            known = self.connection.execute(
                "SELECT survey_id, sequence, role FROM manifests WHERE authority = ? AND name = ?",
                (self.authority, self.name),
            ).fetchall()
            survey_id, newest = signed.manifest.survey_id, signed.manifest.sequence
            if any(known_id == survey_id for known_id, _, _ in known):
                continue
            if error.fault is ManifestFault.EQUIVOCATION:
                if sum(role == "equivocating" for _, _, role in known) < _MOST_PROOFS:
                    self._store(signed, "equivocating", str(error), now)
            elif not any(role == "refused" and sequence > newest for _, sequence, role in known):
                self._forget_refused(2**62)
                self._store(signed, "refused", str(error), now)

    def last_refusal(self) -> str | None:
        """Return why the newest manifest was refused, if it was."""
        row = self.connection.execute(
            "SELECT reason FROM manifests WHERE authority = ? AND name = ? AND role = 'refused'"
            " ORDER BY sequence DESC LIMIT 1",
            (self.authority, self.name),
        ).fetchone()
        return None if row is None else str(row[0])

    def _forget_refused(self, below: int) -> None:
        """Forget the manifests refused below a sequence, but for those that proofs are kept of."""
        self.connection.execute(
            "DELETE FROM manifests WHERE authority = :authority AND name = :name"
            " AND role = 'refused' AND sequence < :below AND sequence NOT IN (SELECT sequence"
            " FROM manifests WHERE authority = :authority AND name = :name"
            " AND role = 'equivocating')",
            {"authority": self.authority, "name": self.name, "below": below},
        )

    def _store(self, signed: SignedManifest, role: str, reason: str, now: float) -> None:
        manifest, followed = signed.manifest, role == "accepted"
        self.connection.execute(
            "INSERT INTO manifests (authority, survey_id, name, sequence, envelope, signer, role,"
            " seen, reason, proof, starts, epoch_seconds, epochs, range_epochs, range_cost,"
            " reserved)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (authority, survey_id) DO UPDATE"
            " SET role = excluded.role, envelope = excluded.envelope, signer = excluded.signer,"
            " reason = excluded.reason, proof = excluded.proof,"
            " starts = excluded.starts, epoch_seconds = excluded.epoch_seconds,"
            " epochs = excluded.epochs, range_epochs = excluded.range_epochs,"
            " range_cost = excluded.range_cost, reserved = excluded.reserved",
            (
                self.authority,
                manifest.survey_id,
                manifest.name,
                manifest.sequence,
                signed.envelope if followed or len(signed.envelope) <= _MOST_BYTES else b"",
                signed.signer,
                role,
                int(now),
                reason,
                signed.proof if followed else b"",
                *(Reservation.of(manifest) if followed else _NONE),
            ),
        )
