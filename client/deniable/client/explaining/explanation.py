"""The explanations that an app can show its users: figures, and text that needs no schooling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deniable.budget import format_nano
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.explaining.promise import Promise, Terms
from deniable.client.sending.delays import LONGEST_DELAY
from deniable.mechanisms import percent_text, times_as_likely
from deniable.messages import ENCAPSULATED_REQUEST_BYTES, instant_text
from deniable.terms import odds_of
from deniable.terms.sentences import SAME_TIMES, beyond
from deniable.terms.text import (
    Disclosure,
    Row,
    counted,
    printable,
    shown_duration,
    text_of,
    wrapped,
)

_MOST_SHOWN = 12
_MEANING = {
    Consent.UNSET: "nobody has decided yet; nothing is drawn, stored or sent",
    Consent.OFF: "nothing is drawn, stored or sent",
    Consent.LOCAL: "responses are drawn and kept here for you to see, and never sent",
    Consent.ON: "responses are drawn and sent",
}
_COVERED = {
    None: "",
    True: "Given for this question, as it stands here.",
    False: "Not given for this question, as it stands here: until you agree, nothing is drawn, "
    "stored, sent or fetched for it.",
}
_UNUSABLE = "Until it can be used again, nothing is drawn, stored or sent."
_ALONE = "Each report goes by itself, on a connection of its own."
_BULLET = " " * 14 + "- "


@dataclass(frozen=True, slots=True)
class BudgetExplanation(Disclosure):
    """The privacy budget, and what has been spent of it, in units of 1e-9 epsilon."""

    _costs: ClassVar = ("spent", "carried", "reserved", "lifetime", "recent", "recent_most")

    spent: int = 0  # on all surveys, by every report decided, sent or not
    carried: int = 0  # of it, by states of this device that are gone
    reserved: int = 0  # what all accepted surveys may spend, what is carried included
    lifetime: int | None = None  # the most that may be reserved; None if only the app knows
    recent: int = 0  # spent within the sliding period
    recent_most: int | None = None  # the most within it; None for none, or if only the app knows
    recent_days: int | None = None  # its length in days of use

    def text(self, *, kept: bool) -> str:
        """Return the budget in sentences; ``kept`` where some responses were kept."""
        text = (
            "Each report costs some privacy; the measure is called epsilon, and costs add up. For "
            f"all questions together {format_nano(self.spent)} is spent"
        )
        if self.carried:
            text += f" ({format_nano(self.carried)} of it by a lost state of this device)"
        text += f" and {format_nano(self.reserved)} set aside"
        # Of ceilings that the app has lowered since, more may be set aside, or spent.
        if self.lifetime is not None:
            over, limit = self.reserved > self.lifetime, format_nano(self.lifetime)
            held = f"; more than {limit} is never set aside"
            text += f", and nothing more while that is above {limit}" if over else held
        if self.recent_most is not None:
            over, limit = self.recent > self.recent_most, format_nano(self.recent_most)
            text += f". In the last {self.recent_days} days of use {format_nano(self.recent)} "
            held = f"of at most {limit} is spent"
            text += f"is spent, and nothing more while that is above {limit}" if over else held
        if kept:
            text += f". For kept responses, these costs cover other answers{SAME_TIMES}"
        return f"{text}."


@dataclass(frozen=True, slots=True)
class SurveyExplanation(Disclosure):
    """One survey, as its user should be told.

    Costs are in units of 1e-9 epsilon; they and ``reports`` are None if the state cannot be read.
    """

    _costs: ClassVar = ("spent", "reserved", "spent_any")

    name: str
    question: str
    categories: tuple[str, ...]
    collector: str
    promise: Promise | None  # None if only the app knows
    # Today's, of the signed survey that is held, or that came with the app and would be taken up
    # after consent. They may change within the promise.
    terms: Terms | None
    standing: str  # why nothing is reported at present; empty if the survey runs
    reports: int | None  # how many were decided under the name
    spent: int | None  # where responses are kept, against other answers of SAME_TIMES
    reserved: int | None  # by all accepted surveys of the name
    kept: bool  # whether any reports were of kept responses, by this survey or one before it
    spent_any: int | None  # against any other answers; None also if nothing covers them
    # Whether consent was given for it, as it is declared; None unless consent is ON.
    covered: bool | None = None
    # In the language of the app, for those who are asked for consent:
    summary: tuple[str, ...] = ()  # three lines, of the terms or else of the promise
    news: tuple[str, ...] = ()  # what differs from what was agreed to
    limits: tuple[str, ...] = ()  # what no later survey exceeds
    vouched: tuple[str, ...] = ()  # about an issuer; none where none may be asked
    relayed: bool = (
        False  # it goes sealed, in a request of one size; False also if only the app knows
    )

    @property
    def blind(self) -> bool:
        """Return whether an issuer vouches blindly, which decides when a report leaves."""
        if self.terms is not None:
            return self.terms.enrolment == "blind"
        return self.promise is not None and self.promise.blind

    def rows(self) -> list[Row]:
        """Return the rows of its text, but for those before them."""
        promise, terms = self.promise, self.terms
        rows: list[Row] = [
            *zip(("In short", "", ""), self.summary, strict=False),
            ("Name", self.name),
            ("Answers", listed(self.categories)),
            ("Consent", [*filter(None, (*self.news, _COVERED[self.covered]))]),
            ("Promise", (*self.limits, *promise.sentences()) if promise else ()),
            ("Vouching", () if terms and terms.issuers else self.vouched),
            ("At present", self.standing),
        ]
        if terms is not None:
            size = _bytes(*terms.sent_bytes)
            request = "a request of one byte more"
            if self.relayed:
                request = f"a sealed request of {counted(ENCAPSULATED_REQUEST_BYTES, 'byte')}"
            guess = percent_text(terms.guess, "most")
            now = f"With this survey such a guess is right at most {guess} of the time."
            rows += [
                ("Protection", now if promise else terms.guarantee),
                *terms.rows(),
                (
                    "What is sent",
                    f"One report of {size}, in {request}, to {self.collector}:",
                ),
                *(
                    (_BULLET, f"{part.name}, {_bytes(part.least, part.most)}: {part.meaning}")
                    for part in terms.sent
                ),
            ]
        return [*rows, ("Spent", self._spent())]

    def _spent(self) -> str:
        if self.spent is None or self.reserved is None or self.reports is None:
            return ""
        text = (
            f"{counted(self.reports, 'report')} made, epsilon {format_nano(self.spent)} of the "
            f"{format_nano(self.reserved)} set aside for this question"
        )
        if self.spent:
            text += (
                f". All of them together are {times_as_likely(odds_of(self.spent))} as with any "
                "other answers"
            )
        if self.spent != self.spent_any:
            text += f"{SAME_TIMES}; {beyond(self.spent_any)}"
        return f"{text}."


@dataclass(frozen=True, slots=True)
class Explanation(Disclosure):
    """The explanation of what this app may ask, on what terms, and what it has cost so far.

    ``str()`` gives plain text for a settings page, at 80 columns; ``brief()`` for a consent prompt.
    """

    consent: ConsentRecord | None  # None if the state cannot be read
    problem: str  # why it cannot be; empty if it can
    surveys: tuple[SurveyExplanation, ...]
    budget: BudgetExplanation | None  # None if the state cannot be read
    # The rest is None if only the app knows.
    background: bool | None = None  # whether reports are sent in the background, or by the app
    delivery_seconds: int | None = None  # within which a background send is, at random
    relay: str | None = None  # by whom all goes, sealed; None also if there is none
    not_hidden: tuple[str, ...] = ()  # who sees what, in the language of the app

    def brief(self) -> str:
        """Return plain text for a consent prompt, at 80 columns: a few lines a survey.

        It begins with the three lines, and then says what an update changed since consent.
        """
        every = [
            (*survey.summary, *survey.news, *survey.limits, *survey.vouched)
            for survey in self.surveys
        ]
        shared = (
            [text for text in every[0] if all(text in texts for texts in every)] if every else []
        )
        general = [self.problem and f"{self.problem}. {_UNUSABLE}", *shared, *self.not_hidden]
        lines = [line for text in general if text for line in wrapped(text, rest="")]
        for survey, texts in zip(self.surveys, every, strict=True):
            own = [listed(survey.categories), *(text for text in texts if text not in shared)]
            lines += ["", *wrapped(survey.question)]
            lines += [line for text in own for line in wrapped(text, first="  ")]
        return "\n".join(lines)

    def __str__(self) -> str:
        every = [survey.rows() for survey in self.surveys]
        first = [row for row in _shared(every) if row[1] in self.surveys[0].summary]
        lines = [*text_of(first, indent=0), ""] * bool(first)
        lines += [] if self.consent is None else consent_lines(self.consent)
        lines += text_of(self._in_general(), indent=0)
        lines += self._questions([[row for row in rows if row not in first] for rows in every])
        kept = any(survey.kept for survey in self.surveys)
        budget = "" if self.budget is None else self.budget.text(kept=kept)
        return "\n".join([*lines, "", *text_of([("Budget", budget)], indent=0)]).rstrip("\n")

    def _questions(self, every: list[list[Row]]) -> list[str]:
        """Return the lines of all questions: what they share, and then what is their own."""
        shared = _shared(every) if len(every) > 1 else []
        said = text_of(shared)
        lines = ["", "For each of these questions", *said] if said else []
        for survey, rows in zip(self.surveys, every, strict=True):
            own = [row for row in rows if row not in shared]
            lines += ["", *wrapped(survey.question), *text_of(own)]
        return lines

    def _in_general(self) -> list[Row]:
        rows: list[Row] = [("Problem", self.problem and f"{self.problem}. {_UNUSABLE}")]
        if not self.surveys:
            return [*rows, ("Questions", "none so far")]
        collectors = ", ".join(sorted({survey.collector for survey in self.surveys}))
        return [
            *rows,
            ("How it works", "Your answer stays on this device and is not stored."),
            (
                "To whom",
                f"By POST /v1/reports to {collectors}, {self._when()}. The surveys are fetched "
                "from there by GET /v1/surveys/NAME/manifests, and new keys of their signer by GET "
                f"/v1/authority{', those that seal by GET /v1/gateway' if self.relay else ''}.",
            ),
            ("Not hidden", [*self.not_hidden, _ALONE]),
        ]

    def _when(self) -> str:
        modes = {survey.blind for survey in self.surveys}
        if modes == {False}:
            return self._when_recorded()
        if modes == {True}:
            return self._when_drawn()
        return f"{self._when_recorded()}; with an issuer's blind token {self._when_drawn()}"

    def _when_drawn(self) -> str:
        """Return when a report leaves of a survey for which an issuer vouches blindly."""
        drawn = "a random time in the third quarter of its time slice"
        late = "where you answer later, a random time within a quarter of a slice"
        if not self.background:
            chosen = "at a time that" if self.background is None else "at a moment"
            return f"{chosen} the app chooses, but not before {drawn} ({late})"
        after = shown_duration(min(self.delivery_seconds or LONGEST_DELAY, LONGEST_DELAY))
        return (
            f"at {drawn} ({late}; if the app is closed then, within {after} of running again, or "
            "when the app chooses), never earlier"
        )

    def _when_recorded(self) -> str:
        if self.background is None or self.delivery_seconds is None:
            return "at a time that the app chooses"
        if not self.background:
            return "at a moment the app chooses"
        within = shown_duration(self.delivery_seconds)
        later = shown_duration(min(self.delivery_seconds, LONGEST_DELAY))
        return (
            f"at a random time within {within} (if the app is closed then, within {later} of "
            "running again), or when the app chooses"
        )


def _shared(every: Sequence[list[Row]]) -> list[Row]:
    """Return the rows that all questions have, to be said once."""
    return [row for row in every[0] if all(row in rows for rows in every)] if every else []


def consent_lines(record: ConsentRecord) -> list[str]:
    """Return the lines on a decision, its time and origin, and what holds now, at 80 columns."""
    said = [f"{record.effective}: {_MEANING[record.effective]}"]
    if record.problem:
        said.append(f"{record.problem}. {_UNUSABLE}")
    elif record.effective is not record.decided:
        said.append(
            f"The decision was {record.decided}; DO_NOT_TRACK or DENIABLE_CONSENT, set in the "
            "environment, lowers it."
        )
    if record.decided is Consent.ON:
        what = ", ".join(map(printable, record.covers))
        said.append(f"Given for: {what or 'no question yet; the app has to ask'}.")
    if record.since is not None:
        said.append(f"Decided on {instant_text(record.since)}; origin: {record.origin}")
    return text_of([("Consent", said)], indent=0)


def listed(categories: Sequence[str]) -> str:
    """Return all categories in a line, or the first few of many and the last."""
    if len(categories) <= _MOST_SHOWN:
        return " / ".join(map(printable, categories))
    return f"{' / '.join(categories[:3])} / … / {categories[-1]} ({len(categories):,} in all)"


def _bytes(least: int, most: int) -> str:
    return counted(most, "byte") if least == most else f"{least:,} to {counted(most, 'byte')}"
