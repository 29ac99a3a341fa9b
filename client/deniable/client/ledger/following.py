"""The manifests of a name that a device follows: the newest that fit the app's declaration (D2).

1. At most two manifests are accepted for each name: one that has begun, and the next that begins.
   When a successor begins, it replaces its predecessor permanently.
2. No manifest is accepted below the highest sequence ever followed, that is, accepted and begun.
3. Refused manifests are remembered to give the reason. They exclude only others with the same
   sequence.
4. A manifest is followed only if the app's issuer, if it has one, can vouch for it.
5. If the app pins a log, only witnessed manifests count. A manifest accepted before the pin, or
   under another pin, waits for a proof and is not answered until then.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from deniable.client.errors import ManifestFault, ManifestRefused
from deniable.client.ledger.admission import (
    Bundled,
    NameRecord,
    SignedManifest,
    admit_manifest,
    check_budget,
    check_declaration,
    check_terms,
    fits_declaration,
)
from deniable.client.ledger.allowance import (
    Allowance,
    Replacement,
    reserved_in_all,
    reserved_of_name,
)
from deniable.client.ledger.authorities import Authorities, ManifestRows
from deniable.client.parts import NoIssuer, NoPin
from deniable.client.state.transactions import kept
from deniable.client.survey import Survey
from deniable.messages import Manifest, Refusal, open_manifest_of_chain


class Following:
    """The manifests that a device follows; every method raises ``StateUnavailable``.

    They belong to the ``surveys`` that the app declares, by name, for ``collector``, and verify
    under ``authorities``. ``pin`` has shown them to be witnessed, and ``issuer`` vouches.
    """

    def __init__(
        self,
        authorities: Authorities,
        allowance: Allowance,
        collector: str,
        pin: NoPin,
        surveys: Mapping[str, Survey],
        issuer: NoIssuer,
    ) -> None:
        self.state = authorities.state
        self.authorities = authorities
        self.allowance = allowance
        self.collector = collector
        self.issuer = issuer
        self.surveys = surveys
        self._pin = pin
        self._unwitnessed: dict[bytes, str] = {}  # reasons for accepted manifests, by id
        self._opened: dict[bytes, Manifest] = {}
        self._fits: dict[bytes, bool] = {}

    @kept
    def offer(
        self, offered: Sequence[SignedManifest], survey: Survey, now: float
    ) -> ManifestRefused | None:
        """Accept the manifests to be followed, and reserve their cost.

        All manifests are verified, have the survey's name, and are addressed to this collector.
        Returns why the newest was refused; None if it was not.
        """
        in_order = sorted(offered, key=lambda signed: signed.manifest.sequence)
        with self.state.transaction(now) as connection:
            refused = self._accept(connection, in_order, survey, now)
            self.rows(connection, survey.name).remember_refused(refused, now)
        newest = in_order[-1].manifest.survey_id if in_order else b""
        return next((error for signed, error in refused if _id(signed) == newest), None)

    def _accept(
        self,
        connection: sqlite3.Connection,
        offered: Sequence[SignedManifest],
        survey: Survey,
        now: float,
    ) -> list[tuple[SignedManifest, ManifestRefused]]:
        held, rows = self.accepted(connection, survey.name), self.rows(connection, survey.name)
        record = rows.record(now)._replace(followed=self.issuer.followed(connection))
        # Manifests that an app no longer declares are dropped, if a declared one is there.
        candidates = {
            candidate.survey_id: candidate for candidate in held if self.fits(candidate, survey)
        }
        fresh: dict[bytes, SignedManifest] = {}
        refused: list[tuple[SignedManifest, ManifestRefused]] = []
        for signed in offered:
            if _id(signed) in candidates:
                continue
            try:
                check_terms(signed.manifest, survey, record, now, self.issuer)
                self._check_witnessed(signed)
            except ManifestRefused as error:
                refused.append((signed, error))
            else:
                candidates[_id(signed)] = signed.manifest
                fresh[_id(signed)] = signed
                record = record._replace(followed=(*record.followed, signed.manifest))
            seen = {signed.manifest.sequence: _id(signed), **record.seen}
            record = record._replace(seen=seen)
        candidates = candidates or {candidate.survey_id: candidate for candidate in held}
        while True:
            chosen = chosen_of(candidates.values(), now)
            manifest = next(
                (candidate for candidate in chosen if candidate.survey_id in fresh), None
            )
            if manifest is None:
                break
            signed = fresh.pop(manifest.survey_id)
            self.state.look_at_clock(connection, now)
            dropped = candidates.keys() - {candidate.survey_id for candidate in chosen}
            ahead = _reserved(rows, record, manifest, dropped)
            try:
                check_budget(manifest, survey, ahead, self.allowance.lifetime, now)
            except ManifestRefused as error:
                refused.append((signed, error))
                del candidates[manifest.survey_id]
            else:
                rows.accept(signed, now)
                self._opened[manifest.survey_id] = manifest
                self._unwitnessed.pop(manifest.survey_id, None)
        rows.take_the_place(chosen, now)
        for replaced in held:
            if replaced not in chosen:
                self._opened.pop(replaced.survey_id, None)
        return refused

    def foreseen(
        self, bundled: Bundled, connection: sqlite3.Connection | None, survey: Survey, now: float
    ) -> Manifest | ManifestRefused | None:
        """Return the bundled manifest that would be answered first.

        Returns the reason if no manifest qualifies, or None if the app bundles none with this name.
        Used before consent: nothing is written, and no state need exist.
        """
        candidates: list[Manifest] = []
        refused: ManifestRefused | None = None
        for opened in bundled.of(survey, self.authorities.chain(connection)):
            if isinstance(opened, ManifestRefused):
                refused = opened
                continue
            manifest, record = opened.manifest, NameRecord()
            if connection is not None:
                rows = self.rows(connection, manifest.name)
                known = rows.record(now)._replace(followed=self.issuer.followed(connection))
                record = _reserved(rows, known, manifest)
            try:
                ceiling, issuer = self.allowance.lifetime, self.issuer
                admit_manifest(manifest, survey, record, ceiling, now, issuer)
                self._check_witnessed(opened)
            except ManifestRefused as error:
                refused = error
            else:
                candidates.append(manifest)
        chosen = chosen_of(candidates, now)
        return chosen[0] if chosen else refused

    @kept
    def holds(self, name: str, now: float) -> bool:
        """Return whether a manifest of a name is accepted."""
        with self.state.transaction(now) as connection:
            return bool(self.rows(connection, name).accepted())

    def accepted(self, connection: sqlite3.Connection, name: str) -> list[Manifest]:
        """Return the manifests with a name that may be followed, newest first."""
        rows = self.rows(connection, name).accepted()
        # Unwitnessed manifests are checked again: another process may have fetched a proof.
        fresh = [row for row in rows if row[0] not in self._opened or row[0] in self._unwitnessed]
        if fresh:
            self._open(fresh, self.authorities.chain(connection))
        return [self._opened[survey_id] for survey_id, *_ in rows if survey_id in self._opened]

    def fits(self, manifest: Manifest, survey: Survey) -> bool:
        """Return whether :meth:`check_fits` would pass; each declaration is checked once."""
        fits = self._fits.get(manifest.survey_id)
        if fits is None:
            fits = self._fits[manifest.survey_id] = fits_declaration(manifest, survey)
        return fits and manifest.survey_id not in self._unwitnessed

    def check_fits(self, manifest: Manifest, survey: Survey) -> None:
        """Check that an accepted manifest still fits the app's declaration and pin.

        Raises:
            ManifestRefused: if the app has changed since.
        """
        check_declaration(manifest, survey)
        if why_not := self._unwitnessed.get(manifest.survey_id):
            raise ManifestRefused(ManifestFault.NOT_WITNESSED, why_not)

    def any_of(self, connection: sqlite3.Connection, survey_id: bytes) -> Manifest | None:
        """Return a manifest that is or was followed, by its id."""
        rows = connection.execute(
            "SELECT survey_id, envelope, CAST(proof AS BLOB) FROM manifests WHERE survey_id = ?"
            " AND role IN ('accepted', 'replaced') AND typeof(envelope) = 'blob'",
            (survey_id,),
        ).fetchall()
        self._open(rows, self.authorities.chain(connection))
        return self._opened.get(survey_id) if rows else None

    @kept
    def was_accepted(self, survey_id: bytes, name: str, now: float) -> bool:
        """Return whether exactly this manifest was accepted before."""
        with self.state.transaction(now) as connection:
            return survey_id in self.rows(connection, name).record(now).accepted

    def rows(self, connection: sqlite3.Connection, name: str) -> ManifestRows:
        """Return the rows of a name under the app's authority."""
        return ManifestRows(connection, self.authorities.chain(connection)[0], name)

    def _check_witnessed(self, signed: SignedManifest) -> None:
        if why_not := self._pin.why_not(signed.envelope, signed.proof):
            raise ManifestRefused(ManifestFault.NOT_WITNESSED, why_not)

    def _open(self, rows: Iterable[tuple[bytes, bytes, bytes]], chain: Sequence[bytes]) -> None:
        for survey_id, envelope, proof in rows:
            # The id is added before the manifest is opened and checked: other threads look too.
            if why_not := self._pin.why_not(envelope, proof):
                self._unwitnessed[survey_id] = why_not
            else:
                self._unwitnessed.pop(survey_id, None)
            if survey_id not in self._opened:
                with suppress(Refusal):  # corrupted bytes: the disk's fault, not the app's
                    manifest, _ = open_manifest_of_chain(envelope, chain)
                    if manifest.origin == self.collector:  # an app update may use another collector
                        self._opened[survey_id] = manifest


def chosen_of(candidates: Iterable[Manifest], now: float) -> list[Manifest]:
    """Return the manifests of a name to follow: the newest begun, and the next to begin."""
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
    rows: ManifestRows, record: NameRecord, manifest: Manifest, dropped: Collection[bytes] = ()
) -> NameRecord:
    """Return the record with its reservations after the manifest has replaced others."""
    begins, dropped = manifest.schedule.start, {*dropped, manifest.survey_id}
    new = Replacement(rows.authority, rows.name, manifest.sequence, begins, dropped)
    return record._replace(
        reserved=reserved_in_all(rows.connection, new),
        reserved_of_name=reserved_of_name(rows.connection, rows.name, new),
    )


def _id(signed: SignedManifest) -> bytes:
    return signed.manifest.survey_id
