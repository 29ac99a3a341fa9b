"""Reports kept in memory while an app's test runs: no state file, no thread, no network.

With pytest it is the fixture ``deniable_capture``.

While a ``Capture`` is entered, every ``Client`` of this process

1. checks survey and answer as usual: ``UndeclaredSurvey`` and ``UndeclaredAnswer`` are raised;
2. passes the answer of ``report()`` to the capture, if the capture's consent allows it, and returns
   a device's outcome: recorded, or repeated for the same survey of the same client;
3. neither reads nor writes its state, and sends no requests;
4. keeps its consent in the capture, where no environment variable lowers it;
5. explains itself, and keeps a journal, like a device that has done nothing yet.

This is implemented by one class, ``_CapturedEngine``, which replaces each client's engine.
"""

import os
import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from weakref import WeakKeyDictionary

from deniable.client import (
    Answer,
    Consent,
    ConsentMissing,
    ConsentRecord,
    Delivery,
    Explanation,
    Journal,
    NotCovered,
    NotRecorded,
    Outcome,
    OutcomeStatus,
    Refresh,
    Survey,
    TransportError,
)
from deniable.client.clock import SystemClock
from deniable.client.engine import Engine, substitutes
from deniable.client.sending.http_transport import barriers
from deniable.mechanisms.answering import separated, sizes_of
from deniable.messages.texts import OTHER_SIGN, text_signs
from deniable.terms.sentences import Translate


@dataclass(frozen=True, slots=True)
class CapturedReport:
    """A ``report()`` that consent allowed, with a device's status."""

    survey: Survey  # as declared by the app
    answer: str = field(repr=False)  # the category's text
    status: OutcomeStatus


class Capture:
    """A capture of an app's reports while it is entered; nothing leaves the process.

    The clients see ``consent``; an app changes it with ``set_consent``, a test by assigning. It
    covers the declared surveys, unless the app gave it for some surveys only or withdrew it for
    some, or the test assigns names to ``uncovered``, as if an update had added those.
    """

    def __init__(self, consent: Consent | str = Consent.ON) -> None:
        self._record = _new_record(Consent(consent))
        self.uncovered: Collection[str] = ()
        self._refused: frozenset[str] = frozenset()
        self.error: NotRecorded | None = None  # every report fails with it from now on
        self.connections: list[str] = []  # paths of attempted requests
        self._reports: list[CapturedReport] = []
        self._epoch = 0
        self._engines: WeakKeyDictionary[Engine, _CapturedEngine] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def consent(self) -> Consent:
        """Return the user's decision, as the app last stored it or the test assigned it."""
        return self._record.effective

    @consent.setter
    def consent(self, consent: Consent | str) -> None:
        self._record, self.uncovered = _new_record(Consent(consent)), ()
        self._refused = frozenset()

    @property
    def reports(self) -> tuple[CapturedReport, ...]:
        """Return all reports, in order."""
        with self._lock:
            return tuple(self._reports)

    def answers(self, survey: Survey | str) -> list[str]:
        """Return the answers reported to a survey, in order, including repeated ones."""
        return [report.answer for report in self._reports_to(survey)]

    def assert_reported(self, survey: Survey | str, answer: Answer) -> None:
        """Check that this answer was reported; raise ``UndeclaredAnswer`` if it is not declared."""
        reports = self._reports_to(survey)
        survey = survey.name if isinstance(survey, Survey) else survey
        for report in reports:
            if text_of(report.survey, answer) == report.answer:
                return
        if reports:
            reason = f"the answers to {survey!r} are {self.answers(survey)}, not {answer!r}"
        else:
            others = sorted({report.survey.name for report in self.reports})
            reason = f"nothing was reported to {survey!r}; reports went to {others or 'no survey'}"
        raise AssertionError(f"{reason} (consent is {self.consent})")

    def assert_nothing_reported(self) -> None:
        """Check that no answer was reported to any survey."""
        if names := sorted({report.survey.name for report in self.reports}):
            raise AssertionError(f"reports went to {names}")

    def assert_unconnected(self) -> None:
        """Check that deniable did not try to reach the network."""
        if self.connections:
            raise AssertionError(
                f"deniable tried to connect {len(self.connections)} times while captured, first to "
                f"{self.connections[0]}; was a client started before the test, or does it have its "
                "own HttpTransport?"
            )

    def next_epoch(self) -> None:
        """Start every survey's next epoch, so that reports are recorded anew."""
        with self._lock:
            self._epoch += 1

    def __enter__(self) -> "Capture":
        substitutes.append(self._engine_for)
        barriers.append(self._keep_back)
        return self

    def __exit__(self, *_: object) -> None:
        substitutes.remove(self._engine_for)
        barriers.remove(self._keep_back)

    def __repr__(self) -> str:
        return f"Capture(consent={self.consent.value!r}, reports={len(self._reports)})"

    def _reports_to(self, survey: Survey | str) -> list[CapturedReport]:
        name = survey.name if isinstance(survey, Survey) else survey
        return [report for report in self.reports if report.survey.name == name]

    def _engine_for(self, engine: Engine) -> Engine:
        with self._lock:
            if engine not in self._engines:
                self._engines[engine] = _CapturedEngine(engine, self)
            return self._engines[engine]

    def _keep_back(self, request: str) -> None:
        self.connections.append(request)
        raise TransportError("no connections while captured", unsent=True)

    def _obstacle(self, name: str) -> NotRecorded | None:
        if self.consent is not Consent.ON:
            return ConsentMissing("nobody on this device has consented")
        if name in {*self.uncovered, *self._refused}:
            return NotCovered("the user has not agreed to this survey's current terms: ask again")
        return self.error

    def _outcome(self, survey: Survey, answer: str, decided: dict[str, int]) -> Outcome:
        error = self._obstacle(survey.name)
        if error is not None:
            return Outcome(survey.name, OutcomeStatus.NOT_RECORDED, error=error)
        with self._lock:
            if decided.get(survey.name) == self._epoch:
                status = OutcomeStatus.REPEATED
            else:
                decided[survey.name] = self._epoch
                status = OutcomeStatus.RECORDED
            self._reports.append(CapturedReport(survey, answer, status))
            return Outcome(survey.name, status, self._epoch)


