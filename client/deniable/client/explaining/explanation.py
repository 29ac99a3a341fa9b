"""The explanations that an app can show its users: figures, and text in plain words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniable.budget import format_nano
from deniable.client.consent import DOUBTED, Consent, ConsentRecord
from deniable.client.sending.delays import LONGEST_DELAY
from deniable.mechanisms import is_vast, odds_text
from deniable.messages import instant_text
from deniable.terms import odds_of
from deniable.terms.sentences import Translate, duration
from deniable.terms.text import Row, listed, printable, text_of, wrapped

MEANING = {
    Consent.UNSET: "nobody has decided yet; nothing is drawn, stored or sent",
    Consent.OFF: "nothing is drawn, stored or sent",
    Consent.ON: "responses are drawn and sent",
}


@dataclass(frozen=True, slots=True)
class BudgetExplanation:
    """The privacy budget, and what has been spent of it, in units of 1e-9 epsilon."""

    spent: int = 0  # on all surveys, by every decided report, sent or not
    carried: int = 0  # the part spent by states of this device that are gone
    reserved: int = 0  # the most that all accepted surveys may spend, including ``carried``
    lifetime: int | None = None  # the most that may be reserved; None if only the app knows
    recent: int = 0  # spent within the sliding period
    recent_most: int | None = None  # the limit on that; None for none, or if only the app knows
    recent_days: int | None = None  # the period's length in days of use

    def sentences(self, _: Translate, *, kept: bool) -> Iterator[str]:
        """Yield the budget in sentences; ``kept`` if some responses were kept."""
        yield _("Each report costs some privacy. The measure is called epsilon, and costs add up.")
        text = _("For all questions together, {spent} has been spent and {reserved} set aside.")
        yield text.format(spent=format_nano(self.spent), reserved=format_nano(self.reserved))
        if self.carried:
            text = _("An earlier, lost state of this device spent {carried} of it.")
            yield text.format(carried=format_nano(self.carried))
        # If the app has lowered its ceilings since, more may be reserved or spent.
        if self.lifetime is not None:
            text = _("No more than {limit} is ever set aside.")
            if self.reserved > self.lifetime:
                text = _("Nothing more is set aside while the total is above {limit}.")
            yield text.format(limit=format_nano(self.lifetime))
        if self.recent_most is not None:
            text = _("In the last {days} days of use, {recent} of at most {limit} was spent.")
            if self.recent > self.recent_most:
                text = _(
                    "In the last {days} days of use, {recent} was spent. Nothing more is spent "
                    "while this amount is above {limit}."
                )
            recent, limit = format_nano(self.recent), format_nano(self.recent_most)
            yield text.format(days=f"{self.recent_days:,}", recent=recent, limit=limit)
        if kept:
            yield _(
                "For repeated responses, the cost compares your answers with others that stay the "
                "same and change at the same times as yours."
            )


@dataclass(frozen=True, slots=True)
class SurveyExplanation:
    """A survey, as the user should see it: figures, and sentences in the language of the app.

    Costs are in units of 1e-9 epsilon; they and ``reports`` are None if the state cannot be read.
    """

    name: str
    question: str
    categories: tuple[str, ...]
    collector: str
    # Of the signed survey on the device, or the bundled one that would be accepted after consent:
    # 64 hex digits, or empty. Its terms are today's: they may change within the limits.
    survey_id: str
    blind: bool  # whether an issuer vouches blindly, which determines when a report leaves
    standing: str  # why nothing is reported at present; empty if the survey runs
    reports: int | None  # the number decided under the name
    # For kept responses, against answers that repeat and change in the same epochs.
    spent: int | None
    reserved: int | None  # by all accepted surveys of the name
    kept: bool  # whether any reports used kept responses, for this survey or an earlier one
    # Whether consent was given for it, as it is declared; None unless consent is ON.
    covered: bool | None = None
    summary: tuple[str, ...] = ()  # three lines, on today's terms or otherwise the declaration
    news: tuple[str, ...] = ()  # changes since consent was given
    limits: tuple[str, ...] = ()  # limits on all later surveys
    details: tuple[str, ...] = ()  # further limits, which a prompt omits
    vouched: tuple[str, ...] = ()  # about an issuer; empty if none may be asked
    period: str = ""  # the days on which the survey is asked
    leaves: tuple[str, ...] = ()  # what leaves the device, and what stays on it meanwhile
    seen: tuple[str, ...] = ()  # who sees figures, and who could learn what together
    learnt: tuple[str, ...] = ()  # what all responses reveal, and several from one device
    translate: Translate = field(default=str, repr=False, compare=False)

    def rows(self) -> list[Row]:
        """Return the rows of the survey's text, without the lines that precede them."""
        _ = self.translate
        consent = {
            None: "",
            True: _("You agreed to this question as it is shown here."),
            False: _(
                "You have not agreed to this question as it is shown here. Until you agree, "
                "nothing is "
                "drawn, stored, sent or fetched for it."
            ),
        }[self.covered]
        return [
            *zip((_("In short"), "", ""), self.summary, strict=False),
            (_("Name"), self.name),
            (_("Answers"), listed(self.categories)),
            (_("Consent"), [*filter(None, (*self.news, consent))]),
            (_("At present"), [*filter(None, (self.standing, self.period))]),
            (_("What is sent"), self.leaves),
            (_("Who sees it"), self.seen),
            (_("What it reveals"), self.learnt),
            (_("Limits"), (*self.limits, *self.details)),
            (_("Spent"), tuple(self._spent())),
        ]

    def _spent(self) -> Iterator[str]:
        _ = self.translate
        if self.spent is None or self.reserved is None or self.reports is None:
            return
        text = _(
            "Reports made: {count}. They cost epsilon {spent} of the {reserved} set aside for this "
            "question."
        )
        spent, reserved = format_nano(self.spent), format_nano(self.reserved)
        yield text.format(count=f"{self.reports:,}", spent=spent, reserved=reserved)
        if not self.spent:
            return
        odds = odds_of(self.spent)
        text = _(
            "All reports together are at most {odds} times as likely with your answers as with "
            "others."
        )
        if is_vast(odds):
            text = _("All reports together may reveal your answers.")
        elif self.kept:
            text = _(
                "All reports together are at most {odds} times as likely with your answers as with "
                "others that stay the same and change at the same times as yours."
            )
        yield text.format(odds=odds_text(odds))
        if self.kept:
            yield _("For all other answers, there is no such limit.")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of what this app may ask, on what terms, and the cost so far.

    ``str()`` gives plain text for a settings page, at 80 columns; ``brief()`` for a consent prompt.
    """

    consent: ConsentRecord | None  # None if the state cannot be read
    problem: str  # why the state cannot be read; empty if it can
    surveys: tuple[SurveyExplanation, ...]
    budget: BudgetExplanation | None  # None if the state cannot be read
    # The rest is None if only the app knows.
    background: bool | None = None  # whether reports are sent in the background, or by the app
    delivery_seconds: int | None = None  # a background send happens within this time, at random
    not_hidden: tuple[str, ...] = ()  # who sees what, in the language of the app
    translate: Translate = field(default=str, repr=False, compare=False)

    @property
    def news(self) -> list[str]:
        """Return the changes by an update since consent, each after its question."""
        return [f"{survey.question} {text}" for survey in self.surveys for text in survey.news]

    def brief(self) -> str:
        """Return a prompt at 80 columns: the three lines, changes by an update, and the rest."""
        every = [(*survey.summary, *survey.limits, *survey.vouched) for survey in self.surveys]
        shared = _shared(every)
        first = sum(text in self.surveys[0].summary for text in shared)
        shared[first:first] = self.news
        general = [_unusable(self.problem, self.translate), *shared, *self.not_hidden]
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
        _ = self.translate
        lines += [] if self.consent is None else consent_lines(self.consent, _)
        lines += text_of(self._in_general(), indent=0)
        lines += self._questions([[row for row in rows if row not in first] for rows in every])
        kept = any(survey.kept for survey in self.surveys)
        budget = () if self.budget is None else tuple(self.budget.sentences(_, kept=kept))
        return "\n".join([*lines, "", *text_of([(_("Budget"), budget)], indent=0)]).rstrip("\n")

    def _questions(self, every: list[list[Row]]) -> list[str]:
        """Return the lines on all questions: their common lines, then those specific to each."""
        shared = _shared(every) if len(every) > 1 else []
        said = text_of(shared)
        lines = ["", self.translate("For each of these questions"), *said] if said else []
        for survey, rows in zip(self.surveys, every, strict=True):
            own = [row for row in rows if row not in shared]
            lines += ["", *wrapped(survey.question), *text_of(own)]
        return lines

    def _in_general(self) -> list[Row]:
        _ = self.translate
        rows: list[Row] = [(_("Problem"), _unusable(self.problem, _))]
        if not self.surveys:
            return [*rows, (_("Questions"), _("none so far"))]
        alone = _("Each report is sent separately, on its own connection.")
        return [
            *rows,
            (_("When"), tuple(self._when())),
            (_("Not hidden"), [*self.not_hidden, alone]),
        ]

    def _when(self) -> Iterator[str]:
        """Yield the sentences on when reports leave; with a blind token, the epoch decides."""
        _, modes = self.translate, {survey.blind for survey in self.surveys}
        longest = LONGEST_DELAY if self.delivery_seconds is None else self.delivery_seconds
        later = duration(min(longest, LONGEST_DELAY), _)
        if not self.background or self.delivery_seconds is None:
            yield _("Responses are sent when the app chooses.")
        elif False in modes:
            text = _(
                "Responses are sent at a random time within {length}, or when the app chooses. If "
                "the app is closed then, they are sent within {later} after the app runs again."
            )
            yield text.format(length=duration(self.delivery_seconds, _), later=later)
        if True in modes:
            yield _(
                "With an issuer's blind token, no response is sent before a random time in the "
                "third quarter of its time slice. If you answer after that time, the response "
                "waits for a random part of a quarter."
            )
        if modes == {True} and self.background:
            text = _(
                "If the app is closed then, the response is sent within {later} after the app "
                "runs again, or when the app chooses."
            )
            yield text.format(later=later)


def _unusable(problem: str, _: Translate) -> str:
    text = _("Until this is resolved, nothing is drawn, stored or sent.")
    return f"{problem}. {text}" if problem else ""


def _shared(every: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the rows or texts that all questions share, to be shown once."""
    return [row for row in every[0] if all(row in rows for rows in every)] if every else []


