"""Which manifests of a name a device follows: the newest that matches its app's declaration (D2).

1. Of each name at most two are accepted: one that has begun, and the next that begins. A successor
   takes the place of what it replaces when it begins, for good.
2. No manifest is accepted below the highest sequence ever followed: accepted, and begun.
3. What was refused is remembered to say why, and keeps out nothing but another of its sequence.
"""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from deniable.client.errors import ManifestRefused
from deniable.client.ledger.admission import (
    NameRecord,
    SignedManifest,
    admit_manifest,
    check_budget,
    check_terms,
    fits_declaration,
)
from deniable.client.ledger.allowance import Allowance, reserved_in_all, reserved_of_name
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.manifest_rows import (
    accepted_envelopes,
    followed_envelope,
    last_refusal,
    name_record,
    remember_refused,
    store_accepted,
    take_the_place,
)
from deniable.client.ledger.reservations import Replacement
from deniable.client.state.state import State
from deniable.client.survey import Survey
from deniable.messages import Manifest, Refusal, open_manifest_of_chain

__all__ = ["Following", "chosen_of"]


class Following:
    """The manifests that a device follows.

    Args:
        state: where they are durable. Every method raises ``StateUnavailable`` if it is not.
        authorities: the keys under which stored manifests must verify.
        collector: the origin that they must be for.
        enrols: whether there is an issuer to ask; else surveys that demand it are refused.
    """

    def __init__(
        self, state: State, authorities: Authorities, collector: str, *, enrols: bool = False
    ) -> None:
        self._state = state
        self._authorities = authorities
        self._collector = collector
        self._enrols = enrols
        self._opened: dict[bytes, Manifest] = {}
        self._warm: set[str] = set()

    def offer(
        self, offered: Sequence[SignedManifest], survey: Survey, allowance: Allowance, now: float
    ) -> ManifestRefused | None:
        """Accept those of these manifests that are to be followed, and reserve their cost.

        Args:
            offered: verified, of the survey's name and this collector.
            survey: the app's declaration.
            allowance: what this device may spend.
            now: Unix seconds.

        Returns:
            Why the newest of them was refused; None if it was not.
        """
        self.warm(survey.name, now)
        in_order = sorted(offered, key=lambda signed: signed.manifest.sequence)
        with self._state.transaction(now) as connection:
            authority = self._authorities.chain(connection)[0]
            held = self.accepted(connection, survey.name)
            refused = self._accept(connection, authority, held, in_order, survey, allowance, now)
            remember_refused(connection, authority, refused, now)
        newest = in_order[-1].manifest.survey_id if in_order else b""
        return next((error for signed, error in refused if _id(signed) == newest), None)

    def _accept(
        self,
        connection: sqlite3.Connection,
        authority: bytes,
        held: Sequence[Manifest],
        offered: Sequence[SignedManifest],
        survey: Survey,
        allowance: Allowance,
        now: float,
    ) -> list[tuple[SignedManifest, ManifestRefused]]:
        record = name_record(connection, authority, survey.name, now)
        # What an app does not declare any more goes, if there is something that it does.
        candidates = {each.survey_id: each for each in held if fits_declaration(each, survey)}
        fresh: dict[bytes, SignedManifest] = {}
        refused: list[tuple[SignedManifest, ManifestRefused]] = []
        for signed in offered:
            if _id(signed) in candidates:
                continue
            try:
                check_terms(signed.manifest, survey, record, now, enrols=self._enrols)
            except ManifestRefused as error:
                refused.append((signed, error))
            else:
                candidates[_id(signed)] = signed.manifest
                fresh[_id(signed)] = signed
            seen = {signed.manifest.sequence: _id(signed), **record.seen}
            record = replace(record, seen=seen)
        candidates = candidates or {each.survey_id: each for each in held}
        while True:
            chosen = chosen_of(candidates.values(), now)
            manifest = next((each for each in chosen if each.survey_id in fresh), None)
            if manifest is None:
                break
            signed = fresh.pop(manifest.survey_id)
            self._state.look_at_clock(connection, now)
            dropped = candidates.keys() - {each.survey_id for each in chosen}
            ahead = _reserved(connection, record, authority, manifest, dropped)
            try:
                check_budget(manifest, survey, ahead, allowance.lifetime, now)
            except ManifestRefused as error:
                refused.append((signed, error))
                del candidates[manifest.survey_id]
            else:
                store_accepted(connection, authority, signed, now)
                self._opened[manifest.survey_id] = manifest
        take_the_place(connection, authority, survey.name, chosen, now)
        for replaced in held:
            if replaced not in chosen:
                self._opened.pop(replaced.survey_id, None)
        return refused

    def would_reserve(
        self,
        connection: sqlite3.Connection | None,
        manifest: Manifest,
        survey: Survey,
        allowance: Allowance,
        now: float,
    ) -> int:
        """Return what accepting a manifest would reserve; nothing is written.

        Args:
            connection: of a transaction; None if there is no state yet.
            manifest: which.
            survey: the app's declaration.
            allowance: what this device may spend.
            now: Unix seconds.

        Raises:
            ManifestRefused: for a manifest that would be refused.
        """
        record = NameRecord()
        if connection is not None:
            authority = self._authorities.chain(connection)[0]
            record = name_record(connection, authority, manifest.name, now)
            record = _reserved(connection, record, authority, manifest)
        return admit_manifest(
            manifest, survey, record, allowance.lifetime, now, enrols=self._enrols
        )

    def holds(self, name: str, now: float) -> bool:
        """Tell whether a manifest of a name is accepted."""
        with self._state.transaction(now) as connection:
            return bool(self._envelopes(connection, name))

    def accepted(self, connection: sqlite3.Connection, name: str) -> list[Manifest]:
        """Return the manifests of a name that may be followed, newest first; in a transaction."""
        rows = self._envelopes(connection, name)
        self._open(rows, self._authorities.chain(connection))
        return [self._opened[survey_id] for survey_id, _ in rows if survey_id in self._opened]

    def any_of(self, connection: sqlite3.Connection, survey_id: bytes) -> Manifest | None:
        """Return a manifest that is or was followed, in a transaction."""
        rows = followed_envelope(connection, survey_id)
        self._open(rows, self._authorities.chain(connection))
        return self._opened.get(survey_id) if rows else None

    def warm(self, name: str, now: float) -> None:
        """Open what is accepted of a name, once a process, before the state is locked for it.

        A manifest may take a second to open, and whoever else reports would wait for the lock.
        """
        if name not in self._warm:
            with self._state.transaction(now) as connection:
                rows = self._envelopes(connection, name)
                chain = self._authorities.chain(connection)
            self._open(rows, chain)
            self._warm.add(name)

    def last_refusal(self, connection: sqlite3.Connection, name: str) -> str | None:
        """Return why the newest manifest of a name was refused, if it was; in a transaction."""
        return last_refusal(connection, self._authorities.chain(connection)[0], name)

    def was_accepted(self, survey_id: bytes, name: str, now: float) -> bool:
        """Tell whether this very manifest was accepted before."""
        with self._state.transaction(now) as connection:
            authority = self._authorities.chain(connection)[0]
            return survey_id in name_record(connection, authority, name, now).accepted

    def _envelopes(self, connection: sqlite3.Connection, name: str) -> list[tuple[bytes, bytes]]:
        return accepted_envelopes(connection, self._authorities.chain(connection)[0], name)

    def _open(self, rows: Iterable[tuple[bytes, bytes]], chain: Sequence[bytes]) -> None:
        for survey_id, envelope in rows:
            if survey_id not in self._opened:
                with suppress(Refusal):  # bytes that rotted: the disk's fault, not the app's
                    manifest, _ = open_manifest_of_chain(envelope, chain)
                    if manifest.origin == self._collector:  # an app update may use another
                        self._opened[survey_id] = manifest


