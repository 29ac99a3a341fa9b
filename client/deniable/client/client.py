"""The client: what an app embeds.

It is a plain object, usable from any thread. Constructing it touches neither disk nor network;
``report()`` never waits for the network. Nothing raises for outside causes, unless requested by
``strict=True``.
"""

from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING

from deniable.budget import DEFAULT_LIFETIME_EPSILON
from deniable.client.client_settings import ClientSettings, InMemory, checked_arguments
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.engine import REFRESH_SECONDS, Engine, acting_for
from deniable.client.errors import StateUnavailable, forget_locals
from deniable.client.ledger.allowance import SlidingCeiling
from deniable.client.outcome import Delivery, Outcome, Refresh
from deniable.client.survey import Answer, Survey
from deniable.mechanisms import Number

if TYPE_CHECKING:
    from deniable.client.explaining.explanation import Explanation
    from deniable.client.explaining.journal import Journal
    from deniable.client.optional.credentials import Enrol
    from deniable.terms.sentences import Translate


class Client:
    """A device's connection to one collector.

    Args:
        collector: the collector's origin, ``https://host[:port]``; http for 127.0.0.1 and [::1].
        authority: the public key that signs the manifests, or a predecessor of that key: 32 bytes,
            or 64 hex digits.
        surveys: the surveys that the app may ask; declared here, before any answer exists (D1).
        state: path of the state file, private to this app and user.
        consent: the initial consent of a new state; a stored decision of the user takes precedence.
            With ``on`` the app itself claims, at every construction until the user decides, that
            its user agreed to the surveys declared here: omit it, and ask. Since nobody is asked, a
            new state then begins with the next epoch (``ClientSettings.first_epoch``).
        lifetime_epsilon: the most that this device will ever spend on all surveys together. A
            manifest reserves the cost of all its epochs when it is accepted (D3).
        sliding: an additional limit on spending within a period.
        enrol: a plain function that gets a certificate from the app's own backend, for surveys that
            require one; see ``EnrolmentRequest``. It is called on a daemon thread at the start of
            each epoch, at a random time as for sends, before there is an answer. Without it such
            surveys are refused.
        background: whether a daemon thread sends and refreshes; without it, only ``flush`` and
            ``refresh`` do.
        relay: the URL, ``https://host/path``, of a relay that is not run by the collector.
            Everything for the collector is sealed and sent through the relay, so the collector sees
            no network address. If this fails, nothing is sent another way, not even by a later
            client without a relay (D13).
        gateway_keys: the signed keys with which the collector opens requests from a relay, as
            ``deniable gateway`` shows them; bundles contain them.
        log_policy: the text that ``deniable log policy`` prints: the collector's public log and its
            witnesses. No survey is then answered and no key trusted unless enough of these
            witnesses have seen it in the log, so nobody can be shown what others cannot see (D2).
            Bundles contain the proofs. By default no proofs are checked.
        settings: settings that only tests and unusual hosts change.

    Raises:
        ValueError, TypeError: for invalid arguments.
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
    ) -> Outcome:
        """Record a response to the answer, once per survey and epoch; never the answer.

        It reads and writes the state and returns; sending happens elsewhere and later. It waits a
        tenth of a second for a state in use elsewhere, and five seconds more for its own disk; then
        it fails with ``StateUnavailable``. If the disk was slow, the report may still be
        recorded: another call in the epoch then finds it, and is ``repeated``.

        Args:
            survey: a declared survey, or its name.
            answer: one of the survey's categories, as text, Enum member or number; for several
                questions, a mapping with the answer to each.
            strict: raise the error that the outcome would contain.

        Raises:
            UndeclaredSurvey, UndeclaredAnswer: the app's own bugs, always raised.
            NotRecorded: with ``strict``.
        """
        engine = acting_for(self._engine)
        try:
            outcome = engine.decide(survey, answer)
        except BaseException as error:
            del survey, answer  # crash reporters collect the frames of raised errors
            forget_locals(error)
            raise
        del survey, answer  # as above, and handlers of log records do too
        engine.follow_up(outcome)
        if strict and outcome.error is not None:
            raise outcome.error
        return outcome

    def refresh(self, timeout: float = REFRESH_SECONDS, *, force: bool = False) -> Refresh:
        """Fetch the manifests of the declared surveys that are due, and keep those that pass D1-D3.

        A name is due if it was never fetched, or a day after it was. After failures the wait grows
        from a minute to a day, whichever process asked. ``force`` asks now, at most eight times a
        day. Fetching takes at most ``timeout`` seconds. Then ``enrol`` is called for the required
        certificates, for as long as it takes. Never raises because of the network, the collector or
        ``enrol``; without consent, does nothing.
        """
        return acting_for(self._engine).refresh(timeout, force=force)

    def flush(self, timeout: float = 10.0, due_only: bool = False) -> Delivery:
        """Send waiting reports now, within ``timeout`` seconds, or five more on slow disks.

        Never raises because of the network or the collector. The app chooses the moment: if that is
        the app's start or end, it shows when somebody uses the device, and ``explain()`` says so.
        Each report is tried once; after an unanswered request, the others wait. If nothing can
        leave the device it returns at once.

        Requests in quick succession let an observer guess that they come from one device: leave
        sending to the background thread if there is one. ``due_only`` sends only what is due by its
        random time, for an app without the thread that flushes regularly.
        """
        return acting_for(self._engine).flush(timeout, due_only)

    @property
    def consent(self) -> Consent:
        """Return the consent in effect: the user's decision, unless something lowers it.

        The environment may lower consent, and consent is OFF if the state cannot be read.
        """
        return self.consent_record.effective

    @property
    def consent_record(self) -> ConsentRecord:
        """Return the user's decision with its time and origin, and the consent in effect.

        If the state cannot be read, the record is OFF and contains the ``problem``.
        """
        try:
            return acting_for(self._engine).consent_record()
        except StateUnavailable as error:
            return ConsentRecord.unread(error)

    @property
    def uncovered(self) -> tuple[Survey, ...]:
        """Return the declared surveys for which the user must still be asked for consent.

        These are all surveys until somebody has decided. With ON, they are the surveys for which it
        was not given: they came with an update, or now differ in their question, in who learns of
        it, or by a higher ceiling. There are none after OFF, which only the user can reverse, or if
        the state cannot be read, since no decision could be stored. Refused surveys are never
        included.
        """
        return self._named(acting_for(self._engine).uncovered)

    @property
    def unanswered(self) -> tuple[Survey, ...]:
        """Return the declared surveys for which ``report()`` would record a response now.

        Ask the user only these, and report every answer: a choice among answers would reveal some.
        Others lack consent, or have this epoch's response, or cannot be reported now.
        """
        return self._named(acting_for(self._engine).unanswered)

    def _named(self, names: Callable[[], Container[str]]) -> tuple[Survey, ...]:
        surveys = self._engine.arguments.surveys
        with suppress(StateUnavailable):
            chosen = names()
            return tuple(survey for name, survey in surveys.items() if name in chosen)
        return ()

    def set_consent(
        self,
        consent: Consent | str,
        origin: str = "app",
        *,
        surveys: Iterable[Survey | str] | None = None,
        strict: bool = False,
    ) -> bool:
        """Store the user's decision, and return whether it was stored within ten seconds.

        ON covers the currently declared surveys, or only these ``surveys``, in addition to those
        covered before. Any other decision ends all consent, and erases all report bytes. OFF for
        some ``surveys`` erases only the bytes of their reports, and holds for these names until ON
        is given for them by name.

        It undoes no decision about an epoch: OFF and then ON brings no second draw (D4). The origin
        states who asked and where, for the user's own record: "settings page", for example.

        Even if it could not be stored, a refusal applies in this client until a later decision is
        stored: nothing is drawn or sent.

        Raises:
            ValueError: if ``surveys`` are given for a decision other than ON or OFF.
            UndeclaredSurvey: for a survey that the client does not have.
            StateUnavailable: if the decision was not stored and ``strict`` is set.
        """
        try:
            acting_for(self._engine).set_consent(consent, origin, surveys)
        except StateUnavailable:
            if strict:
                raise
            return False
        return True

    def purge(self) -> bool:
        """Erase from disk the bytes that were or would be sent, without changing consent.

        Decisions and spending remain: no epoch gets a second draw (D4). Returns whether this was
        done: if not, nothing is erased, and waiting reports are sent unless consent is withdrawn.
        """
        with suppress(StateUnavailable):
            acting_for(self._engine).purge()
            return True
        return False

    def explain(self, translate: "Translate" = str) -> "Explanation":
        """Return the explanation: possible questions, terms, what is sent to whom, the cost.

        Three lines come first: once if they are the same for all questions, otherwise for each one.
        These lines and all of ``brief()`` can be translated with ``catalogue("de")``, for example,
        or with the ``gettext`` of an app's own translation.

        ``str()`` of it is plain text for a settings page. If the state cannot be used, the text
        says so and nothing is raised. A missing state is not created, and no network is used.
        """
        return acting_for(self._engine).explain(translate)

    def journal(self) -> "Journal":
        """Return the journal of what was stored and sent, newest last; it contains no answer.

        ``str()`` of it is text for a terminal. A missing state is not created. If the state cannot
        be read, the journal contains only the problem, in its ``consent``.
        """
        try:
            return acting_for(self._engine).journal()
        except StateUnavailable as error:
            from deniable.client.explaining.journal import Journal

            return Journal(ConsentRecord.unread(error))

    def start(self) -> None:
        """Start sending and refreshing in the background, if there is consent.

        ``report`` does so too. Call this when the app starts: it may have nothing to report, and a
        certificate must be there before a report. Does nothing without ``background``. Never
        raises.
        """
        acting_for(self._engine).start()

    def close(self) -> None:
        """End the threads and close the state, within about a second; nothing is lost.

        Does nothing while the interpreter shuts down.
        """
        self._engine.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        arguments = self._engine.arguments
        return f"Client({arguments.collector!r}, surveys={sorted(arguments.surveys)})"


def engine_of(client: Client) -> Engine:
    """Return a client's engine, for tests and measurements."""
    return client._engine
