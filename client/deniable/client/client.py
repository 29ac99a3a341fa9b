"""The client: what an app embeds.

It is a plain object, usable from any thread. Constructing it touches neither disk nor network;
``report()`` never waits for the network. Nothing raises for what the world does, unless asked to by
``strict=True``.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

from deniable.budget import DEFAULT_LIFETIME_EPSILON
from deniable.client.client_settings import ClientSettings, InMemory, checked_arguments
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.engine import REFRESH_SECONDS, Engine, acting_for
from deniable.client.errors import StateUnavailable, forget_locals
from deniable.client.ledger.allowance import SlidingCeiling
from deniable.client.outcome import Delivery, Outcome, Refresh
from deniable.client.survey import Answer, Survey
from deniable.client.threads import Call, start_daemon
from deniable.mechanisms import Number

if TYPE_CHECKING:
    from deniable.client.explaining.explanation import Explanation
    from deniable.client.explaining.journal import Journal
    from deniable.client.optional.credentials import Enrol
    from deniable.terms.sentences import Translate

_T = TypeVar("_T")


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
            for as long as the user has decided nothing: omit it, and ask. Since nobody is asked, a
            new state then begins with the next epoch (``ClientSettings.first_epoch``).
        lifetime_epsilon: what this device will ever spend on all surveys together. A manifest
            reserves all its epochs when it is accepted (D3).
        sliding: what it will spend within a period, in addition.
        enrol: asked for a certificate of the app's own backend, for surveys that demand one: at the
            start of each epoch, at a random time as sends are, before there is an answer. A plain
            function, called on a daemon thread; see ``EnrolmentRequest``. Without
            it such surveys are refused.
        background: whether a daemon thread sends and refreshes; else ``flush`` and ``refresh`` do.
        relay: the URL, ``https://host/path``, of a relay that somebody else than the collector
            runs. All that goes to the collector is sealed for it and goes through there, so that no
            network address comes with it; whatever fails, nothing is sent another way, nor by a
            later client without a relay (D13).
        gateway_keys: the signed keys under which the collector opens what came through a relay, as
            ``deniable gateway`` shows them; bundles have them.
        log_policy: the text that ``deniable log policy`` prints: the collector's public log, and
            witnesses of it. Nothing is answered then, and no key trusted, that not enough of these
            witnesses have seen there, so that nobody can be shown what others cannot see (D2).
            Bundles have the proofs. By default none are looked at.
        settings: what only tests and unusual hosts change.

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
        enrol: "Enrol | None" = None,
        background: bool = True,
        relay: str | None = None,
        gateway_keys: bytes | None = None,
        log_policy: str | None = None,
        settings: ClientSettings | None = None,
    ) -> None:
        self._engine = Engine(checked_arguments(locals()))

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
        for a state that others use for a tenth of a second, and for its own disk for five seconds
        more; then it is ``StateUnavailable``. If its own disk was slow, it may still be recorded:
        another call in the epoch then finds it, and is ``repeated``.

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
        engine = acting_for(self._engine)
        try:
            outcome = engine.decide(survey, answer, slot_seconds)
        except BaseException as error:
            del survey, answer  # crash reporters collect the frames of what is raised
            forget_locals(error)
            raise
        del survey, answer  # as above, and so do handlers of what is logged
        engine.follow_up(outcome)
        if strict and outcome.error is not None:
            raise outcome.error
        return outcome

    def refresh(self, timeout: float = REFRESH_SECONDS, *, force: bool = False) -> Refresh:
        """Fetch the manifests of the declared surveys that are due, and keep those that pass D1-D3.

        A name is due when it was never fetched, or a day after it was; what failed is due in a
        minute at first and in a day at last, whatever process asked. By force it is asked for now,
        at most eight times a day. All that takes ``timeout`` seconds at most. Then ``enrol`` is
        asked, for as long as it takes, for the certificates that are wanted.
        Never raises for what the network, the collector or ``enrol`` does; without consent, does
        nothing.
        """
        return acting_for(self._engine).refresh(timeout, force=force)

    def flush(self, timeout: float = 10.0, due_only: bool = False) -> Delivery:
        """Send now what waits, for ``timeout`` seconds at most, or five more if its disk is slow.

        Never raises for the world. The moment is the app's own choice: at an app's start, or its
        end, it shows when somebody uses the device, and ``explain()`` says so. While nothing can
        leave the device it ends at once, and after a request that went unanswered nothing else is
        tried for a minute, or until that one's second send.

        Requests that follow each other closely let whoever sees them guess that they come from one
        device: leave sending to the background thread, where there is one. With ``due_only`` sends
        what is due by its random time: for an app without the thread that flushes regularly.
        """
        return acting_for(self._engine).flush(timeout, due_only)

    @property
    def consent(self) -> Consent:
        """Return the consent that holds: the user's decision, unless something lowers it.

        That is the environment, or a state that cannot be read: then it is OFF.
        """
        return self.consent_record.effective

    @property
    def consent_record(self) -> ConsentRecord:
        """Return the user's decision with its time and origin, and what holds now.

        Of a state that cannot be read it is OFF, and has the ``problem``.
        """
        try:
            return acting_for(self._engine).consent_record()
        except StateUnavailable as error:
            return ConsentRecord.unread(error)

    @property
    def uncovered(self) -> tuple[Survey, ...]:
        """Return the declared surveys for which consent is still to be asked.

        All while nobody has decided. With ON, those for which it was not given: they came with an
        update, or differ now in what they ask, in who gets to know of it, or by a ceiling that
        rose. None after OFF, which only the user takes back, nor with LOCAL, which sends nothing;
        none of what was refused by itself; and none while no answer could be stored, since the
        state cannot be read.
        """
        try:
            names = acting_for(self._engine).uncovered()
        except StateUnavailable:
            return ()
        surveys = self._engine.arguments.surveys
        return tuple(survey for name, survey in surveys.items() if name in names)

    def set_consent(
        self,
        consent: Consent | str,
        origin: str = "app",
        *,
        surveys: Iterable[Survey | str] | None = None,
        strict: bool = False,
    ) -> bool:
        """Store the user's decision, and tell whether it was stored within ten seconds.

        ON covers what is declared, as it is declared now, beside what was covered before; or of it
        these ``surveys`` alone. Anything but ON ends all that, and erases all report bytes. OFF for
        some ``surveys`` erases those of their reports, and holds for these names until ON is
        given for them by name; all else stays.

        It undoes no decision of an epoch: OFF and ON again brings no second draw (D4). The origin
        says who asked and where, for the user's own record: "settings page", for example.

        What refuses something holds in this client even if it was not stored, until another
        decision on it is: nothing is drawn or sent. OFF for all is kept beside a state that a newer
        version of the SDK wrote, whose bytes that version erases when it next uses it.

        Raises:
            ValueError: for anything but ON or OFF of some surveys alone.
            UndeclaredSurvey: for a survey that the client was not given.
            StateUnavailable: if it was not stored, with ``strict``.
        """
        decide = partial(acting_for(self._engine).set_consent, consent, origin, surveys)
        return _is_done(decide, strict=strict)

    def purge(self, *, strict: bool = False) -> bool:
        """Erase from disk what was or would be sent, without a change of consent.

        What was decided and spent stays: no epoch gets a second draw (D4). It tells whether it was
        done: if not, nothing is erased, and what waits is still sent. Withdraw consent to keep it
        here.

        Raises:
            StateUnavailable: if it was not done, with ``strict``.
        """
        return _is_done(acting_for(self._engine).purge, strict=strict)

    def explain(self, translate: "Translate" = str) -> "Explanation":
        """Return the explanation: what may be asked, on what terms, what is sent to whom, its cost.

        It begins with three lines, if they are the same for all questions, else each question does.
        They and the whole of ``brief()`` are in the language of ``catalogue("de")``, or of the
        ``gettext`` of an app's own translation.

        ``str()`` of it is plain text for a settings page. Never raises for a state that cannot be
        used: it says so. Creates no state where there is none, and asks nobody.
        """
        return acting_for(self._engine).explain(translate)

    def journal(self) -> "Journal":
        """Return the journal of all that was stored and sent, newest last: never an answer.

        ``str()`` of it is text for a terminal. Creates no state where there is none. Of a state
        that cannot be read it has the problem, in its ``consent``, and nothing else.
        """
        try:
            return acting_for(self._engine).journal()
        except StateUnavailable as error:
            from deniable.client.explaining.journal import Journal

            return Journal(ConsentRecord.unread(error))

    def start(self) -> None:
        """Send in the background what waits, and ask for surveys and certificates, if consented.

        ``report`` does so too. Call this when the app starts: it may have nothing to report, and a
        certificate must be there before. Without ``background`` does nothing. Never raises.
        """
        acting_for(self._engine).start()

    def close(self) -> None:
        """End the threads and close the state, within about a second; nothing is lost.

        While the interpreter ends, does nothing.
        """
        self._engine.close()

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
        arguments = [(survey, answer)]
        del survey, answer
        try:
            return await _aside(
                lambda: self.report(*arguments.pop(), strict=strict, slot_seconds=slot_seconds)
            )
        finally:
            arguments.clear()

    async def arefresh(
        self,
        timeout: float = REFRESH_SECONDS,  # noqa: ASYNC109 - as refresh has it
        *,
        force: bool = False,
    ) -> Refresh:
        """Do :meth:`refresh` without blocking the event loop; if cancelled, it goes on unseen."""
        return await _aside(partial(self.refresh, timeout, force=force))

    async def aflush(
        self,
        timeout: float = 10.0,  # noqa: ASYNC109 - as flush has it
        due_only: bool = False,
    ) -> Delivery:
        """Do :meth:`flush` without blocking the event loop; if cancelled, it goes on unseen."""
        return await _aside(partial(self.flush, timeout, due_only))

    async def aclose(self) -> None:
        """Do :meth:`close` without blocking the event loop."""
        await _aside(self.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        arguments = self._engine.arguments
        return f"Client({arguments.collector!r}, surveys={sorted(arguments.surveys)})"


def engine_of(client: Client) -> Engine:
    """Return the engine that a client was constructed with, for tests and measurements."""
    return client._engine


def _is_done(work: Callable[[], None], *, strict: bool) -> bool:
    """Tell whether a state could be changed; with ``strict`` raise why not."""
    try:
        work()
    except StateUnavailable:
        if strict:
            raise
        return False
    return True


async def _aside(work: Callable[[], _T]) -> _T:
    """Do some work on a daemon thread of its own: neither the loop nor the process waits for it.

    A thread of the loop's own would be waited for at their end, for as long as a collector does not
    answer; and others of the app's work may keep all of those.
    """
    import asyncio  # 70 ms that an app without an event loop need not pay

    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    call = Call(work, inf)

    def do() -> None:
        call.run()
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(came.set)

    if not start_daemon(do):
        do()
    await came.wait()
    return call.result()
