"""Requests to the app's callback for credentials, so that its faults cannot harm the app.

1. The callback is called on a separate daemon thread, which lasts as long as the call. While it
   hangs, other surveys' reports are sent, and no second call is made. Alternatively, ``refresh()``
   calls it on its own daemon thread.
2. All its errors and results are handled here. A result is verified before it is kept.
3. Closing waits at most a second for it, and ignores later results: it is asked again.
4. A forked child asks anew, whatever the parent's thread was doing.
5. The fate of reports never changes when or whether an issuer is asked. Otherwise anybody with both
   the issuer's and the collector's data could find the accounts behind those reports.
"""

import logging
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from types import CoroutineType
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import (
    ManifestFault,
    ManifestRefused,
    NotChosen,
    NotEnrolled,
    NotRecorded,
)
from deniable.client.ledger.ledger import Ledger, device_secret
from deniable.client.optional.credentials import (
    ASKING_SECONDS,
    CredentialKey,
    Credentials,
    Enrol,
    Wanted,
    asked_elsewhere,
    chosen_survey,
    held_credential,
    leaves_at,
    middle,
)
from deniable.client.parts import Leaving, NoIssuer
from deniable.client.sending.reply import BACKOFF
from deniable.client.threads import Forkable, Taken, Turn, keep_through_forks
from deniable.messages import Manifest, Refusal

_LOG = logging.getLogger("deniable")
_CLAIM_SECONDS: Final = 60.0
_STATUSES: Final = range(100, 600)


