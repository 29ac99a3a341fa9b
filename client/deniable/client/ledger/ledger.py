"""The ledger: which manifests are followed, and the one decision per name and epoch.

1. An epoch of a name is decided at most once, whatever happens afterwards (D3, D4).
2. Charge, draw and signed bytes are one transaction, committed before anything may send them (D5).
3. Accepting a manifest reserves everything it could ever cost; nothing is given back (D3, D4).
   What may be spent stands in ``allowance``, what memoised surveys keep in ``memo``.
4. No operation here depends on the answer's value, except for the response inside signed bytes.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from deniable.budget import RangeCost
from deniable.client.consent import Consent
from deniable.client.errors import (
    BudgetExhausted,
    EpochUndecidable,
    ManifestRefused,
    NotEnrolled,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
)
from deniable.client.ledger.admission import (
    NameRecord,
    SignedManifest,
    admit_manifest,
    check_declaration,
)
from deniable.client.ledger.allowance import (
    Allowance,
    check_allowance,
)
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.caps import OutboxCaps, drop_over_caps
from deniable.client.ledger.credentials import CredentialKey, held_credential
from deniable.client.ledger.manifest_rows import (
    last_refusal,
    name_record,
    remember_refused,
    store_manifest,
)
from deniable.client.ledger.memo import MemoRange, erase_ended_memos, open_memo
from deniable.client.ledger.previews import discard_previews, has_preview, store_preview
from deniable.client.state.state import State
from deniable.client.state.tallies import look_at_clock
from deniable.client.survey import Survey
from deniable.mechanisms import Draw, TwoRound
from deniable.messages import Manifest, Refusal, Report, open_manifest_of_chain, sign_report

__all__ = ["Decision", "Ledger", "OpenEpoch"]

_NEVER = -(2**62)
_NO_ISSUER = "this app asks none; it needs Client(enrol=...)"


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision about an epoch.

    Attributes:
        epoch: which.
        drawn: whether it was made now, or had been made before.
        local: whether it is a preview, which is never sent.
    """

    epoch: int
    drawn: bool
    local: bool = False


@dataclass(frozen=True, slots=True)
class OpenEpoch:
    """An epoch that can be decided now.

    Attributes:
        manifest: the survey that runs.
        epoch: which.
        fresh_from: what began before may have been decided by a state that is gone.
    """

    manifest: Manifest
    epoch: int
    fresh_from: int


