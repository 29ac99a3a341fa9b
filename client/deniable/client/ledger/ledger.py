"""The ledger: the one decision per name and epoch.

1. An epoch of a name is decided at most once, whatever happens afterwards (D3, D4).
2. Charge, draw and signed bytes are one transaction, committed before anything may send them (D5).
3. Which manifests are followed stands in ``following``, what may be spent in ``allowance``, what
   memoised surveys keep in ``memo``.
4. No operation here depends on the answer's value, except for the response inside signed bytes.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from deniable.budget import RangeCost
from deniable.client.consent import Consent
from deniable.client.errors import (
    BudgetExhausted,
    EpochUndecidable,
    NotEnrolled,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
    StateUnavailable,
)
from deniable.client.ledger.admission import check_declaration, fits_declaration
from deniable.client.ledger.allowance import Allowance, check_allowance
from deniable.client.ledger.caps import OutboxCaps, drop_over_caps
from deniable.client.ledger.credentials import CredentialKey, held_credential
from deniable.client.ledger.event_slot import check_slot
from deniable.client.ledger.following import Following
from deniable.client.ledger.memo import MemoRange, erase_ended_memos, open_memo
from deniable.client.ledger.previews import discard_previews, has_preview, store_preview
from deniable.client.state.state import State
from deniable.client.state.tallies import whole_days
from deniable.client.survey import Survey
from deniable.mechanisms import Draw, TwoRound
from deniable.messages import Manifest, Report, sign_report

__all__ = ["Decision", "Ledger", "OpenEpoch"]

_NEVER = -(2**62)
_LATEST = 253_402_300_799
"""The last second that dates are made of."""
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
    """What the device decides, and has decided.

    Args:
        state: where it is durable.
        following: the manifests that are followed.
        collector: the origin that reports are for.
        caps: how much may wait to be sent; a report that is added may cost an older one its place.
        enrols: whether there is an issuer to ask; else surveys that demand it are refused.
    """

    def __init__(
        self,
        state: State,
        following: Following,
        collector: str,
        caps: OutboxCaps,
        *,
        enrols: bool = False,
    ) -> None:
        self._state = state
        self.following = following
        self._collector = collector
        self._caps = caps
        self._enrols = enrols
        self._costs: dict[bytes, RangeCost] = {}

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

    def why_not(self, survey: Survey, allowance: Allowance, now: float) -> NotRecorded | None:
        """Return what would keep a report from being recorded; None if nothing would.

        Raises:
            StateUnavailable: if the state cannot be read.
        """
        self.following.warm(survey.name, now)
        with self._state.transaction(now) as connection:
            connection.execute("SAVEPOINT looking")
            try:
                found = self._terms(connection, survey, allowance, now)
            except StateUnavailable:
                raise
            except NotRecorded as error:
                return error
            finally:
                connection.execute("ROLLBACK TO looking")
        return found if isinstance(found, BudgetExhausted) else None

    def decide(
        self,
        survey: Survey,
        answer: int,
        allowance: Allowance,
        now: float,
        delay: Callable[[float], float],
        draw: Draw,
        slot_seconds: int | None = None,
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
            slot_seconds: how long the slots of an epoch are, from one of which events are reported.

        Returns:
            The decision: a new one, or the one that stands.

        Raises:
            NotRecorded: for any reason not to draw.
        """
        self.following.warm(survey.name, now)
        with self._state.transaction(now) as connection:
            consent = self._state.effective_consent(connection)
            if consent is Consent.LOCAL:
                return self._preview(connection, survey, answer, now, draw, slot_seconds)
            if consent is not Consent.ON:
                raise self._state.missing_consent(consent)
            discard_previews(connection)  # of an environment that lowered consent until now
            decision = self._decide_once(
                connection, survey, answer, allowance, now, delay, draw, slot_seconds
            )
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
        slot_seconds: int | None,
    ) -> Decision | BudgetExhausted:
        found = self._terms(connection, survey, allowance, now, slot_seconds)
        if not isinstance(found, _Terms):
            return found
        self._record(connection, found, answer, now, delay, draw)
        drop_over_caps(connection, self._caps, found.lived, now)
        return Decision(found.open.epoch, drawn=True)

    def _terms(
        self,
        connection: sqlite3.Connection,
        survey: Survey,
        allowance: Allowance,
        now: float,
        slot_seconds: int | None = None,
    ) -> "Decision | BudgetExhausted | _Terms":
        """Return on what terms an epoch may be decided now, or the decision that stands.

        A sliding ceiling's refusal is returned: the look at the clock is to be committed.

        Raises:
            NotRecorded: for any other reason not to draw.
        """
        found = self.undecided_epoch(connection, survey, now)
        if isinstance(found, Decision):
            return found
        manifest, epoch = found.manifest, found.epoch
        _check_slot(connection, manifest, epoch, slot_seconds, now)
        credential = self._credential(connection, manifest, epoch)
        erase_ended_memos(connection, now)
        memo = _memo(connection, manifest, epoch, found.fresh_from)
        cost = self._cost_of(manifest).next(memo.reports if memo else 0)
        lived = self._state.look_at_clock(connection, now)
        exhausted = _is_exhausted(connection, allowance, survey, cost, lived)
        return exhausted or _Terms(found, credential, memo, cost, lived)

    def _record(
        self,
        connection: sqlite3.Connection,
        terms: "_Terms",
        answer: int,
        now: float,
        delay: Callable[[float], float],
        draw: Draw,
    ) -> None:
        manifest, epoch, memo = terms.open.manifest, terms.open.epoch, terms.memo
        (secret,) = connection.execute("SELECT secret FROM device").fetchone()
        response = _respond(manifest, answer, memo, draw)
        if memo is not None:
            memo.count_report(connection)
        report = Report(manifest.survey_id, epoch, response)
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
                terms.cost,
                starts,
                ends,
                closes,
                sign_report(secret, report, terms.credential),
                now + delay(closes),
                int(now),
                whole_days(terms.lived),
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
        self,
        connection: sqlite3.Connection,
        survey: Survey,
        answer: int,
        now: float,
        draw: Draw,
        slot_seconds: int | None,
    ) -> Decision:
        standing = has_preview(connection, survey.name, now)
        if standing is not None:
            return Decision(standing, drawn=False, local=True)
        manifest, epoch = self._running(connection, survey, now)
        _check_slot(connection, manifest, epoch, slot_seconds, now)
        response = manifest.mechanism.randomise(answer, draw)
        store_preview(connection, manifest, Report(manifest.survey_id, epoch, response), now)
        return Decision(epoch, drawn=True, local=True)

    def _running(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> tuple[Manifest, int]:
        accepted = self.following.accepted(connection, survey.name)
        if not accepted:
            refusal = self.following.last_refusal(connection, survey.name)
            raise NotReady(
                "no verified manifest yet: wait for the background thread, or refresh()"
                if refusal is None
                else f"the survey that was offered last was refused ({refusal})"
            )
        begun = [manifest for manifest in accepted if manifest.schedule.start <= now]
        if not begun:
            raise NotRunning("the survey has not begun: explain() tells when it runs")
        fitting = [manifest for manifest in begun if fits_declaration(manifest, survey)]
        if not fitting:
            check_declaration(begun[0], survey)  # raises
        epoch = fitting[0].schedule.epoch_at(now)
        if epoch is None:
            raise NotRunning("the survey is over: explain() tells when it ran")
        return fitting[0], epoch


@dataclass(frozen=True, slots=True)
class _Terms:
    """On what terms an epoch is decided: all but the answer."""

    open: OpenEpoch
    credential: bytes | None = field(repr=False)
    memo: MemoRange | None
    cost: int
    lived: int


def _check_slot(
    connection: sqlite3.Connection,
    manifest: Manifest,
    epoch: int,
    slot_seconds: int | None,
    now: float,
) -> None:
    if slot_seconds is not None:
        (secret,) = connection.execute("SELECT secret FROM device").fetchone()
        check_slot(secret, manifest, epoch, slot_seconds, now)


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
    fresh_from, unsure = connection.execute("SELECT fresh_from, unsure FROM device").fetchone()
    if unsure:
        raise EpochUndecidable(
            "this device's state was copied, restored or lost, and nothing is decided before its "
            "collector told the date: refresh() asks for it, as the background thread does"
        )
    if epoch_start <= fresh_from:
        day = datetime.fromtimestamp(max(0, min(fresh_from, _LATEST)), UTC).date()
        raise EpochUndecidable(
            f"epoch {epoch} may have been decided by a state that is gone; one that begins after "
            f"{day} can be reported"
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
