"""The ledger: one decision per name and epoch.

1. An epoch of a name is decided at most once, regardless of later events (D3, D4).
2. The charge, the draw and the signed bytes form one transaction. It is committed before anything
   may send the bytes (D5).
3. The module ``following`` has the followed manifests, ``allowance`` the remaining budget, and
   ``kept_answers`` the noise of surveys whose responses are kept.
4. No operation here depends on the answer's value, except for the response inside the signed bytes.
"""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from deniable.budget import RangeCost
from deniable.client.consent import Consent
from deniable.client.errors import (
    BudgetExhausted,
    EpochUndecidable,
    NotReady,
    NotRecorded,
    NotRunning,
    ReportDropped,
)
from deniable.client.ledger.allowance import check_allowance
from deniable.client.ledger.following import Following
from deniable.client.outcome import Outcome, OutcomeStatus
from deniable.client.state.mark import NEVER, whole_days
from deniable.client.state.transactions import kept
from deniable.client.survey import Survey
from deniable.mechanisms import Draw
from deniable.messages import Manifest, Report, day_text, sign_report

if TYPE_CHECKING:
    from deniable.client.ledger.kept_answers import MemoRange


class OpenEpoch(NamedTuple):
    """An epoch that can be decided now."""

    manifest: Manifest
    epoch: int
    fresh_from: int  # an epoch that began earlier may have been decided by a state that is gone


class _Terms(NamedTuple):
    """The terms on which an epoch is decided: everything except the answer."""

    open: OpenEpoch
    credential: bytes | None
    memo: "MemoRange | None"  # the kept noise of a survey whose responses are kept
    cost: int
    lived: int

    def __repr__(self) -> str:
        return f"_Terms(epoch={self.open.epoch})"