class Enrolling(NoIssuer, Forkable):
    """The enrolment that gets credentials for reportable epochs before there is an answer.

    ``wake`` wakes the sending thread; ``hold`` returns how long due requests still have to wait.
    """

    takes = inf

    def __init__(self, enrol: Enrol, clock: Clock, spread: float) -> None:
        self._enrol = enrol
        self._clock = clock
        self._longest = max(spread, BACKOFF.most, _CLAIM_SECONDS, ASKING_SECONDS)
        self._asking = Turn()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._asked_tokens = False  # in the background, since the last fetch
        self._abandoned = False
        self._warned = False
        self._rests = -inf
        keep_through_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Make a new lock and no thread in a child process."""
        if in_child:
            self._asking, self._thread, self._asked_tokens = Turn(), None, False

    def attach(
        self,
        ledger: Ledger,
        jitter: Callable[[], float],
        spread: Callable[[float], float],
        wake: Callable[[], None],
        hold: Callable[[], float],
    ) -> None:
        """Set the objects that it works with, before any other call."""
        self._following = ledger.following
        self._credentials = Credentials(ledger, spread)
        self._jitter = jitter
        self._wake = wake
        self._hold = hold

    def followed(self, connection: sqlite3.Connection) -> tuple[Manifest, ...]:
        """Return the followed manifests with blind enrolment, for all declared names."""
        return tuple(
            manifest
            for name in self._following.surveys
            for manifest in self._following.accepted(connection, name)
            if manifest.enrolment.mode == "blind"
        )

    def check(self, manifest: Manifest, followed: Iterable[Manifest]) -> None:
        """Raise ``ManifestRefused`` unless all blind surveys have one grid of epochs."""
        for other in followed if manifest.enrolment.mode == "blind" else ():
            if other.enrolment.mode == "blind" and not manifest.schedule.meshes(other.schedule):
                raise ManifestRefused(
                    ManifestFault.ENROLMENT,
                    f"the survey must have the same epochs as {other.name!r}, which is also blind: "
                    "a device answers only one blind survey per epoch",
                )

    def check_chosen(self, connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> None:
        """Raise ``NotChosen`` if a different blind survey is answered in the epoch."""
        blind = manifest.enrolment.mode == "blind"
        if blind and self.drawn_survey(connection, manifest, epoch) != manifest.name:
            raise NotChosen(
                f"in epoch {epoch}, this device answers a different blind survey, chosen at "
                "random beforehand: nothing needs to be done"
            )

    def drawn_survey(self, connection: sqlite3.Connection, manifest: Manifest, epoch: int) -> str:
        """Return the blind survey that is answered in this epoch of one of them.

        It is drawn among the surveys that consent covers and that have a key for it. If a survey's
        issuer was asked for a token, that survey stays drawn, even if the app no longer asks it.
        """
        starts, ends = map(manifest.schedule.epoch_start, (epoch, epoch + 1))
        names = {
            other.name
            for other in self.followed(connection)
            if self._following.fits(other, self._following.surveys[other.name])
            and (number := other.schedule.epoch_at(starts)) is not None
            and other.enrolment.key_of(number) is not None
            and self._following.state.covers(connection, other.name)
        }
        rows = connection.execute(
            "SELECT name FROM credentials WHERE blind AND asks > 0 AND ends = ?", (ends,)
        ).fetchall()
        known = {name for (name,) in rows} or names
        return chosen_survey(device_secret(connection), starts, known or {manifest.name})

    def credential(
        self, connection: sqlite3.Connection, manifest: Manifest, epoch: int, now: float
    ) -> bytes | None:
        """Return the credential that a report must have; None in an open survey."""
        if manifest.enrolment.mode == "open":
            return None
        held = held_credential(connection, CredentialKey(manifest.name, manifest.survey_id, epoch))
        if held is None:
            remedy = "wait for the background thread, or call refresh()"
            late = manifest.enrolment.mode == "blind" and now >= middle(manifest, epoch)
            if late or asked_elsewhere(connection, manifest, epoch):
                remedy = (
                    "tokens are requested once, in the epoch's first half; wait for the next epoch"
                )
            raise NotEnrolled(
                f"no issuer has vouched for this device in epoch {epoch} yet: {remedy}"
            )
        return held

    def leaving(
        self,
        connection: sqlite3.Connection,
        manifest: Manifest,
        epoch: int,
        now: float,
        due: float,
    ) -> Leaving:
        """Return the times of a report decided now; with a token, they were drawn before."""
        if manifest.enrolment.mode != "blind":
            return Leaving(due)
        leaves = leaves_at(device_secret(connection), manifest, epoch, now)
        ends = float(manifest.schedule.epoch_start(epoch + 1))
        return Leaving(leaves, leaves, middle(manifest, epoch), ends)

    def renewals(self, connection: sqlite3.Connection) -> Mapping[tuple[str, int], bool]:
        """Return the reports that may get a new certificate, and whether one waits for it."""
        rows = connection.execute(
            "SELECT d.name, d.epoch, c.renewal FROM credentials c JOIN decisions d"
            " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
            " WHERE d.status = 'pending' AND c.renewal IN (0, 1) AND (c.renewal OR NOT c.blind)"
        ).fetchall()
        return {(name, epoch): bool(waits) for name, epoch, waits in rows}

    def renew(self, connection: sqlite3.Connection, name: str, epoch: int, due: float) -> None:
        """Note once that a report needs a new certificate, to be requested from ``due`` on."""
        connection.execute(
            "UPDATE credentials SET credential = NULL, renewal = 1, due = :due"
            " WHERE name = :name AND epoch = :epoch AND renewal = 0 AND NOT blind AND survey_id = ("
            "SELECT survey_id FROM decisions"
            " WHERE name = :name AND epoch = :epoch AND status = 'pending')",
            {"name": name, "epoch": epoch, "due": float(due)},
        )

    def step(self) -> float:
        """Start requesting due credentials, without waiting; return the seconds to the next."""
        rest = self._rests - self._clock.monotonic()
        if rest > 0:
            return rest
        asking = None if self._stopping or sys.is_finalizing() else self._asking.take()
        if asking is None:
            return inf  # the request wakes this thread when it ends
        begun = False
        try:
            now = self._clock.now()
            wanted, begins = self._credentials.plan(now)
            due = [
                certificate
                for certificate in wanted
                if not now < certificate.due <= now + self._longest
            ]
            if due and (held := self._hold()):
                return held
            if due:
                self._asked_tokens |= any(certificate.is_token for certificate in due)
                # Assigned before it starts, since closing must find it.
                self._thread = thread = threading.Thread(
                    target=self._ask_all, args=(due, asking), name="deniable-enrol", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads
                    _LOG.warning("enrolment is waiting: %s", error)
                    return _CLAIM_SECONDS
                begun = True
        finally:
            if not begun:
                asking.give_back()
        later = [certificate.due for certificate in wanted if certificate not in due]
        return max(0.0, min([*later, begins]) - now)

    def wants_tokens(self) -> bool:
        """Return whether :meth:`ask_now` would request a token."""
        wanted, _ = self._credentials.plan(self._clock.now())
        return any(certificate.is_token for certificate in wanted)

    def asked_tokens(self) -> bool:
        """Return whether :meth:`step` has requested a token since the last call of this method."""
        before, self._asked_tokens = self._asked_tokens, False
        return before

    def ask_now(self) -> dict[str, NotRecorded]:
        """Request the needed credentials, and wait; return why one is missing, by survey."""
        asking = self._asking.take()
        try:
            wanted, _ = self._credentials.plan(self._clock.now())
            if asking is None:
                under_way = "the issuer is being asked already"
                return {certificate.key.name: NotEnrolled(under_way) for certificate in wanted}
            results = [(certificate.key.name, self._ask(certificate)) for certificate in wanted]
            return {name: NotEnrolled(why_not) for name, why_not in results if why_not}
        finally:
            if asking is not None:
                asking.give_back()

    def stop(self) -> None:
        """Ask no more; :meth:`join` handles calls that have already started."""
        self._stopping = True

    def join(self, deadline: float) -> None:
        """Wait for a running call, by a deadline of ``time.monotonic()``; then leave it."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
        self._abandoned = True

    def _ask_all(self, due: Iterable[Wanted], asking: Taken) -> None:
        try:
            for certificate in due:
                if not self._stopping:
                    self._ask(certificate)
        except BaseException as error:  # noqa: BLE001 - even an exit ends no more than this call
            self._rests = self._clock.monotonic() + _CLAIM_SECONDS  # not to ask again at once
            if isinstance(error, NotRecorded):
                _LOG.info("enrolment is waiting: %s", error)  # the state has warned of its outage
            else:
                self._warn_once(f"unexpected {type(error).__name__}")
                _LOG.debug("unexpected error", exc_info=True)
        finally:
            asking.give_back()
            self._wake()

    def _ask(self, wanted: Wanted) -> str:
        """Ask once and keep the result; return why there is no result, or an empty text."""
        now = self._clock.now()
        if not self._credentials.begin(wanted, now + _CLAIM_SECONDS, now):
            return "the issuer is already being asked, or does not have to be asked"
        try:
            given: object = self._enrol(wanted.request)
        except Exception as error:  # noqa: BLE001 - the app's own, whatever it is
            return self._fail(wanted, f"enrol= raised {type(error).__name__}{_status(error)}")
        if self._abandoned and self._thread is threading.current_thread():
            return "the client was closed meanwhile"
        if given is None:
            return self._decline(wanted)
        if not isinstance(given, bytes):
            if isinstance(given, CoroutineType):
                given.close()  # or Python would warn that the coroutine was never awaited
            return self._fail(wanted, f"enrol= returned {type(given).__name__}, not bytes")
        try:
            credential, issuer = wanted.verified(given)
        except Refusal:
            return self._fail(wanted, "enrol= returned bytes that no issuer of this survey signed")
        self._warned = False
        return self._credentials.keep(wanted, credential, issuer, self._clock.now())

    def _fail(self, wanted: Wanted, why: str) -> str:
        self._warn_once(why)
        now = self._clock.now()
        due = now + BACKOFF.seconds(wanted.asks, self._jitter())
        self._credentials.postpone(wanted, due, now)
        return f"{why}; the issuer will be asked again later"

    def _decline(self, wanted: Wanted) -> str:
        now = self._clock.now()
        if wanted.renewal:
            self._credentials.decline(wanted, now)
            return "the collector refused the certificate, and the issuer did not issue a new one"
        # Perhaps nobody is signed in yet.
        due = now + BACKOFF.most * (1 - self._jitter() / 2)
        self._credentials.postpone(wanted, due, now)
        return (
            "enrol= returned None, so no issuer vouches for this device now; enrol= will be "
            "called again"
        )

    def _warn_once(self, why: str) -> None:
        """Log one line per outage, not per call."""
        if not self._warned:
            self._warned = True
            _LOG.warning("enrolment is waiting: %s", why)


def _status(error: Exception) -> str:
    """Return the HTTP status that urllib's errors have as ``code``, others as ``status``.

    Nothing else from an app's error is repeated: its message may contain a secret.
    """
    for name in ("code", "status"):
        value = getattr(error, name, None)
        if type(value) is int and value in _STATUSES:
            return f" (HTTP {value})"
    return ""
