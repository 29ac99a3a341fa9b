"""Reports kept in memory while an app's test runs: no state file, no thread, no network.

While a ``Capture`` is entered, every ``Client`` of this process

1. checks survey and answer as ever: ``UndeclaredSurvey`` and ``UndeclaredAnswer`` are raised;
2. hands the answer of ``report()`` to the capture, if the capture's consent allows it, and says
   what a device would say: recorded, or repeated for the same survey of the same client;
3. neither reads nor writes its state, and asks nobody for anything;
4. keeps its consent in the capture, where no environment variable lowers it;
5. explains itself, and keeps a journal, as on a device that has done nothing yet.

All of it hangs on one table, ``_replacements``, of the public methods that would do otherwise.
"""

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch
from weakref import WeakKeyDictionary

from deniable.client import (
    Answer,
    Client,
    Consent,
    ConsentMissing,
    ConsentRecord,
    Delivery,
    Explanation,
    HttpTransport,
    Journal,
    NotCovered,
    NotRecorded,
    Outcome,
    OutcomeStatus,
    Refresh,
    Survey,
    TransportError,
)
from deniable.client.arguments import check_slot_seconds

_EXPLAIN: Final = Client.explain  # as it is without any capture


@dataclass(frozen=True, slots=True)
class CapturedReport:
    """One ``report()`` that consent allowed, with the status that a device would have given."""

    survey: Survey  # as the app declared it
    answer: str = field(repr=False)  # the category, as its text
    status: OutcomeStatus


