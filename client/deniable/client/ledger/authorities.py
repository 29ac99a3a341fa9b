"""The authority's keys: the pinned key, and its successors through rotations.

1. A key is rotated once. A device keeps a rotation that it followed, and refuses a fork (D2).
2. The remembered sequences belong to the chain, not to one of its keys. Neither a rotation nor an
   app update that pins a later key of the same chain resets them.
3. If the app pins a log, a rotation after the pinned key is trusted only if the log's witnesses
   have seen it. That includes rotations followed before the app pinned the log.

The manifests that a device knows, as stored in the state, in four roles.

4. Sequences belong to an authority, whichever key of its chain signed; its first key identifies it.
5. ``accepted`` ones may be followed. ``replaced`` ones were. They are deleted once nothing needs
   them: the bytes of their reports, the costs of their kept responses, a proof, or, for the last
   one, rule 2 of ``following``. Of a name's ``refused`` ones the newest is kept, as the reason.
6. A second manifest with the same sequence is ``equivocating``. A few are kept as proof.
"""

import logging
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final, NamedTuple

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import NameRecord, SignedManifest
from deniable.client.ledger.allowance import Reservation
from deniable.client.parts import NoPin
from deniable.client.state.erasing import record_once
from deniable.client.state.state import State
from deniable.client.state.transactions import kept
from deniable.messages import (
    Manifest,
    Refusal,
    Rotation,
    follow_rotations,
    open_rotation,
    split_rotations,
)
from deniable.messages.rotation import AuthorityFork

_MOST_BYTES = 64 * 1024
"""Of a manifest that is not followed; of a larger one only the id, a digest, is kept."""
_NONE = Reservation(0, 1, 0, 1, 0, 0)
"""For a manifest that is not followed: it may have no pure guarantee, and so no cost."""


class ManifestRows(NamedTuple):
    """The known manifests of a name under an authority, identified by its chain's first key."""

    connection: sqlite3.Connection
    authority: bytes
    name: str

    def record(self, now: float) -> NameRecord:
        """Return the record of the name, without reservations."""
        # An app update to another authority resets manifests, but not reservations and decisions.
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
        """Store a manifest as followed from now on."""
        self._store(signed, "accepted", "", now)
        self._forget_refused(signed.manifest.sequence)

    def take_the_place(self, chosen: Collection[Manifest], now: float) -> None:
        """Replace all other manifests with the chosen ones."""
        ids = {manifest.survey_id for manifest in chosen}
        replaced = [
            (self.authority, survey_id) for survey_id, *_ in self.accepted() if survey_id not in ids
        ]
        # A manifest that never began was never followed. This cannot be determined later, since
        # clocks can be set back.
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
        """Store refused manifests as far as rules 5 and 6 require."""
        for signed, error in refused:
            # An unpinned one must not replace a pinned one.
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
        """Return why the newest manifest was refused, or None if it was not refused."""
        row = self.connection.execute(
            "SELECT reason FROM manifests WHERE authority = ? AND name = ? AND role = 'refused'"
            " ORDER BY sequence DESC LIMIT 1",
            (self.authority, self.name),
        ).fetchone()
        return None if row is None else str(row[0])

    def _forget_refused(self, below: int) -> None:
        """Forget the manifests refused below a sequence, except those kept as proof."""
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


_LOG = logging.getLogger("deniable")
_Logged = tuple[bytes, bytes]
"""An envelope, and the log's proof for it."""
_MOST_PROOFS: Final = 4
"""The most equivocating manifests of a name, or rotations, that are kept: two are proof."""