def chosen_of(candidates: Iterable[Manifest], now: float) -> list[Manifest]:
    """Return what is to be followed of a name: the newest that has begun, and the next to begin.

    Args:
        candidates: that the app's declaration accepts, and that are not below what was followed.
        now: Unix seconds.
    """
    by_sequence = sorted(candidates, key=lambda manifest: manifest.sequence)
    begun = [manifest for manifest in by_sequence if manifest.schedule.start <= now][-1:]
    floor = begun[0].sequence if begun else -1
    coming = [
        manifest
        for manifest in by_sequence
        if manifest.schedule.start > now and manifest.sequence > floor
    ]
    coming.sort(key=lambda manifest: (manifest.schedule.start, -manifest.sequence))
    return begun + coming[:1]


def _reserved(
    connection: sqlite3.Connection,
    record: NameRecord,
    authority: bytes,
    manifest: Manifest,
    dropped: Collection[bytes] = (),
) -> NameRecord:
    """Return the record with what is reserved once the manifest has taken the place of others."""
    new = Replacement(authority, manifest.name, manifest.sequence, manifest.schedule.start, dropped)
    return replace(
        record,
        reserved=reserved_in_all(connection, new),
        reserved_of_name=reserved_of_name(connection, manifest.name, new),
    )


def _id(signed: SignedManifest) -> bytes:
    return signed.manifest.survey_id
