"""The client: what an app embeds.

It is a plain object, usable from any thread. Constructing it touches neither disk nor network;
``report()`` never waits for the network and never raises for what the world does.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeVar

from deniable.budget import Ceiling, epsilon_to_nano
from deniable.client.arguments import (
    InMemory,
    authority_key,
    bundled_envelopes,
    checked_consent,
    checked_enrol,
    checked_origin,
    state_path,
    surveys_by_name,
)
from deniable.client.clock import Clock, SystemClock
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.daemon_call import daemon_call
from deniable.client.enrolling.credentials import Credentials
from deniable.client.enrolling.enroller import Enroller
from deniable.client.enrolment import Enrol
from deniable.client.errors import (
    ConsentMissing,
    NotEnrolled,
    NotReady,
    NotRecorded,
    UndeclaredAnswer,
    UndeclaredSurvey,
    drop_frames,
)
from deniable.client.ledger.allowance import Allowance, SlidingCeiling
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.caps import OutboxCaps
from deniable.client.ledger.ledger import Decision, Ledger
from deniable.client.manifests import Manifests, is_judged
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.delivery import Backoff
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.transport import HttpTransport, Transport
from deniable.client.sending.uploader import Uploader
from deniable.client.state.state import State
from deniable.client.survey import DAY, Answer, Survey
from deniable.mechanisms import Draw, Number, os_random_word

if TYPE_CHECKING:
    from deniable.client.transparency.explanation import Explanation
    from deniable.client.transparency.journal import Journal

__all__ = ["DEFAULT_LIFETIME_EPSILON", "Client"]

_LOG = logging.getLogger("deniable")
_T = TypeVar("_T")


DEFAULT_LIFETIME_EPSILON: Final = 20
"""What a device spends on all surveys together unless the app says otherwise."""

_CLOSE_SECONDS: Final = 1.0

_RETRY_SECONDS: Final = 600
"""How soon the thread asks again for a manifest that it could not get; else once a day."""


class Client:
    """One device's side of one collector.

    Args:
        collector: the collector's origin, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        authority: the public key that signs its manifests, or has handed over to the one that
            does: 32 bytes, or 64 hex digits.
        surveys: what the app is willing to ask; declared here, before any answer exists (D1).
        state: path of the state file, private to this app and user.
        consent: what a new state starts with. A stored decision of the user wins.
        lifetime_epsilon: what this device will ever spend on all surveys together. A manifest
            reserves all its epochs when it is accepted (D3).
        sliding: what it will spend within a period, in addition.
        manifests: signed manifests bundled with the app, so that it can report before it was
            ever online.
        enrol: asked for a certificate of the app's own backend, for surveys that demand one: at the
            start of each epoch, at a random time as sends are, before there is an answer. A plain
            function, called on a daemon thread or by ``refresh``; see ``EnrolmentRequest``. Without
            it such surveys are refused.
        background: whether a daemon thread sends and refreshes; else ``flush`` and ``refresh`` do.
        delivery_seconds: reports are sent at a random time within so many seconds (D7).
        linkable_batches: send all that is due in one request instead of one report a request. It
            saves connections, and tells the collector and the network that these reports come from
            one device: batches link what the keys of each survey and epoch keep apart (D7).
        caps: how much may wait; beyond, the oldest reports are dropped.
        backoff: how long to wait between sends of one report.
        clock, transport: for tests and unusual networks.
        environment: what may lower the user's consent, by default the process's; read at each call.
        unsafe_draw: for tests; any source but the default makes answers public.

    Raises:
        ValueError, TypeError: for arguments that no client could work with.
    """

    def __init__(
        self,
        collector: str,
        *,
        authority: bytes | str,
        surveys: Iterable[Survey],
        state: str | PathLike[str] | InMemory,
        consent: Consent | str = Consent.UNSET,
        lifetime_epsilon: Number = DEFAULT_LIFETIME_EPSILON,
        sliding: SlidingCeiling | None = None,
        manifests: Iterable[bytes] = (),
        enrol: Enrol | None = None,
        background: bool = True,
        delivery_seconds: float = 3600.0,
        linkable_batches: bool = False,
        caps: OutboxCaps | None = None,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        transport: Transport | None = None,
        environment: Mapping[str, str] | None = None,
        unsafe_draw: Draw | None = None,
    ) -> None:
        for name, given, kind in (
            ("sliding", sliding, SlidingCeiling),
            ("caps", caps, OutboxCaps),
            ("backoff", backoff, Backoff),
        ):
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"{name} must be None or {kind.__name__}(...)")
        if not 0 <= delivery_seconds < math.inf:
            raise ValueError("delivery_seconds must be a number of seconds, from 0 on")
        self._collector = checked_origin(collector)
        self._surveys = surveys_by_name(surveys)
        lifetime = Ceiling(epsilon_to_nano("lifetime_epsilon", lifetime_epsilon))
        self._allowance = Allowance(lifetime, sliding)
        self._background = background
        self._delivery_seconds = delivery_seconds
        self._linkable_batches = linkable_batches
        self._clock = clock or SystemClock()
        self._transport = transport or HttpTransport(collector)
        self._draw = unsafe_draw or os_random_word
        self._jitter = _uniform
        # No default of the signature: help() and crash reporters would print every variable.
        environment = os.environ if environment is None else environment
        self._state = State(state_path(state), checked_consent(consent), environment)
        caps = caps or OutboxCaps()
        authorities = Authorities(self._state, authority_key(authority))
        enrols = checked_enrol(enrol) is not None
        self._ledger = Ledger(self._state, authorities, collector, caps, enrols=enrols)
        self._manifests = Manifests(
            self._ledger,
            authorities,
            self._allowance,
            collector,
            bundled_envelopes(manifests),
            self._transport,
            self._clock,
            self._check_consent,
        )
        backoff = backoff or Backoff()
        self._uploader = Uploader(
            Outbox(self._state, collector, caps, enrols=enrols),
            self._transport,
            self._clock,
            backoff,
            self._jitter,
            self._delay,
            max(delivery_seconds, DAY),
            linkable_batches,
            self._do_chores,
        )
        self._enroller = None if enrol is None else self._make_enroller(enrol, backoff)
        # Each is replaced as a whole: threads need no lock, which a fork could leave held.
        self._errors: dict[str, NotRecorded] = {}
        self._next_refresh = -math.inf

    def report(self, survey: str, answer: Answer, *, strict: bool = False) -> Outcome:
        """Record a response to the answer: once per survey and epoch, and never the answer itself.

        It reads and writes the state and returns; sending happens elsewhere and later.

        Args:
            survey: a declared survey's name.
            answer: one of its declared categories: its text or, if it is one, the number.
            strict: raise the error that the outcome would hold.

        Raises:
            UndeclaredSurvey, UndeclaredAnswer: the app's own bugs, always raised.
            NotRecorded: with ``strict``, whatever kept the report from being recorded.
        """
        declared = self._declared(survey)
        try:
            index = declared.index_of(answer)
        except (UndeclaredAnswer, TypeError) as error:
            del answer  # crash reporters collect the frames of what is raised
            raise drop_frames(error) from None
        try:
            outcome = self._decide(declared, index)
        except NotRecorded as error:
            _LOG.info("survey %s: not recorded: %s", survey, error)
            outcome = Outcome(survey, OutcomeStatus.NOT_RECORDED, error=error)
        quiet = outcome.status is OutcomeStatus.LOCAL or isinstance(outcome.error, ConsentMissing)
        if self._background and not quiet:
            self._uploader.start()
        if outcome.error is not None:
            drop_frames(outcome.error)
            if strict:
                del answer, index  # as above
                raise outcome.error
        return outcome

    def refresh(self) -> Refresh:
        """Fetch the manifests of all declared surveys, and keep those that pass D1 to D3.

        Then ask ``enrol`` for the certificates that are wanted now, and wait for it. Never raises
        for what the network, the collector or ``enrol`` does; without consent, does nothing.
        """
        refreshed = self._fetch_manifests()
        if self._enroller is None:
            return refreshed
        try:
            return replace(refreshed, errors={**self._enroller.ask_now(), **refreshed.errors})
        except NotRecorded as error:
            return Refresh((), dict.fromkeys(self._surveys, drop_frames(error)))

    def _fetch_manifests(self) -> Refresh:
        try:
            self._check_consent()
            errors = self._manifests.refresh(self._surveys.values())
        except NotRecorded as error:
            # Not remembered: whoever consents next must not wait a day for the next refresh.
            return Refresh((), dict.fromkeys(self._surveys, drop_frames(error)))
        ready = tuple(name for name, survey in self._surveys.items() if self._is_ready(survey))
        self._errors = errors
        wait = DAY if all(map(is_judged, errors.values())) else _RETRY_SECONDS
        # By the monotonic clock: one that was put back must not put off the next for years.
        self._next_refresh = self._clock.monotonic() + wait * (1 + self._jitter())
        return Refresh(ready, errors)

    def flush(self, timeout: float = 10.0) -> Delivery:
        """Send now what waits, for about ``timeout`` seconds; never raises for the world.

        Requests that follow each other closely let whoever sees them guess that they come from one
        device: leave sending to the background thread, where there is one.
        """
        return self._uploader.flush(timeout)

    @property
    def consent(self) -> Consent:
        """Return what holds now: the user's decision, unless the environment lowers it.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        return self._consent_now()

    @property
    def consent_record(self) -> ConsentRecord:
        """Return the user's decision with its time and origin, and what holds now.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        return self._state.consent(self._clock.now())

    def set_consent(self, consent: Consent | str, origin: str = "app") -> None:
        """Store the user's decision; anything but ON erases all report bytes.

        It undoes no decision of an epoch: OFF and ON again brings no second draw (D4).

        Args:
            consent: what the user decided.
            origin: who asked and where, for the user's own record: "settings page", for example.

        Raises:
            StateUnavailable: if it could not be stored.
        """
        decided = checked_consent(consent)
        text = origin.encode(errors="replace").decode()  # no text is a reason not to withdraw
        self._state.set_consent(decided, text, self._clock.now())
        if self._background and self._consent_now() is Consent.ON:
            self._uploader.start()

    def purge(self) -> None:
        """Erase from disk what was or would be sent, without a change of consent.

        What was decided and spent stays: no epoch gets a second draw (D4).

        Raises:
            StateUnavailable: if it could not be done.
        """
        self._state.purge(self._clock.now())

    def explain(self) -> "Explanation":
        """Return what may be asked, on what terms, what is sent to whom, and what it has cost.

        ``str()`` of it is plain text for a settings page. Never raises for a state that cannot be
        used: it says so. Creates no state where there is none, and asks nobody.
        """
        from deniable.client.transparency.explaining import (  # when somebody asks
            Asked,
            explain_declared,
        )

        asked = Asked(
            tuple(self._surveys.values()),
            self._collector,
            self._allowance,
            int(self._delivery_seconds),
            self._linkable_batches,
            self._errors,
            self._manifests.foreseen,
            self._enroller is not None,
        )
        return explain_declared(self._state, self._ledger, asked, self._clock.now())

    def journal(self) -> "Journal":
        """Return all that was stored and sent, newest last, with the collector's verdicts.

        ``str()`` of it is text for a terminal. It holds responses, never an answer. Creates no
        state where there is none.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        from deniable.client.transparency.journal_rows import read_journal  # when somebody asks

        return read_journal(self._state, self._clock.now())

    def start(self) -> None:
        """Send in the background what waits from the app's last run, if the user consented.

        And ask for surveys and certificates. ``report`` does so too. Call this when the app
        starts: it may have nothing to report, and a certificate must be there before. Never
        raises for the world; without consent, or without ``background``, does nothing.
        """
        with suppress(NotRecorded):
            if self._background and self._consent_now() is Consent.ON:
                self._uploader.start()

    def close(self) -> None:
        """End the threads and close the state, within about a second; nothing is lost."""
        deadline = time.monotonic() + _CLOSE_SECONDS
        if self._enroller is not None:
            self._enroller.stop()
        self._uploader.stop()
        if self._enroller is not None:
            self._enroller.join(deadline)
        self._state.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def areport(self, survey: str, answer: Answer, *, strict: bool = False) -> Outcome:
        """Do :meth:`report` without blocking the event loop: the disk may be slow."""
        return await _in_thread(partial(self.report, survey, answer, strict=strict))

    async def arefresh(self) -> Refresh:
        """Do :meth:`refresh` without blocking the event loop; if cancelled, it goes on unseen."""
        return await daemon_call(self.refresh)

    async def aflush(self, timeout: float = 10.0) -> Delivery:  # noqa: ASYNC109 - as flush has it
        """Do :meth:`flush` without blocking the event loop; if cancelled, it goes on unseen."""
        return await daemon_call(partial(self.flush, timeout))

    async def aclose(self) -> None:
        """Do :meth:`close` without blocking the event loop."""
        await _in_thread(self.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Client({self._collector!r}, surveys={sorted(self._surveys)})"

    def _declared(self, name: str) -> Survey:
        survey = self._surveys.get(name)
        if survey is None:
            raise UndeclaredSurvey(f"no survey of that name is declared: {sorted(self._surveys)}")
        return survey

    def _decide(self, survey: Survey, index: int) -> Outcome:
        now = self._clock.now()
        if self._state.forbids_unread():
            raise self._state.missing_consent()
        try:
            decision = self._draw_once(survey, index, now)
        except NotReady as error:
            # A copy: what is raised collects frames, and those hold the answer.
            refused = self._manifests.offer_bundled(survey) or copy(self._errors.get(survey.name))
            if not self._is_ready(survey):
                raise refused or error from None
            decision = self._draw_once(survey, index, now)
        if decision.local:
            status = OutcomeStatus.LOCAL
        else:
            status = OutcomeStatus.RECORDED if decision.drawn else OutcomeStatus.REPEATED
        return Outcome(survey.name, status, decision.epoch)

    def _draw_once(self, survey: Survey, index: int, now: float) -> Decision:
        try:
            return self._ledger.decide(survey, index, self._allowance, now, self._delay, self._draw)
        except NotEnrolled as error:
            told = None if self._enroller is None else self._enroller.told(survey.name)
            raise error if told is None else NotEnrolled(f"{error}; {told}") from None

    def _delay(self, closes: float) -> float:
        """Return a random wait with a report that closes then: half of what is left, at most.

        What seems to be closed already is in no hurry, and must not leave together with others.
        """
        left = closes - self._clock.now()
        most = self._delivery_seconds
        return self._jitter() * (min(most, left / 2) if left > 0 else most)

    def _consent_now(self) -> Consent:
        return self._state.consent(self._clock.now()).effective

    def _check_consent(self) -> None:
        if self._consent_now() is not Consent.ON:
            raise self._state.missing_consent("nobody consented to asking the collector")

    def _is_ready(self, survey: Survey) -> bool:
        try:
            return self._ledger.newest_manifest_id(survey.name, self._clock.now()) is not None
        except NotRecorded:
            return False

    def _make_enroller(self, enrol: Enrol, backoff: Backoff) -> Enroller:
        credentials = Credentials(
            self._state, self._ledger, self._surveys.values(), self._collector, self._delay
        )
        return Enroller(
            enrol,
            credentials,
            self._clock,
            backoff,
            self._jitter,
            self._delivery_seconds,
            self._uploader.wake,
        )

    def _refresh_when_due(self) -> None:
        if self._clock.monotonic() >= self._next_refresh:
            self._fetch_manifests()

    def _do_chores(self) -> float:
        """Do what is due besides sending; return the seconds until there is more of it."""
        self._refresh_when_due()
        return math.inf if self._enroller is None else self._enroller.step()


def _uniform() -> float:
    """Return a number in [0, 1) of the operating system's generator: for times, never for noise."""
    return int.from_bytes(os.urandom(6)) / 2**48


async def _in_thread(call: Callable[[], _T]) -> _T:
    import asyncio  # 70 ms that an app without an event loop need not pay

    return await asyncio.to_thread(call)