class _CapturedEngine(Engine):
    """The engine of a captured client, like a device that has done nothing yet."""

    def __init__(self, engine: Engine, capture: Capture) -> None:
        fresh = replace(
            engine.arguments,
            state=None,
            consent=Consent.UNSET,
            settings=replace(
                engine.arguments.settings, clock=SystemClock(), environment=os.environ
            ),
        )
        super().__init__(fresh)
        self._capture = capture
        self._decided: dict[str, int] = {}

    def decide(self, survey: Survey | str, answer: Answer) -> Outcome:
        declared = self.arguments.declared(survey)
        return self._capture._outcome(declared, text_of(declared, answer), self._decided)

    def follow_up(self, outcome: Outcome) -> None:
        """Send nothing."""

    def refresh(self, timeout: float, *, force: bool) -> Refresh:  # noqa: ARG002
        errors = {name: self._capture._obstacle(name) for name in self.arguments.surveys}
        ready = tuple(name for name, error in errors.items() if error is None)
        return Refresh(ready, {name: error for name, error in errors.items() if error})

    def flush(self, timeout: float, due_only: bool) -> Delivery:  # noqa: ARG002
        return Delivery()

    def set_consent(
        self, consent: Consent | str, origin: str, surveys: Iterable[Survey | str] | None
    ) -> None:
        capture, declared = self._capture, self.arguments.surveys.keys()
        decided = Consent(consent)
        chosen = self.arguments.chosen(decided, surveys)
        before = set(capture.uncovered) if capture.consent is Consent.ON else set(declared)
        if chosen is not None and decided is Consent.OFF:
            capture._refused |= chosen
            capture.uncovered = [name for name in capture.uncovered if name not in chosen]
            return
        capture._refused -= chosen or set()
        capture._record = ConsentRecord(decided, decided, int(time.time()), origin)
        covered = declared - capture._refused if chosen is None else chosen
        left = before - covered - capture._refused
        capture.uncovered = left if decided is Consent.ON else ()

    def uncovered(self) -> frozenset[str]:
        consent = self._capture.consent
        if consent is Consent.ON:
            return frozenset(self._capture.uncovered)
        everything = frozenset(self.arguments.surveys if consent is Consent.UNSET else ())
        return everything - self._capture._refused

    def unanswered(self) -> frozenset[str]:
        capture = self._capture
        return frozenset(
            name
            for name in self.arguments.surveys
            if self._decided.get(name) != capture._epoch and not capture._obstacle(name)
        )

    def consent_record(self) -> ConsentRecord:
        capture = self._capture
        others = {*capture.uncovered, *capture._refused}
        covers = (name for name in self.arguments.surveys if name not in others)
        return replace(
            capture._record,
            covers=tuple(covers) if capture.consent is Consent.ON else (),
            refused=tuple(sorted(capture._refused)),
        )

    def explain(self, translate: "Translate" = str) -> Explanation:
        page, consent = super().explain(translate), self.consent_record()
        if consent.decided is not Consent.ON:
            return replace(page, consent=consent)
        surveys = (
            replace(survey, covered=survey.name in consent.covers) for survey in page.surveys
        )
        return replace(page, consent=consent, surveys=tuple(surveys))

    def journal(self) -> Journal:
        return Journal(self.consent_record())

    def purge(self) -> None:
        """Erase nothing, since nothing is stored."""

    def start(self) -> None:
        """Start no thread."""


def text_of(survey: Survey, answer: Answer) -> str:
    """Return the answer's text; for several questions, ``free + dark``."""
    index = survey.index_of(answer)
    if survey.texts:
        given = answer.value if isinstance(answer, Enum) else answer
        signs = text_signs(str(given), "".join(survey.categories))
        return "".join((OTHER_SIGN, *survey.categories)[sign] for sign in signs)
    if not survey.dimensions:
        return survey.categories[index]
    answers = zip(survey.dimensions, separated(index, sizes_of(survey.dimensions)), strict=True)
    return " + ".join(row[1 + place] for row, place in answers)


def _new_record(consent: Consent) -> ConsentRecord:
    return ConsentRecord(consent, consent, None, "initial")