class Ledger:
    """The decisions of the device on the surveys that it follows.

    ``delay`` receives the time at which the collector stops accepting a report, and returns the
    seconds until it may first be sent. ``draw`` is the source of 64-bit words. Reports decided here
    are either ``relayed``, or may be sent by any transport (D13).
    """

    def __init__(
        self, following: Following, delay: Callable[[float], float], draw: Draw, *, relayed: bool
    ) -> None:
        self.state = following.state
        self.following = following
        self._delay = delay
        self._draw = draw
        self._relayed = relayed
        self._costs: dict[tuple[bytes, int], int] = {}

    def undecided_epoch(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> Outcome | OpenEpoch:
        """Return the epoch that can be decided or the existing decision, or raise."""
        standing, highest, ended = _standing_decision(connection, survey.name, now)
        if standing is not None:
            return standing
        manifest, epoch = self._running(connection, survey, now)
        fresh_from = _check_fresh(connection, manifest, epoch, highest, ended)
        self.following.issuer.check_chosen(connection, manifest, epoch)
        return OpenEpoch(manifest, epoch, fresh_from)

    def look(self, survey: Survey, now: float) -> NotRecorded | Outcome | None:
        """Return the error or the existing decision that prevents a report, or None."""
        try:
            terms = self._look(survey, now)
        except NotRecorded as error:
            return error
        return None if isinstance(terms, _Terms) else terms

    @kept
    def _look(self, survey: Survey, now: float) -> Outcome | BudgetExhausted | _Terms:
        with self.state.transaction(now) as connection:
            self.state.check_covered(connection, survey.name)
            connection.execute("SAVEPOINT looking")
            terms = self._terms(connection, survey, now)
            connection.execute("ROLLBACK TO looking")
        return terms

    @kept
    def decide(self, survey: Survey, answer: int, now: float) -> Outcome:
        """Draw, sign and store the one report of this name's current epoch.

        The answer is the index of the true category; it is passed only to the mechanism.
        """
        with self.state.transaction(now) as connection:
            consent = self.state.effective_consent(connection)
            if consent is not Consent.ON:
                self.state.check_not_refused(connection, survey.name)
                raise self.state.missing_consent(consent)
            self.state.check_covered(connection, survey.name)
            decision = terms = self._terms(connection, survey, now)
            if isinstance(terms, _Terms):
                self._record(connection, terms, answer, now)
                decision = Outcome(survey.name, OutcomeStatus.RECORDED, terms.open.epoch)
            (remains,) = connection.execute("SELECT remains FROM device").fetchone()
        if remains:
            self.state.erase_remains()
        if isinstance(decision, BudgetExhausted):  # the clock reading was committed
            raise decision
        assert isinstance(decision, Outcome)
        return decision

    def _terms(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> Outcome | BudgetExhausted | _Terms:
        """Return the terms on which an epoch may be decided now, or the existing decision.

        A sliding ceiling's refusal is returned, not raised, so that the clock reading is committed.
        """
        current = self.undecided_epoch(connection, survey, now)
        if isinstance(current, Outcome):
            return current
        manifest, epoch, fresh_from = current
        credential = self.following.issuer.credential(connection, manifest, epoch, now)
        memo, epochs = None, manifest.repeat.memo_range(epoch)
        if epochs is not None:
            from deniable.client.ledger.kept_answers import open_memo  # most devices keep none

            memo = open_memo(connection, manifest, epochs, fresh_from, now)
        cost = self._cost_of(manifest, memo.reports if memo else 0)
        lived = self.state.look_at_clock(connection, now)
        exhausted = check_allowance(connection, self.following.allowance, survey, cost, lived)
        return exhausted or _Terms(current, credential, memo, cost, lived)

    def _record(
        self, connection: sqlite3.Connection, terms: _Terms, answer: int, now: float
    ) -> None:
        manifest, epoch, _ = terms.open
        secret = device_secret(connection)
        response = self._respond(manifest, terms.memo, answer)
        report = Report(manifest.survey_id, epoch, response)
        if terms.memo is not None:
            terms.memo.count_report(connection)
        schedule = manifest.schedule
        ends, closes = schedule.epoch_start(epoch + 1), schedule.closes(epoch)
        due = now + self._delay(closes)
        leaving = self.following.issuer.leaving(connection, manifest, epoch, now, due)
        connection.execute(
            "INSERT INTO decisions (name, epoch, origin, survey_id, cost, starts, ends, closes,"
            " status, verdict, envelope, attempts, unanswered, due, held, opens, until, decided,"
            " lived, relayed)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', '', ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)",
            (
                manifest.name,
                epoch,
                self.following.collector,
                manifest.survey_id,
                terms.cost,
                schedule.epoch_start(epoch),
                ends,
                closes,
                sign_report(secret, report, terms.credential),
                *leaving,
                int(now),
                whole_days(terms.lived),
                self._relayed,
            ),
        )
        # If this state is lost, no overlapping epoch of a successor is decided either.
        self.state.advance(connection, now, decided_for=ends - 1)

    def _respond(self, manifest: Manifest, memo: "MemoRange | None", answer: int) -> int:
        if memo is None:
            return manifest.mechanism.randomise(answer, self._draw)
        return memo.respond(manifest.mechanism, answer, self._draw)

    def _cost_of(self, manifest: Manifest, reports: int) -> int:
        key = manifest.survey_id, reports
        if key not in self._costs:  # with two rounds, computing it takes milliseconds
            self._costs[key] = RangeCost.of(manifest.mechanism).next(reports)
        return self._costs[key]

    def _running(
        self, connection: sqlite3.Connection, survey: Survey, now: float
    ) -> tuple[Manifest, int]:
        accepted = self.following.accepted(connection, survey.name)
        begun = [manifest for manifest in accepted if manifest.schedule.start <= now]
        for manifest in begun:
            if self.following.fits(manifest, survey):
                epoch = manifest.schedule.epoch_at(now)
                if epoch is None:
                    raise NotRunning("the survey has ended: explain() says when it ran")
                return manifest, epoch
        if begun:
            self.following.check_fits(begun[0], survey)  # this call raises
        raise self._not_begun(connection, survey, accepted)

    def _not_begun(
        self, connection: sqlite3.Connection, survey: Survey, accepted: list[Manifest]
    ) -> NotRecorded:
        if accepted:
            return NotRunning("the survey has not started: explain() says when it runs")
        refusal = self.following.rows(connection, survey.name).last_refusal()
        return NotReady(
            "no verified manifest yet: wait for the background thread, or call refresh()"
            if refusal is None
            else f"the latest manifest was refused ({refusal})"
        )


def _standing_decision(
    connection: sqlite3.Connection, name: str, now: float
) -> tuple[Outcome | None, int, int]:
    """Return the existing decision, the highest decided epoch, and when that epoch ends (D3)."""
    newest = connection.execute(
        "SELECT epoch, status, verdict, ends FROM decisions WHERE name = ?"
        " ORDER BY epoch DESC LIMIT 1",  # its epoch began after all others had ended
        (name,),
    ).fetchone()
    if newest is None:
        return None, -1, NEVER
    epoch, status, verdict, ends = newest
    if now >= ends:
        return None, epoch, ends
    if status == "dropped":
        why = f"epoch {epoch} was decided, and its report was dropped ({verdict}); "
        raise ReportDropped(why + "the next epoch can be reported")
    return Outcome(name, OutcomeStatus.REPEATED, epoch), epoch, ends


def _check_fresh(
    connection: sqlite3.Connection, manifest: Manifest, epoch: int, highest: int, ended: int
) -> int:
    epoch_start = manifest.schedule.epoch_start(epoch)
    fresh_from, unsure = connection.execute("SELECT fresh_from, unsure FROM device").fetchone()
    # Without the check of the end, a collector could publish schedules that end one second after
    # each other. It would get a response a second from epochs of a day.
    if unsure or epoch_start <= fresh_from or epoch <= highest or epoch_start < ended:
        raise EpochUndecidable(_why_undecidable(epoch, epoch_start, highest, fresh_from, unsure))
    return int(fresh_from)


def _why_undecidable(
    epoch: int, epoch_start: int, highest: int, fresh_from: int, unsure: int
) -> str:
    if unsure:
        return (
            "this device's state is new, or was copied, restored or lost: nothing is reported "
            "until the collector sends the date; refresh() or the background thread requests the "
            "date"
        )
    if epoch_start <= fresh_from:
        return (
            f"epoch {epoch} may have been decided by an earlier state; an epoch that begins after "
            f"{day_text(fresh_from)} can be reported"
        )
    return (
        f"epoch {epoch} began before epoch {highest}, the last one decided for this survey name, "
        "had ended; a later epoch can be reported"
    )


def device_secret(connection: sqlite3.Connection) -> bytes:
    """Return the secret from which a device's report keys and advance draws are derived."""
    secret: bytes
    (secret,) = connection.execute("SELECT secret FROM device").fetchone()
    return secret
