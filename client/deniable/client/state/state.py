"""The device's durable state, as the rest of the client uses it: consent, erasure, and what counts.

1. What cannot be made durable did not happen: every failure of the disk is ``StateUnavailable``.
2. But for a refusal of the user, which holds in the process that heard it whatever the disk says.
3. A refusal is kept beside a state that a newer version wrote, which that version obeys.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from operator import ge
from pathlib import Path
from typing import Final

from deniable.client.clock import Boot
from deniable.client.consent import (
    Consent,
    ConsentRecord,
    Declared,
    Scope,
    give,
    given,
    lift,
    lower_consent,
    lowered_by_environment,
    names_of,
    refusal,
    refusals,
    refuse,
)
from deniable.client.errors import ConsentMissing, NotCovered, StateUnavailable
from deniable.client.state.erasing import erase_damaged, erase_remains, erase_reports, record_event
from deniable.client.state.mark import Mark, lived_by, look_at_clock
from deniable.client.state.transactions import Transactions, kept
from deniable.sqlite_files import NewerFile, create_private, writing

_MAY_DRAW = frozenset({Consent.LOCAL, Consent.ON})
_MISSING: Final = {
    Consent.UNSET: "nobody consented on this device: ask, then set_consent()",
    Consent.OFF: "consent is off: it was declined or withdrawn, and only the user can change that",
    Consent.LOCAL: "consent is local: nothing is fetched or sent; an app that bundles the signed "
    "survey shows what would be sent",
}
_NOT_COVERED: Final = (
    "consent does not cover this survey as it is declared now: ask again, then set_consent()"
)


class State(Transactions):
    """One device's state in one SQLite file, opened when first needed.

    The environment of the process is read at each call: it can lower what the user decided. Methods
    that take a connection are called within a transaction; all others raise ``StateUnavailable``,
    and are done by the keeper's thread.
    What the app has ``declared``, if there is one, is computed when first needed.
    """

    def __init__(
        self,
        path: Path | None,
        initial_consent: Consent,
        environment: Mapping[str, str],
        boot_time: Callable[[], Boot | None] | None = None,
        declared: Callable[[], Declared] = Declared,
        *,
        user_asked: bool = True,
    ) -> None:
        super().__init__(path, initial_consent, boot_time, declared, user_asked=user_asked)
        self._environment = environment
        self._refusal = Consent.ON  # no more than this holds here: what could not be stored
        self._heard: object = None  # the user's latest decision
        # Likewise of names, each with the decision that it was.
        self._refused: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"State({str(self._path) if self._path else 'in memory'!r})"

    @kept
    def consent(self, now: float) -> ConsentRecord:
        """Return the user's decision, and what holds; creates no file where there is none."""
        with self.existing(now, "BEGIN") as connection:
            return self.consent_in(connection)

    def consent_in(self, connection: sqlite3.Connection | None) -> ConsentRecord:
        """Return :meth:`consent` within a transaction; None: for a state that does not exist."""
        if connection is None:
            decided = self._initial_consent
            covers = names_of(self._given(None))
            return ConsentRecord(decided, self._lowered(decided), None, "initial", covers)
        consent, since, origin = connection.execute(
            "SELECT consent, consent_at, consent_from FROM device"
        ).fetchone()
        decided = Consent(consent)
        known = since if isinstance(since, int) else None  # bits rot
        covers = names_of(self._given(connection))
        return ConsentRecord(decided, self._lowered(decided), known, str(origin), covers)

    def forbids_unread(self) -> bool:
        """Tell, without opening anything, that nothing may be drawn; False if one must look."""
        if self._lowered(Consent.ON) not in _MAY_DRAW:
            return True
        unopened = self._initial_consent not in _MAY_DRAW and self._connection is None
        return unopened and self.do(self._is_absent)

    def effective_consent(self, connection: sqlite3.Connection) -> Consent:
        """Return the consent that holds now."""
        (decided,) = connection.execute("SELECT consent FROM device").fetchone()
        return self._lowered(Consent(decided))

    def covers(self, connection: sqlite3.Connection | None, name: str) -> bool:
        """Tell whether consent covers a survey as it is declared (D12)."""
        enough, scopes = self._declared().enough[name], self._given(connection)
        return refusal(name) not in scopes and any(
            scope.covers(need) for scope in scopes for need in enough
        )

    def agreed(
        self, connection: sqlite3.Connection | None, name: str
    ) -> tuple[Scope | None, Scope]:
        """Return the nearest that consent was given for, and the survey as it is declared."""
        enough = self._declared().enough[name]
        near = [
            (scope.declared == need.declared, sum(map(ge, scope.bounds, need.bounds)), scope, need)
            for scope in self._given(connection)
            for need in enough
            if scope.survey == name and len(scope.bounds) == len(need.bounds)
        ]
        return max(near)[2:] if near else (None, enough[0])

    def refused(self, connection: sqlite3.Connection | None) -> frozenset[str]:
        """Return the names that the user said no to."""
        return frozenset(scope.survey for scope in refusals(self._given(connection)))

    def may_send(self, connection: sqlite3.Connection, name: str) -> bool:
        """Tell whether a report to a name may leave the device, or a token for it be asked."""
        consented = self.effective_consent(connection) is Consent.ON
        return consented and name not in self.refused(connection)

    def check_not_refused(self, connection: sqlite3.Connection | None, name: str) -> None:
        """Raise ``NotCovered`` if the user said no to a name."""
        if name in self.refused(connection):
            raise NotCovered(
                "the user refused this survey: only set_consent('on', surveys=[...]) with it "
                "changes that, after they agree"
            )

    def check_covered(self, connection: sqlite3.Connection | None, name: str) -> None:
        """Raise ``NotCovered`` unless consent covers a survey as it is declared."""
        if not self.covers(connection, name):
            self.check_not_refused(connection, name)
            raise NotCovered(_NOT_COVERED)

    @kept
    def uncovered(self, now: float, *, to_ask: bool = False) -> frozenset[str]:
        """Return the names of the declared surveys that consent does not cover.

        All while nobody has decided, none after less than ON. Or of these only what is still
        ``to_ask``: not what the user said no to.
        """
        with self.existing(now, "BEGIN") as connection:
            effective = self.consent_in(connection).effective
            if effective not in {Consent.ON, Consent.UNSET}:
                return frozenset()
            refused = self.refused(connection)
            return frozenset(
                name
                for name in self._declared().surveys
                if not (effective is Consent.ON and self.covers(connection, name))
                and not (to_ask and name in refused)
            )

    def _given(self, connection: sqlite3.Connection | None) -> list[Scope]:
        """Return the scopes that consent was given for, or will be once a state exists.

        With them the refusals, also those that could not be stored.
        """
        stored = self._first_scopes() if connection is None else given(connection)
        return [*map(refusal, tuple(self._refused)), *stored]

    def _first_scopes(self) -> Iterable[Scope]:
        claims = self._initial_consent is Consent.ON
        return self._declared().surveys.values() if claims else ()

    def missing_consent(self, decided: Consent) -> ConsentMissing:
        """Return the error that says why nothing may be done after this decision."""
        reason = _MISSING.get(decided, _MISSING[Consent.UNSET])
        if self._refusal is not Consent.ON:
            reason = "consent was withdrawn; that could not be stored yet: call set_consent() again"
        elif self._lowered(Consent.ON) is not Consent.ON:
            reason = "DO_NOT_TRACK or DENIABLE_CONSENT, set in the environment, lowers consent"
        return ConsentMissing(reason)

    def _lowered(self, decided: Consent) -> Consent:
        return lowered_by_environment(lower_consent(decided, self._refusal), self._environment)

    def set_consent(
        self, consent: Consent, origin: str, now: float, names: Collection[str] | None = None
    ) -> None:
        """Store a decision of the user; anything but ON erases all report bytes.

        ON is given for what is declared, but for what the user said no to by name; or for these
        names alone. It stands beside what it was given for before. OFF for some names erases
        their reports, and leaves the decision that stands.

        No decision of an epoch is undone by it (D4). Previews are discarded in any case. What is
        less than ON holds in this process at once, and stays so if it cannot be stored, until
        another decision is: refusals of names that could not be stored are stored with the next
        decision, whatever it is, but for what is agreed to by it. In a state that a newer version
        wrote, OFF erases nothing before that version runs again: it is kept beside the state.
        """
        heard = object()
        if names is not None and consent is Consent.OFF:
            self._refused |= dict.fromkeys(names, heard)
        else:
            self._heard = heard
            self._refusal = lower_consent(self._refusal, consent)
        waiting = dict(self._refused)
        refuses = waiting.keys() - (names or () if consent is Consent.ON else ())
        self.do(partial(self._store, consent, origin, now, names, heard, refuses))
        for name, before in waiting.items():
            if self._refused.get(name) is before:  # else a later refusal waits to be stored
                self._refused.pop(name, None)

    def _store(
        self,
        consent: Consent,
        origin: str,
        now: float,
        names: Collection[str] | None,
        heard: object,
        refuses: Collection[str],
    ) -> None:
        try:
            with self.transaction(now) as connection:
                self._decide(connection, consent, origin, now, names, refuses)
        except StateUnavailable as error:
            refuses_all = names is None and consent is Consent.OFF
            if refuses_all and isinstance(error.__cause__, NewerFile):
                self._keep_refusal(error)
                return
            raise
        if self._heard is heard:  # else a later refusal waits to be stored
            self._refusal = Consent.ON
        self.erase_remains()
        if consent is not Consent.ON:
            self.erase_damaged()

    def _decide(
        self,
        connection: sqlite3.Connection,
        consent: Consent,
        origin: str,
        now: float,
        names: Collection[str] | None = None,
        refuses: Collection[str] = (),
    ) -> None:
        # In the order of the declaration.
        chosen = [name for name in self._declared().surveys if names is None or name in names]
        of_some = names is not None and consent is Consent.OFF
        of_all = consent is not Consent.ON and not of_some
        withdrawn: Collection[str | None] = (None,) if of_all else refuses
        refuse(connection, refuses)
        if not of_some:
            connection.execute(
                "UPDATE device SET consent = ?, consent_at = ?, consent_from = ?",
                (consent.value, int(now), origin),
            )
            lift(connection, names or ())
            refused = given(connection) if consent is Consent.ON else ()
            chosen = [name for name in chosen if refusal(name) not in refused]
            chosen = chosen if consent is Consent.ON else []
            give(connection, map(self._declared().surveys.__getitem__, chosen))
        what = f", for {', '.join(chosen)}" if chosen else ""
        record_event(connection, now, "consent", f"{consent.value}, from {origin}{what}")
        self.advance(connection, now, erases=of_all)
        for name in withdrawn if of_some else (None,):
            connection.execute("DELETE FROM previews WHERE name = coalesce(?, name)", (name,))
        for name in withdrawn:
            erase_reports(connection, "consent-withdrawn", now, name)

    def _keep_refusal(self, error: StateUnavailable) -> None:
        """Keep a refusal beside a state that a newer version wrote, which this one cannot write.

        It must outlive the process: every version obeys the file, before all else in the state.
        """
        try:
            if self._path is not None:
                create_private(_refusal(self._path))
                with _refusal(self._path).open("r+b") as file:
                    os.fsync(file.fileno())
        except OSError:
            raise error from None

    def _open(self, now: float) -> sqlite3.Connection:
        connection = super()._open(now)
        if self._path is not None and (waiting := _refusal(self._path)).exists():
            with writing(connection):
                self._decide(connection, Consent.OFF, "an older version of the app", now)
            waiting.unlink(missing_ok=True)
        return connection

    @kept
    def purge(self, now: float) -> None:
        """Erase every byte that was or would be sent, certificates, memo keys and notes.

        No decision is undone by it (D4). If it raises, nothing was erased, what waits is still
        sent, and nothing remembers the wish: withdrawing consent is what stops sending at once.
        """
        if self._is_absent():
            self.erase_damaged()
            return
        with self.transaction(now) as connection:
            erase_reports(connection, "purged", now)
            # Whom it asked for a token stays known for that time: no other is to be asked.
            connection.execute(
                "DELETE FROM credentials WHERE NOT (blind AND asks > 0 AND ends > ?)", (int(now),)
            )
            connection.execute("DELETE FROM previews")
            connection.execute("DELETE FROM events")
            record_event(connection, now, "purge", "all report bytes erased")
            self.advance(connection, now, erases=True)
        self.erase_remains()
        self.erase_damaged()

    @kept
    def erase_remains(self) -> None:
        """Erase the copies of erased bytes in unused parts of the file and in its log, if any.

        What a full disk or another process prevents is done at a later call, or the next opening.
        """
        with suppress(sqlite3.Error):
            if self._connection is not None and not self._within:
                erase_remains(self._connection, self._patience())

    def erase_damaged(self, now: float | None = None) -> None:
        """Delete the damaged states that were set aside; given the time, a week ago."""
        if self._path is not None:
            erase_damaged(self._path, now)

    def look_at_clock(self, connection: sqlite3.Connection, now: float) -> int:
        """Count the time since the last look; return the seconds of use."""
        return look_at_clock(connection, now, self._boot())

    def lived_by(self, connection: sqlite3.Connection, now: float) -> int:
        """Return the seconds of use that a look would count now; nothing is changed."""
        return lived_by(connection, now, self._boot())

    def advance(
        self,
        connection: sqlite3.Connection,
        now: float,
        decided_for: float | None = None,
        *,
        erases: bool = False,
    ) -> None:
        """Count a change that no older copy of the state may undo.

        The mark is written first: a crash between it and the commit costs an epoch, the other way
        round an old backup could pass for the newest state. No epoch that begins before
        ``decided_for`` may be decided by whatever replaces this state. ``erases`` says that the
        user has all report bytes erased.
        """
        self.look_at_clock(connection, now)
        connection.execute(
            "UPDATE device SET generation = generation + 1, ledger_time = max(ledger_time, ?)",
            (int(max(now, decided_for or now)),),
        )
        self._check_process(connection)  # the mark is the parent's to write
        self._advanced = True
        if self._path is not None:
            Mark.of(connection, erases=erases).write(self._path)

    @kept
    def learn_date(self, date: float, now: float) -> None:
        """Trust the clock again, once an authenticated answer told the date.

        A state that is a copy, or came after a restore or a loss, decides nothing before, and from
        then on only epochs that begin later than both say that it is. Any other is not changed.
        """
        with self.transaction(now) as connection:
            (unsure,) = connection.execute("SELECT unsure FROM device").fetchone()
            if unsure:
                connection.execute(
                    "UPDATE device SET unsure = 0, fresh_from = max(fresh_from, ?)",
                    (int(max(now, date)),),
                )
                self.advance(connection, now, decided_for=date)


def _refusal(state: Path) -> Path:
    """Return the file that stands for a refusal which waits to be obeyed."""
    return state.with_name(f"{state.name}.refused")
