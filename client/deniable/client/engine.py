"""The engine of a client: its state, ledger, manifests and threads, wired from its arguments.

Constructing it uses neither disk nor network. It raises for outside causes only where documented.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from deniable.client.client_settings import Arguments, checked_consent
from deniable.client.clock import SystemClock
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.errors import (
    ConsentMissing,
    ManifestRefused,
    NotReady,
    NotRecorded,
    NotRunning,
    StateUnavailable,
    drop_frames,
)
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.following import Following
from deniable.client.ledger.ledger import Ledger
from deniable.client.ledger.refreshes import Refreshes
from deniable.client.manifests import Manifests
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.delays import LaunchDelay, report_delay
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.reply import LONGEST_REST
from deniable.client.sending.transport import REQUEST_SECONDS
from deniable.client.sending.uploader import Uploader
from deniable.client.state import state_file
from deniable.client.state.state import State
from deniable.client.state.transactions import INTERRUPTED, kept
from deniable.client.survey import Answer, Survey
from deniable.client.threads import Call, call_aside, say_held, start_daemon

if TYPE_CHECKING:
    from deniable.client.explaining.explanation import Explanation
    from deniable.client.explaining.journal import Journal
    from deniable.terms.sentences import Translate

_LOG = logging.getLogger("deniable")
_T = TypeVar("_T")

CLOSE_SECONDS: Final = 1.0
REPORT_PATIENCE = 0.1
"""How long ``report`` waits for other processes or threads to release the state."""

LOOK_SECONDS: Final = 1.0
"""How long calls that only read the state wait, for an app that wants to show it."""

REFRESH_SECONDS: Final = 5.0
"""The longest time that ``refresh`` takes unless the app says otherwise."""


class Engine:
    """The engine of a client, with the methods of ``Client``, which documents them."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        settings = arguments.settings
        self.jitter = uniform
        clock = self._clock = settings.clock
        longest, relayed = settings.delivery_seconds, arguments.way.relayed

        def delay(closes: float) -> float:
            return report_delay(closes, clock.now(), longest, self.jitter())

        self.issuer = arguments.issuer()
        self.state = State(
            arguments.state,
            arguments.consent,
            settings.environment,
            clock.boot_time if isinstance(clock, SystemClock) else None,
            lambda: arguments.scopes,
            user_asked=arguments.user_asked,
        )
        pin = arguments.log_pin
        authorities = Authorities(self.state, arguments.authority, pin)
        following = Following(
            authorities,
            arguments.allowance,
            arguments.collector,
            pin,
            arguments.surveys,
            self.issuer,
        )
        self.ledger = Ledger(following, delay, settings.unsafe_draw, relayed=relayed)
        self._keyring, transport = arguments.way.reached(arguments.transport, authorities, clock)
        self.launch = LaunchDelay(self.state, arguments.collector, clock, self.jitter, longest)
        self.manifests = Manifests(
            self.ledger,
            self._keyring,
            transport,
            Refreshes(self.state, arguments.collector, self.jitter, longest),
            arguments,
            self.check_consent,
            lambda in_background: max(
                self.uploader.silence(), self.launch.hold() if in_background else 0.0
            ),
            lambda: self.state.uncovered(clock.now()),
        )
        self.outbox = Outbox(
            self.state,
            arguments.collector,
            max(longest, LONGEST_REST),
            self.issuer,
            relayed=relayed,
        )
        self.uploader = Uploader(
            self.outbox,
            transport,
            clock,
            self.launch,
            jitter=self.jitter,
            spread=delay,
            maintenance=self.run_maintenance,
            asks=self.issuer.step,
        )
        self.issuer.attach(self.ledger, self.jitter, delay, self.uploader.wake, self.launch.hold)

    def decide(self, survey: Survey | str, answer: Answer) -> Outcome:
        """Record a response to the answer: the half of ``report`` that sees the answer."""
        declared = self.arguments.declared(survey)
        index = declared.index_of(answer)
        try:
            with self.state.patience(REPORT_PATIENCE):
                return self._decide(declared, index)
        except NotRecorded as error:
            return Outcome(declared.name, OutcomeStatus.NOT_RECORDED, error=drop_frames(error))

    def follow_up(self, outcome: Outcome) -> None:
        """Log the outcome of a report and trigger its sending: the second half of ``report``."""
        why = f"epoch {outcome.epoch}" if outcome.error is None else str(outcome.error)
        _LOG.info("survey %s: %s: %s", outcome.survey, outcome.status, why)
        # Covered surveys continue, even if this survey is not among them.
        if self.arguments.background and type(outcome.error) is not ConsentMissing:
            self.uploader.start()
        say_held()

    def refresh(self, timeout: float, *, force: bool) -> Refresh:
        """Fetch the manifests that are due, and ask for the certificates that are needed."""
        end = time.monotonic() + timeout
        try:
            refresh = partial(self._refresh, timeout, end, force)
            refreshed = self._aside(refresh, timeout + self.issuer.takes)
        except StateUnavailable as error:
            refreshed = self._not_refreshed(error)
        say_held()
        for name, why in refreshed.errors.items():
            _LOG.info("survey %s: not ready: %s", name, str(why))
        return refreshed

    def _refresh(self, timeout: float, end: float, force: bool) -> Refresh:
        try:
            with self.state.patience(end - time.monotonic()):
                later = self.manifests.refresh(timeout, force=force or self.issuer.wants_tokens())
            enrolled = self.issuer.ask_now()
        except NotRecorded as error:
            return self._not_refreshed(error)
        with self.state.patience(end - time.monotonic()):
            return self._readiness(later, enrolled)

    def _not_refreshed(self, error: NotRecorded) -> Refresh:
        return Refresh((), dict.fromkeys(self.arguments.surveys, drop_frames(error)))

    def flush(self, timeout: float, due_only: bool) -> Delivery:
        """Send waiting reports now."""
        try:
            return self._aside(partial(self.uploader.flush, timeout, due_only), timeout)
        except StateUnavailable as error:
            return Delivery(pending=None, error=drop_frames(error))
        except BaseException:
            self.uploader.interrupt()
            raise
        finally:
            say_held()

    def _aside(self, work: Callable[[], _T], seconds: float) -> _T:
        """Run a function on a different thread, unless that would wait for this one."""
        if self.state.keeper.is_here():
            raise StateUnavailable(INTERRUPTED)
        return call_aside(work, seconds)

    @contextmanager
    def _asking(self, seconds: float) -> Iterator[None]:
        """Limit the wait for others that use the state; then log the state's warnings."""
        try:
            with self.state.patience(seconds):
                yield
        finally:
            say_held()

    def consent_record(self) -> ConsentRecord:
        """Return the user's decision, and the consent in effect."""
        with self._asking(LOOK_SECONDS):
            return self.state.consent(self._clock.now())

    def uncovered(self) -> frozenset[str]:
        """Return the names of the surveys for which the user must still be asked."""
        with self._asking(LOOK_SECONDS):
            return self.state.uncovered(self._clock.now(), to_ask=True)

    def unanswered(self) -> frozenset[str]:
        """Return the names of the surveys to which a response would be recorded now."""
        with self._asking(LOOK_SECONDS):
            surveys = {} if self.state.forbids_unread() else self.arguments.surveys
            return frozenset(name for name in surveys if self._is_unanswered(surveys[name]))

    def _is_unanswered(self, survey: Survey) -> bool:
        standing = self.ledger.look(survey, self._clock.now())
        if isinstance(standing, NotReady | NotRunning | ManifestRefused):
            self.manifests.offer_bundled(survey)
            standing = self.ledger.look(survey, self._clock.now())
        return standing is None

    def set_consent(
        self, consent: Consent | str, origin: str, surveys: Iterable[Survey | str] | None
    ) -> None:
        """Store the user's decision."""
        decided = checked_consent(consent)
        text = origin.encode(errors="replace").decode()  # no text may prevent withdrawal
        names = self.arguments.chosen(decided, surveys)
        with self._asking(state_file.BUSY_SECONDS):
            self.state.set_consent(decided, text, self._clock.now(), names)
        if decided is Consent.ON:
            self.start()

    def purge(self) -> None:
        """Erase from disk the bytes that were or would be sent."""
        with self._asking(state_file.BUSY_SECONDS):
            self.state.purge(self._clock.now())

    def explain(self, translate: "Translate" = str) -> "Explanation":
        """Return the explanation: possible questions, their terms, and the cost so far."""
        from deniable.client.explaining import explain  # only on request

        known = self.manifests.errors, self.manifests.bundled
        app = explain.App(self.arguments, *known, self._keyring, translate)
        with self._asking(LOOK_SECONDS):
            return explain.explain_declared(self.state, self.ledger, app, self._clock.now())

    def journal(self) -> "Journal":
        """Return the journal of everything stored and sent."""
        from deniable.client.explaining.journal import read_journal  # only on request

        with self._asking(LOOK_SECONDS):
            return read_journal(self.state, self._clock.now())

    def start(self) -> None:
        """Start the thread, if there is consent."""
        if not self.arguments.background:
            return
        with self._asking(LOOK_SECONDS):
            try:
                self.check_consent()
            except NotRecorded as error:
                _LOG.info("the thread was not started: %s", error)
            else:
                self.uploader.start()

    def close(self) -> None:
        """End the threads and close the state."""
        if self.state.keeper.is_here():  # in a finaliser, which must not wait
            start_daemon(Call(self._close, math.inf).run)
            return
        with suppress(StateUnavailable):
            call_aside(self._close, CLOSE_SECONDS)
        say_held()

    def _close(self) -> None:
        deadline = time.monotonic() + CLOSE_SECONDS
        self.issuer.stop()
        self.uploader.stop()
        self.issuer.join(deadline)
        with self.state.patience(deadline - time.monotonic()):
            self.state.close()

    @kept
    def check_consent(self, survey: str | None = None) -> None:
        """Raise ``ConsentMissing`` unless there is consent, and it covers the given survey."""
        with self.state.existing(self._clock.now(), "BEGIN") as connection:
            record = self.state.consent_in(connection)
            if record.effective is not Consent.ON:
                raise self.state.missing_consent(record.decided)
            if survey is not None:
                self.state.check_covered(connection, survey)

    def run_maintenance(self) -> float:
        """Run due maintenance except sending; return the seconds until more is due."""
        wait = max(0.0, self.refresh_when_due() - self._clock.monotonic())
        return min(wait, self.issuer.step())  # for new manifests

    def refresh_when_due(self) -> float:
        """Fetch the manifests that are due; return when more may be, by the monotonic clock."""
        waited = self.manifests.uncovered  # any process may have given consent since
        token_request = self.issuer.asked_tokens()
        due = token_request or self._clock.monotonic() >= self.manifests.next_refresh
        if due or (waited and waited != self.state.uncovered(self._clock.now())):
            try:
                self.manifests.refresh(REQUEST_SECONDS, force=token_request, in_background=True)
            except NotRecorded as error:
                _LOG.info("no manifests are fetched: %s", error)
                return math.inf  # new consent wakes the thread, and so does the next report
        return self.manifests.next_refresh

    def _readiness(
        self, later: Mapping[str, float], enrolled: Mapping[str, NotRecorded]
    ) -> Refresh:
        """Return the surveys that can be reported after a refresh, and why others cannot."""
        refused = self.manifests.errors
        ready: list[str] = []
        errors: dict[str, NotRecorded] = {}
        for name, survey in self.arguments.surveys.items():
            why_not = self.ledger.look(survey, self._clock.now())
            if not isinstance(why_not, NotRecorded):
                ready.append(name)
            elif name in enrolled or name in refused:
                errors[name] = refused.get(name) or enrolled[name]
            elif name in later and type(why_not) is NotReady:
                errors[name] = NotReady(
                    "no manifest yet; the client asks the collector again in "
                    f"{math.ceil(later[name] / 60)} minutes, or when you call refresh(force=True)"
                )
            else:
                errors[name] = drop_frames(why_not)
        declined = {name: refused[name] for name in ready if name in refused}
        return Refresh(tuple(ready), errors, declined, later)

    def _decide(self, survey: Survey, index: int) -> Outcome:
        now = self._clock.now()
        if self.state.forbids_unread():
            raise self.state.missing_consent(Consent.UNSET)
        try:
            return self.ledger.decide(survey, index, now)
        except (NotReady, NotRunning, ManifestRefused):
            return self._decide_by_bundle(survey, index, now)

    def _decide_by_bundle(self, survey: Survey, index: int, now: float) -> Outcome:
        # A copy: a raised error collects frames, and those contain the answer.
        refused = self.manifests.offer_bundled(survey) or copy(
            self.manifests.errors.get(survey.name)
        )
        try:
            return self.ledger.decide(survey, index, now)
        except NotReady as error:
            raise (refused if type(error) is NotReady and refused else error) from None


substitutes: Final[list[Callable[[Engine], Engine]]] = []
"""For the tests of apps: the last one returns the replacement of each client's engine."""


def acting_for(engine: Engine) -> Engine:
    """Return the engine that acts for a client: its own, except in the tests of apps."""
    substitute = next(reversed(substitutes), None)
    return engine if substitute is None else substitute(engine)


def uniform() -> float:
    """Return a number in [0, 1) from the operating system's generator, for times, not for noise."""
    return int.from_bytes(os.urandom(6)) / 2**48