class Capture:
    """What an app reports while this is entered, and nothing of it leaves the process.

    The clients find ``consent``; an app changes it by ``set_consent``, a test by assigning. It
    covers what they declare, unless the app gave it for some surveys alone, or the test assigns
    names to ``uncovered``, as if an update had brought those.
    """

    def __init__(self, consent: Consent | str = Consent.ON) -> None:
        self._record = _new_record(Consent(consent))
        self.uncovered: Collection[str] = ()
        self.error: NotRecorded | None = None  # what every report meets from now on
        self.connections: list[str] = []  # the paths that somebody tried to reach all the same
        self._reports: list[CapturedReport] = []
        self._epoch = 0
        self._decided: WeakKeyDictionary[Client, dict[str, int]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._patches = ExitStack()

    @property
    def consent(self) -> Consent:
        """Return the user's decision, as the app last stored it or the test assigned it."""
        return self._record.effective

    @consent.setter
    def consent(self, consent: Consent | str) -> None:
        self._record, self.uncovered = _new_record(Consent(consent)), ()

    @property
    def reports(self) -> tuple[CapturedReport, ...]:
        """Return all reports, in order."""
        with self._lock:
            return tuple(self._reports)

    def answers(self, survey: Survey | str) -> list[str]:
        """Return the answers reported to a survey, in order, repeated ones too."""
        return [report.answer for report in self._reports_to(survey)]

    def assert_reported(self, survey: Survey | str, answer: Answer) -> None:
        """Check that this answer was reported; raise ``UndeclaredAnswer`` if it never could be."""
        reports = self._reports_to(survey)
        survey = survey.name if isinstance(survey, Survey) else survey
        for report in reports:
            if report.survey.text_of(answer) == report.answer:
                return
        if reports:
            found = f"to {survey!r} was reported {self.answers(survey)}, not {answer!r}"
        else:
            others = sorted({report.survey.name for report in self.reports})
            found = f"nothing was reported to {survey!r}; reports went to {others or 'no survey'}"
        raise AssertionError(f"{found} (consent is {self.consent})")

    def assert_nothing_reported(self) -> None:
        """Check that no answer was reported to any survey."""
        if names := sorted({report.survey.name for report in self.reports}):
            raise AssertionError(f"reports went to {names}")

    def assert_unconnected(self) -> None:
        """Check that nothing of deniable tried to reach the network."""
        if self.connections:
            raise AssertionError(
                f"deniable tried to connect {len(self.connections)} times while captured, first to "
                f"{self.connections[0]}; was a client started before the test, or made "
                "by a HttpTransport of its own?"
            )

    def next_epoch(self) -> None:
        """Let every survey's next epoch begin, so that reports are recorded anew."""
        with self._lock:
            self._epoch += 1

    def __enter__(self) -> "Capture":
        def request(_: HttpTransport, method: str, path: str, *__: object, **___: object) -> None:
            self.connections.append(f"{method} {path}")
            raise TransportError("no connections while captured", unsent=True)

        self._patches.enter_context(patch.multiple(Client, **self._replacements()))
        self._patches.enter_context(patch.object(HttpTransport, "request", request))
        self._patches.enter_context(patch.object(HttpTransport, "find_route", lambda *_: None))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def __repr__(self) -> str:
        return f"Capture(consent={self.consent.value!r}, reports={len(self._reports)})"

    def _reports_to(self, survey: Survey | str) -> list[CapturedReport]:
        name = survey.name if isinstance(survey, Survey) else survey
        return [report for report in self.reports if report.survey.name == name]

    def _replacements(self) -> Mapping[str, Any]:
        """Return what stands in for the public methods of ``Client`` that would touch the world."""

        def report(
            client: Client,
            survey: Survey | str,
            answer: Answer,
            *,
            strict: bool = False,
            slot_seconds: int | None = None,  # here each event is chosen
        ) -> Outcome:
            check_slot_seconds(slot_seconds)
            declared = client._declared(survey)
            text = declared.text_of(answer)
            outcome = self._outcome(client, declared, text)
            if strict and outcome.error is not None:
                raise outcome.error
            return outcome

        def refresh(client: Client, timeout: float = 5.0, *, force: bool = False) -> Refresh:  # noqa: ARG001
            errors = {name: self._obstacle(name, Consent.ON) for name in client._surveys}
            ready = tuple(name for name, error in errors.items() if error is None)
            return Refresh(ready, {name: error for name, error in errors.items() if error})

        def flush(
            _client: Client,
            timeout: float = 10.0,  # noqa: ARG001
            due_only: bool = False,  # noqa: ARG001
        ) -> Delivery:
            return Delivery()

        def set_consent(
            client: Client,
            consent: Consent | str,
            origin: str = "app",
            *,
            surveys: Iterable[Survey | str] | None = None,
        ) -> None:
            decided, chosen = Consent(consent), None if surveys is None else tuple(surveys)
            client._prompted(decided, chosen)
            before = self.uncovered if self.consent is Consent.ON else client._surveys
            covered = (
                client._surveys
                if chosen is None
                else {client._declared(survey).name for survey in chosen}
            )
            self._record = ConsentRecord(decided, decided, int(time.time()), origin)
            self.uncovered = set(before) - set(covered) if decided is Consent.ON else ()

        def uncovered(client: Client) -> tuple[Survey, ...]:
            every = tuple(client._surveys.values())
            if self.consent is Consent.ON:
                return tuple(survey for survey in every if survey.name in self.uncovered)
            return every if self.consent is Consent.UNSET else ()

        def record(client: Client) -> ConsentRecord:
            covered = tuple(name for name in client._surveys if name not in self.uncovered)
            return replace(self._record, covers=covered if self.consent is Consent.ON else ())

        def explain(client: Client) -> Explanation:
            page, consent = _EXPLAIN(client._twin_in_memory()), record(client)
            if consent.decided is not Consent.ON:
                return replace(page, consent=consent)
            surveys = (
                replace(survey, covered=survey.name in consent.covers) for survey in page.surveys
            )
            return replace(page, consent=consent, surveys=tuple(surveys))

        return {
            "report": report,
            "refresh": refresh,
            "flush": flush,
            "set_consent": set_consent,
            "consent": property(lambda _client: self.consent),
            "consent_record": property(record),
            "uncovered": property(uncovered),
            "explain": explain,
            "journal": lambda client: Journal(record(client)),
            "purge": lambda _client: None,
            "start": lambda _client: None,
        }

    def _obstacle(self, name: str, *sufficient: Consent) -> NotRecorded | None:
        if self.consent not in sufficient:
            return ConsentMissing("nobody consented on this device")
        if self.consent is Consent.ON and name in self.uncovered:
            return NotCovered("consent was given for other surveys than this one: ask again")
        return self.error

    def _outcome(self, client: Client, survey: Survey, answer: str) -> Outcome:
        error = self._obstacle(survey.name, Consent.ON, Consent.LOCAL)
        if error is not None:
            return Outcome(survey.name, OutcomeStatus.NOT_RECORDED, error=error)
        with self._lock:
            decided = self._decided.setdefault(client, {})
            if self.consent is Consent.LOCAL:
                status = OutcomeStatus.LOCAL
            elif decided.get(survey.name) == self._epoch:
                status = OutcomeStatus.REPEATED
            else:
                decided[survey.name] = self._epoch
                status = OutcomeStatus.RECORDED
            self._reports.append(CapturedReport(survey, answer, status))
            return Outcome(survey.name, status, self._epoch)


def _new_record(consent: Consent) -> ConsentRecord:
    return ConsentRecord(consent, consent, None, "initial")
