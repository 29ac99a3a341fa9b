"""The device's durable state, as the rest of the client uses it: consent, erasure, and counts.

1. A change that cannot be made durable did not happen: every failure of the disk is
   ``StateUnavailable``.
2. The exception is a user's refusal. It always takes effect in the process that receives it.
"""

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
from deniable.client.errors import ConsentMissing, NotCovered
from deniable.client.state.erasing import erase_remains, erase_reports, record_event
from deniable.client.state.mark import Mark, lived_by, look_at_clock
from deniable.client.state.transactions import Transactions, kept

_MISSING: Final = {
    Consent.UNSET: "nobody has consented on this device: ask the user, then call set_consent()",
    Consent.OFF: "consent is off: it was declined or withdrawn, and only the user can change that",
}
_NOT_COVERED: Final = (
    "the user has not agreed to this survey's current terms: ask again, then call set_consent()"
)


class State(Transactions):
    """One device's state in one SQLite file, opened when first needed.

    The process's environment is read at each call, since it can lower the user's decision. Methods
    with a connection argument are called within a transaction. All others raise
    ``StateUnavailable``, and run on the keeper's thread. The scope that the app ``declared``, if
    any, is computed when first needed.
    """

    def __init__(
        self,
        path: Path | None,
        initial_consent: Consent,
        environment: Mapping[str, str],
        boot_time: Callable[[], Boot | None] | None = None,
        declared: Callable[[], Declared] = dict,
        *,
        user_asked: bool = True,
    ) -> None:
        super().__init__(path, initial_consent, boot_time, declared, user_asked=user_asked)
        self._environment = environment
        self._refusal = Consent.ON  # an upper limit here: a refusal that could not be stored
        self._heard: object = None  # the user's latest decision
        # Likewise for names, each with its decision.
        self._refused: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"State({str(self._path) if self._path else 'in memory'!r})"

    @kept
    def consent(self, now: float) -> ConsentRecord:
        """Return the user's decision and the effective consent, without creating a file."""
        with self.existing(now, "BEGIN") as connection:
            return self.consent_in(connection)

    def consent_in(self, connection: sqlite3.Connection | None) -> ConsentRecord:
        """Return :meth:`consent` within a transaction; None if the state does not exist."""
        consent, since, origin = self._initial_consent, None, "initial"
        if connection is not None:
            consent, since, origin = connection.execute(
                "SELECT consent, consent_at, consent_from FROM device"
            ).fetchone()
        decided = Consent(consent)
        known = since if isinstance(since, int) else None  # a corrupted file
        names = names_of(self._given(connection))
        return ConsentRecord(decided, self._lowered(decided), known, str(origin), *names)

    def forbids_unread(self) -> bool:
        """Return, without opening anything, whether drawing is surely forbidden."""
        if self._lowered(Consent.ON) is not Consent.ON:
            return True
        unopened = self._initial_consent is not Consent.ON and self._connection is None
        return unopened and self.do(self._is_absent)

    def effective_consent(self, connection: sqlite3.Connection) -> Consent:
        """Return the consent that holds now."""
        (decided,) = connection.execute("SELECT consent FROM device").fetchone()
        return self._lowered(Consent(decided))

    def covers(self, connection: sqlite3.Connection | None, name: str) -> bool:
        """Return whether consent covers a survey as it is declared (D12)."""
        need, scopes = self._declared()[name], self._given(connection)
        return refusal(name) not in scopes and any(scope.covers(need) for scope in scopes)

    def agreed(
        self, connection: sqlite3.Connection | None, name: str
    ) -> tuple[Scope | None, Scope]:
        """Return the nearest scope for which consent was given, and the survey's declared scope."""
        need = self._declared()[name]
        near = [
            (scope.declared == need.declared, sum(map(ge, scope.bounds, need.bounds)), scope)
            for scope in self._given(connection)
            if scope.survey == name and len(scope.bounds) == len(need.bounds)
        ]
        return (max(near)[-1] if near else None), need

    def refused(self, connection: sqlite3.Connection | None) -> frozenset[str]:
        """Return the names that the user refused."""
        return frozenset(scope.survey for scope in refusals(self._given(connection)))

    def may_send(self, connection: sqlite3.Connection, name: str) -> bool:
        """Return whether reports to a name may be sent, or tokens for it requested."""
        consented = self.effective_consent(connection) is Consent.ON
        return consented and name not in self.refused(connection)

    def check_not_refused(self, connection: sqlite3.Connection | None, name: str) -> None:
        """Raise ``NotCovered`` if the user refused a name."""
        if name in self.refused(connection):
            raise NotCovered(
                "the user refused this survey: if they agree later, call set_consent('on', "
                "surveys=[...]) with this survey"
            )

    def check_covered(self, connection: sqlite3.Connection | None, name: str) -> None:
        """Raise ``NotCovered`` unless consent covers a survey as it is declared."""
        if not self.covers(connection, name):
            self.check_not_refused(connection, name)
            raise NotCovered(_NOT_COVERED)

    @kept
    def uncovered(self, now: float, *, to_ask: bool = False) -> frozenset[str]:
        """Return the names of the declared surveys that consent does not cover.

        These are all names while nobody has decided, and none after a decision below ON. With
        ``to_ask``, names that the user refused are omitted.
        """
        with self.existing(now, "BEGIN") as connection:
            record = self.consent_in(connection)
            if record.effective not in {Consent.ON, Consent.UNSET}:
                return frozenset()
            return frozenset(
                name
                for name in self._declared()
                if not (record.effective is Consent.ON and self.covers(connection, name))
                and not (to_ask and name in record.refused)
            )

    def _given(self, connection: sqlite3.Connection | None) -> list[Scope]:
        """Return the scopes for which consent was given, or will be given once a state exists.

        The refusals are included, even those that could not be stored.
        """
        stored = self._first_scopes() if connection is None else given(connection)
        return [*map(refusal, tuple(self._refused)), *stored]

    def _first_scopes(self) -> Iterable[Scope]:
        claims = self._initial_consent is Consent.ON
        return self._declared().values() if claims else ()

    def missing_consent(self, decided: Consent) -> ConsentMissing:
        """Return the error that explains why this decision permits nothing."""
        reason = _MISSING.get(decided, _MISSING[Consent.UNSET])
        if self._refusal is not Consent.ON:
            reason = "the withdrawal of consent is not stored yet: call set_consent() again"
        elif self._lowered(Consent.ON) is not Consent.ON:
            reason = "DO_NOT_TRACK or DENIABLE_CONSENT in the environment turns consent off"
        return ConsentMissing(reason)

    def _lowered(self, decided: Consent) -> Consent:
        return lowered_by_environment(lower_consent(decided, self._refusal), self._environment)

    def set_consent(
        self, consent: Consent, origin: str, now: float, names: Collection[str] | None = None
    ) -> None:
        """Store a decision of the user, as ``Client.set_consent`` documents.

        A decision below ON takes effect in this process at once, and remains until another is
        stored. Refusals of names that could not be stored are stored with the next decision, except
        for names that it agrees to.
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
            if self._refused.get(name) is before:  # otherwise a later refusal waits to be stored
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
        with self.transaction(now) as connection:
            self._decide(connection, consent, origin, now, names, refuses)
        if self._heard is heard:  # otherwise a later refusal waits to be stored
            self._refusal = Consent.ON
        self.erase_remains()

    def _decide(
        self,
        connection: sqlite3.Connection,
        consent: Consent,
        origin: str,
        now: float,
        names: Collection[str] | None,
        refuses: Collection[str],
    ) -> None:
        # In the order of the declaration.
        chosen = [name for name in self._declared() if names is None or name in names]
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
            give(connection, [self._declared()[name] for name in chosen])
        what = f", for {', '.join(chosen)}" if chosen else ""
        record_event(connection, now, "consent", f"{consent.value}, from {origin}{what}")
        self.advance(connection, now, erases=of_all)
        for name in withdrawn:
            erase_reports(connection, "consent-withdrawn", now, name)

    @kept
    def purge(self, now: float) -> None:
        """Erase all bytes that were or would be sent, certificates, memo keys and notes.

        No decision is undone (D4). If the purge raises, nothing was erased, waiting reports are
        still sent, and the request is not remembered. To stop sending at once, withdraw consent.
        """
        if self._is_absent():
            return
        with self.transaction(now) as connection:
            erase_reports(connection, "purged", now)
            # The issuer asked for a token stays recorded: until then, no other may be asked.
            connection.execute(
                "DELETE FROM credentials WHERE NOT (blind AND asks > 0 AND ends > ?)", (int(now),)
            )
            connection.execute("DELETE FROM events")
            record_event(connection, now, "purge", "all report bytes erased")
            self.advance(connection, now, erases=True)
        self.erase_remains()

    @kept
    def erase_remains(self) -> None:
        """Erase the copies of erased bytes in unused parts of the file and in its log, if any.

        If a full disk or another process prevents this, a later call or the next opening does it.
        """
        with suppress(sqlite3.Error):
            if self._connection is not None and not self._within:
                erase_remains(self._connection, self._patience())

    def look_at_clock(self, connection: sqlite3.Connection, now: float) -> int:
        """Count the time since the last reading; return the seconds of use."""
        return look_at_clock(connection, now, self._boot())

    def lived_by(self, connection: sqlite3.Connection, now: float) -> int:
        """Return the seconds of use that a reading would count now, without changing anything."""
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

        The mark is written first. A crash between it and the commit costs an epoch; in the other
        order an old backup could pass for the newest state. A state that replaces this one may
        decide no epoch that begins before ``decided_for``. ``erases`` means that the user has all
        report bytes erased.
        """
        self.look_at_clock(connection, now)
        connection.execute(
            "UPDATE device SET generation = generation + 1, ledger_time = max(ledger_time, ?)",
            (int(max(now, decided_for or now)),),
        )
        self._check_process(connection)  # only the parent may write the mark
        self._advanced = True
        if self._path is not None:
            Mark.of(connection, erases=erases).write(self._path)

    @kept
    def learn_date(self, date: float, now: float) -> None:
        """Trust the clock again after an authenticated answer with the date.

        A copied, restored or replacement state decides nothing before that. Afterwards it decides
        only epochs that begin later than both the date and ``now``. Any other state is unchanged.
        """
        with self.transaction(now) as connection:
            (unsure,) = connection.execute("SELECT unsure FROM device").fetchone()
            if unsure:
                connection.execute(
                    "UPDATE device SET unsure = 0, fresh_from = max(fresh_from, ?)",
                    (int(max(now, date)),),
                )
                self.advance(connection, now, decided_for=date)
