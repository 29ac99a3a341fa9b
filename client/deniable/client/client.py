"""The client: what an app embeds.

It is a plain object, usable from any thread. Constructing it touches neither disk nor network;
``report()`` never waits for the network and never raises for what the world does.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cache, partial
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeVar

from deniable.budget import Ceiling, epsilon_to_nano
from deniable.client.arguments import (
    IN_MEMORY,
    InMemory,
    authority_key,
    bundled_manifests,
    check_settings,
    check_slot_seconds,
    checked_consent,
    checked_covers,
    checked_enrol,
    checked_origin,
    state_path,
    surveys_by_name,
)
from deniable.client.clock import Clock, SystemClock
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.coverage import declared_by
from deniable.client.daemon_call import daemon_call
from deniable.client.enrolling.credentials import Credentials
from deniable.client.enrolling.enroller import Enroller
from deniable.client.enrolment import Enrol
from deniable.client.errors import (
    ConsentMissing,
    ManifestRefused,
    NotEnrolled,
    NotReady,
    NotRecorded,
    NotRunning,
    StateUnavailable,
    UndeclaredSurvey,
    drop_frames,
    forget_locals,
)
from deniable.client.held_log import held_back
from deniable.client.ledger.allowance import Allowance, SlidingCeiling
from deniable.client.ledger.authorities import Authorities
from deniable.client.ledger.caps import OutboxCaps
from deniable.client.ledger.following import Following
from deniable.client.ledger.ledger import Decision, Ledger
from deniable.client.ledger.refreshes import Refreshes
from deniable.client.manifests import Manifests
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.backoff import Backoff
from deniable.client.sending.delivery import LONGEST_REST
from deniable.client.sending.http_transport import HttpTransport
from deniable.client.sending.launch import LaunchDelay
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.transport import REQUEST_SECONDS, Transport
from deniable.client.sending.uploader import Uploader
from deniable.client.state.consents import Scope
from deniable.client.state.state import State
from deniable.client.survey import Answer, Survey
from deniable.mechanisms import Draw, Number, os_random_word

if TYPE_CHECKING:
    from deniable.client.debug import Debug
    from deniable.client.transparency.explanation import Explanation
    from deniable.client.transparency.journal import Journal

_LOG = logging.getLogger("deniable")
_T = TypeVar("_T")
_Result = TypeVar("_Result", Outcome, Refresh, Delivery, NotRecorded, Mapping[str, NotRecorded])

DEFAULT_LIFETIME_EPSILON: Final = 20
"""What a device spends on all surveys together unless the app says otherwise."""

_CLOSE_SECONDS: Final = 1.0
_REPORT_PATIENCE = 0.1
"""How long ``report`` waits for other processes, or threads, to let go of the state."""

REFRESH_SECONDS: Final = 5.0
"""How long ``refresh`` takes at most unless the app says otherwise."""


class Client:
    """One device's side of one collector.

    Args:
        collector: its origin, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        authority: the public key that signs its manifests, or has handed over to the one that
            does: 32 bytes, or 64 hex digits.
        surveys: what the app is willing to ask; declared here, before any answer exists (D1).
        state: path of the state file, private to this app and user.
        consent: what a new state starts with. A stored decision of the user wins. ``on`` is the
            app's own claim that its user agreed to what is declared here, at every construction
            for as long as the user has decided nothing: leave it away, and ask.
        consent_covers: what the app's prompt tells of: the declared ``surveys``, or no more than
            the device's ``total``, which is lifetime_epsilon and sliding. So consent covers these
            surveys as they are declared now, or whatever is declared while the total does not rise.
        lifetime_epsilon: what this device will ever spend on all surveys together. A manifest
            reserves all its epochs when it is accepted (D3).
        sliding: what it will spend within a period, in addition.
        manifests: signed manifests bundled with the app, so that it can report before it was
            ever online; in addition to those of ``Survey.bundled``.
        enrol: asked for a certificate of the app's own backend, for surveys that demand one: at the
            start of each epoch, at a random time as sends are, before there is an answer. A plain
            function, called on a daemon thread or by ``refresh``; see ``EnrolmentRequest``. Without
            it such surveys are refused.
        background: whether a daemon thread sends and refreshes; else ``flush`` and ``refresh`` do.
        delivery_seconds: reports are sent at a random time within so many seconds (D7). What is
            overdue when the thread starts waits for a random time of running, within as long and
            within 30 seconds, of which what is left is kept across starts.
        linkable_batches: send all that is due in one request instead of one report a request. It
            saves connections, and tells the collector and the network that these reports come from
            one device: batches link what the keys of each survey and epoch keep apart (D7).
        caps: how much may wait; beyond, the oldest reports are dropped.
        backoff: how long to wait before a report's second send; later ones are a day apart, and
            after six it is dropped (D8).
        clock, transport: for tests and unusual networks.
        environment: what may lower the user's consent, by default the process's; read at each call.
        debug: say on standard error, once each, what does not happen and why; so does
            ``DENIABLE_DEBUG=1`` in the environment.
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
        consent_covers: str = "surveys",
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
        debug: bool = False,
        unsafe_draw: Draw | None = None,
    ) -> None:
        check_settings(sliding, caps, backoff, delivery_seconds)
        self._collector = checked_origin(collector)
        self._surveys = surveys_by_name(surveys)
        declared, manifests = tuple(self._surveys.values()), tuple(manifests)
        self._twin_in_memory = partial(  # for ``testing.Capture`` to explain
            Client,
            collector,
            authority=authority,
            surveys=declared,
            state=IN_MEMORY,
            lifetime_epsilon=lifetime_epsilon,
            sliding=sliding,
            manifests=manifests,
            enrol=checked_enrol(enrol),
            background=background,
            delivery_seconds=delivery_seconds,
            linkable_batches=linkable_batches,
        )
        lifetime = Ceiling(epsilon_to_nano("lifetime_epsilon", lifetime_epsilon))
        self._allowance = Allowance(lifetime, sliding)
        self._background = background
        self._delivery_seconds = delivery_seconds
        self._linkable_batches = linkable_batches
        self._jitter = _uniform
        clock = self._clock = clock or SystemClock()
        transport = self._transport = transport or HttpTransport(collector)
        caps, backoff = caps or OutboxCaps(), backoff or Backoff()
        # No default of the signature: help() and crash reporters would print every variable.
        environment = os.environ if environment is None else environment

        boot_time = clock.boot_time if isinstance(clock, SystemClock) else None
        key, enrols = authority_key(authority), enrol is not None
        self._scopes = cache(
            partial(
                declared_by,
                declared,
                self._allowance,
                collector,
                enrols=enrols,
                in_total=checked_covers(consent_covers) == "total",
            )
        )
        self._state = State(
            state_path(state), checked_consent(consent), environment, boot_time, self._scopes
        )
        authorities = Authorities(self._state, key)
        following = Following(authorities, self._allowance, collector, enrols=enrols)
        self._ledger = Ledger(following, caps, self._delay, unsafe_draw or os_random_word)
        bundled = bundled_manifests(manifests, declared, collector, key)
        refreshes = Refreshes(self._state, collector, self._jitter, delivery_seconds)
        launch = LaunchDelay(self._state, collector, clock, self._jitter, delivery_seconds)
        self._manifests = Manifests(
            self._ledger,
            refreshes,
            self._surveys,
            bundled,
            transport,
            clock,
            self._check_consent,
            lambda in_background: max(
                self._uploader.silence(), launch.hold() if in_background else 0.0
            ),
            self._uncovered,
        )
        longest = max(delivery_seconds, backoff.most, LONGEST_REST)
        outbox = Outbox(self._state, collector, caps, longest, enrols=enrols)
        self._uploader = Uploader(
            outbox,
            transport,
            clock,
            launch,
            backoff=backoff,
            jitter=self._jitter,
            spread=self._delay,
            linkable_batches=linkable_batches,
            chores=self._do_chores,
        )
        self._enroller: Enroller | None = None
        if enrol is not None:
            self._enroller = Enroller(
                enrol,
                Credentials(self._ledger, declared, self._delay),
                clock,
                backoff,
                self._jitter,
                delivery_seconds,
                self._uploader.wake,
                launch.hold,
            )
        self._debug: Debug | None = None
        if debug or environment.get("DENIABLE_DEBUG", "") not in {"", "0"}:
            from deniable.client import debug as of_developers

            self._debug = of_developers.Debug(outbox, clock, background=background)

    def report(
        self,
        survey: Survey | str,
        answer: Answer,
        *,
        strict: bool = False,
        slot_seconds: int | None = None,
    ) -> Outcome:
        """Record a response to the answer: once per survey and epoch, and never the answer itself.

        It reads and writes the state and returns; sending happens elsewhere and later. It waits
        for a state that others hold for a tenth of a second; then it is ``StateUnavailable``.

        Args:
            survey: a declared survey, or its name.
            answer: one of its categories: its text, its Enum's member or its number; to several
                questions, a map with the answer to each.
            strict: raise the error that the outcome would hold.
            slot_seconds: for events, of which an epoch has several: cut the epoch into slots of
                this length, and report the first event of one of them, which this device draws
                ahead for each epoch; the others are ``NotChosen``. By default the epoch's first.

        Raises:
            ValueError: for slots of no whole number of seconds.
            UndeclaredSurvey, UndeclaredAnswer: the app's own bugs, always raised.
            NotRecorded: with ``strict``.
        """
        with held_back():
            try:
                with self._state.patience(_REPORT_PATIENCE):
                    outcome = self._settle(survey, answer, slot_seconds)
            except BaseException as error:
                del survey, answer  # crash reporters collect the frames of what is raised
                forget_locals(error)
                raise
            del survey, answer  # as above, and so do handlers of what is logged
        if outcome.error is not None:
            _LOG.info("survey %s: not recorded: %s", outcome.survey, str(outcome.error))
        # What consent covers goes on, also where this survey is not among it.
        quiet = outcome.status is OutcomeStatus.LOCAL or type(outcome.error) is ConsentMissing
        if self._background and not quiet:
            self._uploader.start()
        with self._state.patience(_REPORT_PATIENCE):
            self._debugged(outcome)
        if strict and outcome.error is not None:
            raise outcome.error
        return outcome

    def refresh(self, timeout: float = REFRESH_SECONDS, *, force: bool = False) -> Refresh:
        """Fetch the manifests of the declared surveys that are due, and keep those that pass D1-D3.

        A name is due when it was never fetched, or a day after it was; what failed is due in a
        minute at first and in a day at last, whatever process asked. By force it is asked for now,
        at most eight times a day. All that takes ``timeout`` seconds at most. Then ``enrol`` is
        asked, on this thread and for as long as it takes, for the certificates that are wanted.
        Never raises for what the network, the collector or ``enrol`` does; without consent, does
        nothing.
        """
        end = time.monotonic() + timeout
        refreshed = self._refresh(timeout, end, force)
        with self._state.patience(end - time.monotonic()):
            return self._debugged(refreshed)

    def _refresh(self, timeout: float, end: float, force: bool) -> Refresh:
        try:
            with self._state.patience(timeout):
                later = self._manifests.refresh(timeout, force=force)
            enrolled = {} if self._enroller is None else self._enroller.ask_now()
        except NotRecorded as error:
            return Refresh((), dict.fromkeys(self._surveys, drop_frames(error)))
        with self._state.patience(end - time.monotonic()):
            return self._readiness(later, enrolled)

    def _readiness(
        self, later: Mapping[str, float], enrolled: Mapping[str, NotRecorded]
    ) -> Refresh:
        """Return what can be reported after a refresh, and why the rest cannot."""
        refused = self._manifests.errors
        ready: list[str] = []
        errors: dict[str, NotRecorded] = {}
        for name, survey in self._surveys.items():
            why_not = self._ledger.why_not(survey, self._clock.now())
            if why_not is None:
                ready.append(name)
            elif name in enrolled or name in refused:
                errors[name] = refused.get(name) or enrolled[name]
            elif name in later and type(why_not) is NotReady:
                errors[name] = _asked_again_in(later[name])
            else:
                errors[name] = drop_frames(why_not)
        declined = {name: refused[name] for name in ready if name in refused}
        return Refresh(tuple(ready), errors, declined, later)

    def flush(self, timeout: float = 10.0, due_only: bool = False) -> Delivery:
        """Send now what waits, for ``timeout`` seconds at most; never raises for the world.

        The moment is the app's own choice: at an app's start, or its end, it shows when somebody
        uses the device, and ``explain()`` says so. While nothing can leave the device it ends at
        once, and after a request that went unanswered nothing else is tried for a minute, or until
        that one's second send.

        Requests that follow each other closely let whoever sees them guess that they come from one
        device: leave sending to the background thread, where there is one. With ``due_only`` sends
        what is due by its random time: for an app without the thread that flushes regularly.
        """
        with self._state.patience(timeout):
            return self._debugged(self._uploader.flush(timeout, due_only=due_only))

    @property
    def consent(self) -> Consent:
        """Return what holds now: the user's decision, unless the environment lowers it.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        return self.consent_record.effective

    def try_consent(self) -> Consent:
        """Return what holds now, as :attr:`consent`; OFF if it cannot be read. Never raises."""
        try:
            return self.consent
        except StateUnavailable:
            return Consent.OFF

    @property
    def consent_record(self) -> ConsentRecord:
        """Return the user's decision with its time and origin, and what holds now.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        return self._state.consent(self._clock.now())

    @property
    def uncovered(self) -> tuple[Survey, ...]:
        """Return the declared surveys for which consent is still to be asked.

        All while nobody has decided. With ON, those for which it was not given: they came with an
        update, or differ now in what they ask, in who gets to know of it, or by a ceiling that
        rose. None after OFF, which only the user takes back, nor with LOCAL, which sends nothing.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        names = self._uncovered()
        return tuple(survey for name, survey in self._surveys.items() if name in names)

    def set_consent(
        self,
        consent: Consent | str,
        origin: str = "app",
        *,
        surveys: Iterable[Survey | str] | None = None,
    ) -> None:
        """Store the user's decision; anything but ON erases all report bytes.

        ON covers what is declared, as it is declared now, or of it these ``surveys`` alone; beside
        what was covered before. Anything but ON ends all that.

        It undoes no decision of an epoch: OFF and ON again brings no second draw (D4). The origin
        says who asked and where, for the user's own record: "settings page", for example.

        OFF is kept beside a state that a newer version of the SDK wrote, whose bytes that version
        erases when it next uses it.

        Raises:
            ValueError: for anything but ON of some surveys alone.
            UndeclaredSurvey: for a survey that the client was not given.
            StateUnavailable: if it could not be stored. Anything but ON holds in this client all
                the same, until another decision is stored: nothing is drawn or sent.
        """
        decided = checked_consent(consent)
        text = origin.encode(errors="replace").decode()  # no text is a reason not to withdraw
        scopes = self._prompted(decided, surveys)
        self._state.set_consent(decided, text, self._clock.now(), scopes)
        if self._background and decided is Consent.ON and self.consent is Consent.ON:
            self._uploader.start()

    def try_set_consent(
        self,
        consent: Consent | str,
        origin: str = "app",
        *,
        surveys: Iterable[Survey | str] | None = None,
    ) -> bool:
        """Do :meth:`set_consent`; tell whether it was stored, and never raise for the disk."""
        try:
            self.set_consent(consent, origin, surveys=surveys)
        except StateUnavailable:
            return False
        return True

    def purge(self) -> None:
        """Erase from disk what was or would be sent, without a change of consent.

        What was decided and spent stays: no epoch gets a second draw (D4).

        Raises:
            StateUnavailable: if it could not be done. Then nothing is erased, and what waits is
                still sent: withdraw consent to keep it here.
        """
        self._state.purge(self._clock.now())

    def explain(self) -> "Explanation":
        """Return what may be asked, on what terms, what is sent to whom, and what it has cost.

        ``str()`` of it is plain text for a settings page. Never raises for a state that cannot be
        used: it says so. Creates no state where there is none, and asks nobody.
        """
        from deniable.client.transparency import explaining  # when somebody asks

        asked = explaining.Asked(
            tuple(self._surveys.values()),
            self._collector,
            self._allowance,
            self._background,
            int(self._delivery_seconds),
            self._linkable_batches,
            self._manifests.errors,
            self._manifests.foreseen,
            self._enroller is not None,
        )
        return explaining.explain_declared(self._state, self._ledger, asked, self._clock.now())

    def journal(self) -> "Journal":
        """Return all that was stored and sent, newest last: responses, never an answer.

        ``str()`` of it is text for a terminal. Creates no state where there is none.

        Raises:
            StateUnavailable: if there is a state and it cannot be read.
        """
        from deniable.client.transparency.journal import read_journal  # when somebody asks

        return read_journal(self._state, self._clock.now())

    def start(self) -> None:
        """Send in the background what waits, and ask for surveys and certificates, if consented.

        ``report`` does so too. Call this when the app starts: it may have nothing to report, and a
        certificate must be there before. Without ``background`` does nothing. Never raises.
        """
        if not self._background:
            return
        try:
            self._check_consent()
        except NotRecorded as error:
            self._debugged(error)
        else:
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

    def __exit__(self, *_: object) -> None:
        self.close()

    async def areport(
        self,
        survey: Survey | str,
        answer: Answer,
        *,
        strict: bool = False,
        slot_seconds: int | None = None,
    ) -> Outcome:
        """Do :meth:`report` without blocking the event loop: the disk may be slow."""
        # Taken by the call alone: the frames of what is raised, or cancelled, hold nothing.
        asked = [(survey, answer)]
        del survey, answer
        try:
            return await _in_thread(
                lambda: self.report(*asked.pop(), strict=strict, slot_seconds=slot_seconds)
            )
        finally:
            asked.clear()

    async def arefresh(
        self,
        timeout: float = REFRESH_SECONDS,  # noqa: ASYNC109 - as refresh has it
        *,
        force: bool = False,
    ) -> Refresh:
        """Do :meth:`refresh` without blocking the event loop; if cancelled, it goes on unseen."""
        return await daemon_call(partial(self.refresh, timeout, force=force))

    async def aflush(
        self,
        timeout: float = 10.0,  # noqa: ASYNC109 - as flush has it
        due_only: bool = False,
    ) -> Delivery:
        """Do :meth:`flush` without blocking the event loop; if cancelled, it goes on unseen."""
        return await daemon_call(partial(self.flush, timeout, due_only))

    async def aclose(self) -> None:
        """Do :meth:`close` without blocking the event loop."""
        await _in_thread(self.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Client({self._collector!r}, surveys={sorted(self._surveys)})"

    def _debugged(self, result: _Result) -> _Result:
        if self._debug is not None:
            self._debug.say(result)
        return result

    def _declared(self, asked: Survey | str) -> Survey:
        survey = self._surveys.get(asked.name if isinstance(asked, Survey) else asked)
        if survey is None:
            raise UndeclaredSurvey(f"no survey of that name is declared: {sorted(self._surveys)}")
        if isinstance(asked, Survey) and asked != survey:
            raise UndeclaredSurvey(
                f"the survey declared as {survey.name!r} is another: pass the one in surveys="
            )
        return survey

    def _settle(self, survey: Survey | str, answer: Answer, slot_seconds: int | None) -> Outcome:
        declared = self._declared(survey)
        index = declared.index_of(answer)
        check_slot_seconds(slot_seconds)
        try:
            return self._decide(declared, index, slot_seconds)
        except NotRecorded as error:
            return Outcome(declared.name, OutcomeStatus.NOT_RECORDED, error=drop_frames(error))

    def _decide(self, survey: Survey, index: int, slot_seconds: int | None) -> Outcome:
        now = self._clock.now()
        if self._state.forbids_unread():
            raise self._state.missing_consent(Consent.UNSET)
        try:
            decision = self._draw_once(survey, index, now, slot_seconds)
        except (NotReady, NotRunning, ManifestRefused):
            # A copy: what is raised collects frames, and those hold the answer.
            refused = self._manifests.offer_bundled(survey) or copy(
                self._manifests.errors.get(survey.name)
            )
            try:
                decision = self._draw_once(survey, index, now, slot_seconds)
            except NotReady as error:
                raise (refused if type(error) is NotReady and refused else error) from None
        drawn = OutcomeStatus.RECORDED if decision.drawn else OutcomeStatus.REPEATED
        status = OutcomeStatus.LOCAL if decision.local else drawn
        return Outcome(survey.name, status, decision.epoch)

    def _draw_once(
        self, survey: Survey, index: int, now: float, slot_seconds: int | None
    ) -> Decision:
        try:
            return self._ledger.decide(survey, index, now, slot_seconds)
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

    def _prompted(
        self, decided: Consent, surveys: Iterable[Survey | str] | None
    ) -> tuple[Scope, ...]:
        """Return what a decision covers."""
        if surveys is not None and decided is not Consent.ON:
            raise ValueError('only consent "on" can be for some surveys alone')
        if surveys is not None:
            return tuple(self._scopes().surveys[self._declared(each).name] for each in surveys)
        return self._scopes().prompted if decided is Consent.ON else ()

    def _uncovered(self) -> frozenset[str]:
        return self._state.uncovered(self._clock.now())

    def _check_consent(self, survey: str | None = None) -> None:
        """Raise ``ConsentMissing`` unless there is consent, and it covers the survey named."""
        with self._state.existing(self._clock.now(), "BEGIN") as connection:
            record = self._state.consent_in(connection)
            if record.effective is not Consent.ON:
                raise self._state.missing_consent(record.decided)
            if survey is not None:
                self._state.check_covered(connection, survey)

    def _do_chores(self) -> float:
        """Do what is due besides sending; return the seconds until there is more of it."""
        wait = max(0.0, self._refresh_when_due() - self._clock.monotonic())
        return wait if self._enroller is None else min(wait, self._enroller.step())

    def _refresh_when_due(self) -> float:
        """Fetch what is due; return when there may be more, by the monotonic clock."""
        waited = self._manifests.uncovered  # consent may have been given since, by any process
        if self._clock.monotonic() >= self._manifests.next_refresh or (
            waited and waited != self._uncovered()
        ):
            try:
                self._manifests.refresh(REQUEST_SECONDS, in_background=True)
            except NotRecorded as error:
                self._debugged(error)
                return math.inf  # whoever consents wakes the thread, and so does the next report
            self._debugged(self._manifests.errors)
        return self._manifests.next_refresh


def _asked_again_in(seconds: float) -> NotReady:
    return NotReady(
        f"no manifest yet; the collector is asked again in {math.ceil(seconds / 60)} minutes, "
        "and by refresh(force=True)"
    )


def _uniform() -> float:
    """Return a number in [0, 1) of the operating system's generator: for times, never for noise."""
    return int.from_bytes(os.urandom(6)) / 2**48


async def _in_thread(call: Callable[[], _T]) -> _T:
    import asyncio  # 70 ms that an app without an event loop need not pay

    return await asyncio.to_thread(call)