class Ledger:
    """What the device follows and has decided.

    Args:
        state: where it is durable.
        authorities: the keys under which stored manifests must verify.
        collector: the origin that they must be for.
        caps: how much may wait to be sent; a report that is added may cost an older one its place.
        enrols: whether there is an issuer to ask; else surveys that demand it are refused.
    """

    def __init__(
        self,
        state: State,
        authorities: Authorities,
        collector: str,
        caps: OutboxCaps,
        *,
        enrols: bool = False,
    ) -> None:
        self._state = state
        self._authorities = authorities
        self._collector = collector
        self._caps = caps
        self._enrols = enrols
        self._manifests: dict[bytes, Manifest] = {}
        self._costs: dict[bytes, RangeCost] = {}

    def offer_manifest(
        self, signed: SignedManifest, survey: Survey, allowance: Allowance, now: float
    ) -> None:
        """Accept a verified manifest and reserve its cost, or remember that it was refused.

        Raises:
            ManifestRefused: for a manifest that breaks a rule.
            StateUnavailable: if the state cannot be read or written.
        """
        manifest = signed.manifest
        refused: ManifestRefused | None = None
        with self._state.transaction(now) as connection:
            authority = self._authorities.chain(connection)[0]
            try:
                record = name_record(connection, authority, manifest.name)
                reserved = admit_manifest(
                    manifest, survey, record, allowance.lifetime, now, enrols=self._enrols
                )
                if manifest.survey_id in record.accepted:
                    return
                store_manifest(connection, authority, signed, "accepted", now, reserved)
            except ManifestRefused as error:
                refused = error
                remember_refused(connection, authority, signed, error, now)
        if refused is not None:
            raise refused

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
        record = NameRecord(None, frozenset(), 0)
        if connection is not None:
            authority = self._authorities.chain(connection)[0]
            record = name_record(connection, authority, manifest.name)
        return admit_manifest(
            manifest, survey, record, allowance.lifetime, now, enrols=self._enrols
        )

    def newest_manifest_id(self, name: str, now: float) -> bytes | None:
        """Return the id of the newest accepted manifest of a name."""
        with self._state.transaction(now) as connection:
            accepted = self._accepted(connection, name)
            return accepted[0].survey_id if accepted else None

    def accepted_manifests(self, connection: sqlite3.Connection, name: str) -> list[Manifest]:
        """Return the manifests of a name that may be followed, newest first; in a transaction."""
        return self._accepted(connection, name)

    def last_refusal(self, connection: sqlite3.Connection, name: str) -> str | None:
        """Return why the newest manifest of a name was refused, if it was; in a transaction."""
        return last_refusal(connection, self._authorities.chain(connection)[0], name)

    def has_accepted(self, manifest: Manifest, now: float) -> bool:
        """Tell whether this very manifest was accepted before."""
        with self._state.transaction(now) as connection:
            authority = self._authorities.chain(connection)[0]
            return manifest.survey_id in name_record(connection, authority, manifest.name).accepted

    def undecided_epoch(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> Decision | OpenEpoch:
        """Return the epoch that can be decided, or the decision that stands; in a transaction.

        Raises:
            NotRecorded: if there is neither.
        """
        standing, highest, ended = _standing_decision(connection, survey.name, now)
        if standing is not None:
            return standing
        manifest, epoch = self._running(connection, survey, now)
        fresh_from = _check_fresh(connection, manifest, epoch, highest, ended)
        return OpenEpoch(manifest, epoch, fresh_from)

    def decide(
        self,
        survey: Survey,
        answer: int,
        allowance: Allowance,
        now: float,
        delay: Callable[[float], float],
        draw: Draw,
    ) -> Decision:
        """Draw, sign and store the one report of this name's current epoch; or, locally, a preview.

        Args:
            survey: the app's declaration.
            answer: index of the true category. It reaches nothing but the mechanism.
            now: Unix seconds.
            allowance: what this device may spend.
            delay: given when the collector stops taking the report, returns the seconds until it
                may first be sent.
            draw: the source of 64-bit words.

        Returns:
            The decision: a new one, or the one that stands.

        Raises:
            NotRecorded: for any reason not to draw.
        """
        with self._state.transaction(now) as connection:
            consent = self._state.effective_consent(connection)
            if consent is Consent.LOCAL:
                return self._preview(connection, survey, answer, now, draw)
            if consent is not Consent.ON:
                raise self._state.missing_consent()
            discard_previews(connection)  # of an environment that lowered consent until now
            decision = self._decide_once(connection, survey, answer, allowance, now, delay, draw)
            (remains,) = connection.execute("SELECT remains FROM device").fetchone()
        if remains:
            self._state.erase_remains()
        if isinstance(decision, BudgetExhausted):  # the look at the clock was committed
            raise decision
        return decision

    def _decide_once(
        self,
        connection: sqlite3.Connection,
        survey: Survey,
        answer: int,
        allowance: Allowance,
        now: float,
        delay: Callable[[float], float],
        draw: Draw,
    ) -> Decision | BudgetExhausted:
        found = self.undecided_epoch(connection, survey, now)
        if isinstance(found, Decision):
            return found
        manifest, epoch = found.manifest, found.epoch
        credential = self._credential(connection, manifest, epoch)
        erase_ended_memos(connection, now)
        memo = _memo(connection, manifest, epoch, found.fresh_from)
        cost = self._cost_of(manifest).next(memo.reports if memo else 0)
        lived = look_at_clock(connection, now)
        exhausted = _is_exhausted(connection, allowance, survey, cost, lived)
        if exhausted is not None:
            return exhausted
        self._record(connection, found, answer, memo, credential, cost, now, delay, draw)
        drop_over_caps(connection, self._caps, lived, now)
        return Decision(epoch, drawn=True)

    def _record(
        self,
        connection: sqlite3.Connection,
        found: OpenEpoch,
        answer: int,
        memo: MemoRange | None,
        credential: bytes | None,
        cost: int,
        now: float,
        delay: Callable[[float], float],
        draw: Draw,
    ) -> None:
        manifest, epoch = found.manifest, found.epoch
        (secret, lived) = connection.execute("SELECT secret, lived FROM device").fetchone()
        response = _respond(manifest, answer, memo, draw)
        if memo is not None:
            memo.count_report(connection)
        schedule = manifest.schedule
        starts, ends, closes = (
            schedule.epoch_start(epoch),
            schedule.epoch_start(epoch + 1),
            schedule.closes(epoch),
        )
        connection.execute(
            "INSERT INTO decisions (name, epoch, origin, survey_id, cost, starts, ends, closes,"
            " status, verdict, envelope, attempts, unanswered, due, held, decided, lived)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', '', ?, 0, 0, ?, 0, ?, ?)",
            (
                manifest.name,
                epoch,
                self._collector,
                manifest.survey_id,
                cost,
                starts,
                ends,
                closes,
                sign_report(secret, Report(manifest.survey_id, epoch, response), credential),
                now + delay(closes),
                int(now),
                lived,
            ),
        )
        # If this state is lost, no successor's epoch that overlaps this one is decided either.
        self._state.advance(connection, now, decided_for=ends - 1)

    def _credential(
        self, connection: sqlite3.Connection, manifest: Manifest, epoch: int
    ) -> bytes | None:
        """Return the certificate that a report must bear, None in an open survey."""
        if manifest.enrolment.mode == "open":
            return None
        key = CredentialKey(manifest.name, manifest.survey_id, epoch)
        held = held_credential(connection, key)
        if held is None:
            raise NotEnrolled(
                f"no issuer has vouched for this device in epoch {epoch} yet: "
                + ("wait for the background thread, or refresh()" if self._enrols else _NO_ISSUER)
            )
        return held

    def _cost_of(self, manifest: Manifest) -> RangeCost:
        cost = self._costs.get(manifest.survey_id)
        if cost is None:  # of two rounds it takes milliseconds
            cost = self._costs[manifest.survey_id] = RangeCost.of(manifest.mechanism)
        return cost

    def _preview(
        self, connection: sqlite3.Connection, survey: Survey, answer: int, now: float, draw: Draw
    ) -> Decision:
        standing = has_preview(connection, survey.name, now)
        if standing is not None:
            return Decision(standing, drawn=False, local=True)
        manifest, epoch = self._running(connection, survey, now)
        response = manifest.mechanism.randomise(answer, draw)
        store_preview(connection, manifest, Report(manifest.survey_id, epoch, response), now)
        return Decision(epoch, drawn=True, local=True)

    def _running(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> tuple[Manifest, int]:
        accepted = self._accepted(connection, survey.name)
        if not accepted:
            refusal = self.last_refusal(connection, survey.name)
            raise NotReady(
                "no verified manifest yet: wait for the background thread, or refresh()"
                if refusal is None
                else f"the survey that was offered last was refused ({refusal})"
            )
        why_not: NotRecorded = NotRunning("the survey has not begun, or is over")
        for manifest in accepted:
            epoch = manifest.schedule.epoch_at(now)
            if epoch is None:
                continue
            try:
                check_declaration(manifest, survey)
            except ManifestRefused as refused:
                why_not = refused
                continue
            return manifest, epoch
        raise why_not

    def _accepted(self, connection: sqlite3.Connection, name: str) -> list[Manifest]:
        chain = self._authorities.chain(connection)
        rows = connection.execute(
            "SELECT survey_id, envelope FROM manifests"
            " WHERE authority = ? AND name = ? AND role = 'accepted' ORDER BY sequence DESC",
            (chain[0], name),
        ).fetchall()
        for survey_id, envelope in rows:
            if survey_id not in self._manifests:
                with suppress(Refusal):  # bytes that rotted: the disk's fault, not the app's
                    manifest, _ = open_manifest_of_chain(envelope, chain)
                    if manifest.origin == self._collector:  # an app update may use another
                        self._manifests[survey_id] = manifest
        return [self._manifests[survey_id] for survey_id, _ in rows if survey_id in self._manifests]


def _memo(
    connection: sqlite3.Connection, manifest: Manifest, epoch: int, fresh_from: int
) -> MemoRange | None:
    epochs = manifest.repeat.memo_range(epoch)
    return None if epochs is None else open_memo(connection, manifest, epochs, fresh_from)


def _respond(manifest: Manifest, answer: int, memo: MemoRange | None, draw: Draw) -> int:
    mechanism = manifest.mechanism
    if memo is None:
        return mechanism.randomise(answer, draw)
    if isinstance(mechanism, TwoRound):
        return mechanism.fresh.randomise(
            mechanism.kept.randomise(answer, memo.draw_for(answer)), draw
        )
    return mechanism.randomise(answer, memo.draw_for(answer))


def _is_exhausted(
    connection: sqlite3.Connection, allowance: Allowance, survey: Survey, cost: int, lived: int
) -> BudgetExhausted | None:
    try:
        check_allowance(connection, allowance, survey, cost, lived)
    except BudgetExhausted as exhausted:
        return exhausted
    return None


def _standing_decision(
    connection: sqlite3.Connection, name: str, now: float
) -> tuple[Decision | None, int, int]:
    """Return the decision that stands until its epoch ends, if any.

    With it, the highest epoch decided and the end of the last one: a successor manifest takes
    effect only after that (D3).
    """
    newest = connection.execute(
        "SELECT epoch, status, verdict FROM decisions WHERE name = ? ORDER BY epoch DESC LIMIT 1",
        (name,),
    ).fetchone()
    if newest is None:
        return None, -1, _NEVER
    epoch, status, verdict = newest
    (ends,) = connection.execute(
        "SELECT max(ends) FROM decisions WHERE name = ?", (name,)
    ).fetchone()
    if now >= ends:
        return None, epoch, ends
    if status == "dropped":
        raise ReportDropped(
            f"epoch {epoch} was decided and its report dropped ({verdict}); "
            "the next epoch can be reported"
        )
    return Decision(epoch, drawn=False), epoch, ends


def _check_fresh(
    connection: sqlite3.Connection, manifest: Manifest, epoch: int, highest: int, ended: int
) -> int:
    epoch_start = manifest.schedule.epoch_start(epoch)
    (fresh_from,) = connection.execute("SELECT fresh_from FROM device").fetchone()
    if epoch_start <= fresh_from:
        raise EpochUndecidable(
            f"epoch {epoch} may have been decided by a state that is gone; the next can be reported"
        )
    if epoch <= highest:
        raise EpochUndecidable(
            f"epoch {epoch} is not above epoch {highest}, the last one decided under this name"
        )
    if epoch_start < ended:
        # Else a collector could publish schedules that end one second after each other, and get a
        # response a second from epochs of a day.
        raise EpochUndecidable(
            f"epoch {epoch} began before the last decided one had ended; the next can be reported"
        )
    return int(fresh_from)