def consent_lines(record: ConsentRecord, _: Translate = str) -> list[str]:
    """Return the lines on a decision: its time, its origin, the current consent; 80 columns."""
    meaning = _(MEANING[record.effective])
    if record.decided is Consent.UNSET and record.origin == DOUBTED:
        meaning = _(
            "you will be asked again, since this state may be a copy; nothing is drawn, "
            "stored or sent"
        )
    elif record.effective is Consent.UNSET and record.refused:
        meaning = _(MEANING[Consent.OFF])
    said = [f"{record.effective}: {meaning}"]
    if record.problem:
        said.append(_unusable(record.problem, _))
    elif record.effective is not record.decided:
        text = _(
            "The decision was {decided}, but DO_NOT_TRACK or DENIABLE_CONSENT in the environment "
            "limits it."
        )
        said.append(text.format(decided=record.decided))
    if record.decided is Consent.ON:
        what = ", ".join(map(printable, record.covers))
        what = what or _("nothing yet; the app has to ask")
        said.append(_("You agreed to: {what}.").format(what=what))
    if record.refused:
        what = ", ".join(map(printable, record.refused))
        said.append(_("You refused: {what}.").format(what=what))
    if record.since is not None and record.decided is not Consent.UNSET:
        text = _("Decided on {when}; origin: {origin}")
        said.append(text.format(when=instant_text(record.since), origin=record.origin))
    return text_of([(_("Consent"), said)], indent=0)