class Authorities:
    """The chain of keys that may sign manifests, including the key that the app pinned.

    ``pin`` is the log that the app pins.
    """

    def __init__(self, state: State, pinned: bytes, pin: NoPin) -> None:
        self.state = state
        self._pinned = pinned
        self._pin = pin
        self._opened: dict[bytes, Rotation] = {}

    def chain(self, connection: sqlite3.Connection | None) -> tuple[bytes, ...]:
        """Return the known keys, inside a transaction, newest last.

        The pinned key may be any of these. The first identifies the chain's records. Without a
        state, the pinned key is the only one known.
        """
        followed = {} if connection is None else self._kept(connection, "followed")
        return self._trusted(followed) if followed else (self._pinned,)

    @kept
    def known(self, now: float) -> tuple[bytes, ...]:
        """Return :meth:`chain` in a transaction of its own."""
        with self.state.transaction(now) as connection:
            return self.chain(connection)

    @kept
    def learn(self, body: bytes, now: float) -> None:
        """Follow and remember a collector's published rotations, or refuse them all.

        Raises:
            ManifestRefused: if the log's witnesses have not seen one of them; others are followed.
            Refusal: if the rotations are invalid, or do not form a chain.
        """
        offered = {open_rotation(logged[0]): logged for logged in split_rotations(body)}
        fork: AuthorityFork | None = None
        unwitnessed: ManifestRefused | None = None
        with self.state.transaction(now) as connection:
            followed = self._kept(connection, "followed")
            handed = {rotation.old_key for rotation in followed}
            # Once two rotations of a key that this device still uses were seen, neither is
            # followed, even if the next answer shows only one.
            forking = [
                rotation
                for rotation in self._kept(connection, "forking")
                if rotation.old_key not in handed
            ]
            try:
                chain = follow_rotations(self._oldest(followed), [*followed, *forking, *offered])
            except AuthorityFork as error:
                fork = error
                for rotation in (error.first, error.second):
                    if rotation in offered and rotation not in followed:
                        _store(connection, rotation, (offered[rotation][0], b""), "forking", now)
            else:
                links = set(pairwise(chain))
                for rotation, (envelope, proof) in offered.items():
                    if (rotation.old_key, rotation.new_key) not in links:
                        continue
                    new = rotation not in followed
                    if why_not := self._why_not(chain, rotation, (envelope, proof)):
                        if new:
                            detail = f"the authority's new key {rotation.new_key.hex()}: {why_not}"
                            record_once(connection, now, ManifestFault.NOT_WITNESSED, detail)
                            unwitnessed = ManifestRefused(ManifestFault.NOT_WITNESSED, detail)
                    elif new or self._pin.kept(proof):
                        logged = envelope, self._pin.kept(proof)
                        _store(connection, rotation, logged, "followed", now)
                # Records under later keys, which an app pinned, belong to the chain.
                connection.executemany(
                    "UPDATE OR IGNORE manifests SET authority = ? WHERE authority = ?",
                    [(chain[0], key) for key in chain[1:]],
                )
        if fork is not None:
            raise fork
        if unwitnessed is not None:
            raise unwitnessed

    def _trusted(self, followed: Mapping[Rotation, _Logged]) -> tuple[bytes, ...]:
        """Return the keys of the chain up to the first unwitnessed rotation."""
        try:
            chain = follow_rotations(self._oldest(followed), followed)
        except Refusal:  # corrupted on disk, or written by another program
            return (self._pinned,)
        ends = [
            chain.index(rotation.old_key) + 1
            for rotation, logged in followed.items()
            if rotation.old_key in chain and self._why_not(chain, rotation, logged)
        ]
        return chain[: min(ends, default=len(chain))]

    def _why_not(self, chain: Sequence[bytes], rotation: Rotation, logged: _Logged) -> str:
        """Return why a rotation within a chain is not trusted; an empty text if it is."""
        # Rotations before the pinned key identify the chain, and give no key any trust.
        before = chain.index(rotation.old_key) < chain.index(self._pinned)
        return "" if before else self._pin.why_not(*logged)

    def _oldest(self, followed: Iterable[Rotation]) -> bytes:
        """Return the first key of the followed chain that contains the pinned key."""
        by_new = {rotation.new_key: rotation.old_key for rotation in followed}
        key = self._pinned
        for _ in followed:
            key = by_new.get(key, key)
        return key

    def _kept(self, connection: sqlite3.Connection, role: str) -> dict[Rotation, _Logged]:
        rows = connection.execute("SELECT envelope, proof FROM authorities WHERE role = ?", (role,))
        return self._open_all(rows.fetchall())

    def _open_all(self, rows: Iterable[_Logged]) -> dict[Rotation, _Logged]:
        rotations = {}
        for envelope, proof in rows:
            with suppress(Refusal):  # corrupted bytes: the disk's fault, not the app's
                if envelope not in self._opened:
                    self._opened[envelope] = open_rotation(envelope)
                rotations[self._opened[envelope]] = envelope, proof
        return rotations


def _store(
    connection: sqlite3.Connection, rotation: Rotation, logged: _Logged, role: str, now: float
) -> None:
    (proofs,) = connection.execute(
        "SELECT count(*) FROM authorities WHERE role = 'forking'"
    ).fetchone()
    if role == "forking" and proofs >= _MOST_PROOFS:
        return
    key = (rotation.old_key, rotation.new_key, rotation.sequence)
    if connection.execute(
        "UPDATE authorities SET envelope = ?, proof = ?"  # which may be corrupted
        " WHERE old_key = ? AND new_key = ? AND sequence = ?",
        (*logged, *key),
    ).rowcount:
        return
    connection.execute(
        "INSERT INTO authorities (old_key, new_key, sequence, envelope, proof, role, seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*key, *logged, role, int(now)),
    )
    keys = f"from {rotation.old_key.hex()} to {rotation.new_key.hex()}"
    level = logging.WARNING if role == "forking" else logging.INFO
    _LOG.log(level, "the authority's key was rotated (%s) %s", role, keys)
