"""What an app can show its users about what it asks: figures, and text that needs no schooling."""

from dataclasses import dataclass
from typing import Any

from deniable.budget import format_nano
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.transparency.plain_text import (
    counted,
    labelled,
    printable,
    shown_duration,
    shown_time,
    times_likelier,
    wrapped,
)
from deniable.client.transparency.terms import Terms

__all__ = [
    "BudgetExplanation",
    "Explanation",
    "SurveyExplanation",
    "consent_dict",
    "consent_lines",
]

_MOST_SHOWN = 12
_PERHAPS_VOUCHED = (
    "The survey may demand that an issuer vouches for this device. This app then asks one, its own "
    "backend as a rule, which sees account and key together, and when. With the collector it could "
    "tell which response came from which account; how little a response tells of an answer stays "
    "the same."
)
_MEANING = {
    Consent.UNSET: "nobody has decided yet; nothing is drawn, stored or sent",
    Consent.OFF: "nothing is drawn, stored or sent",
    Consent.LOCAL: "responses are drawn and kept here for you to see, and never sent",
    Consent.ON: "responses are drawn and sent",
}


@dataclass(frozen=True, slots=True)
class BudgetExplanation:
    """What has been spent of the privacy budget, in units of 1e-9 epsilon.

    Attributes:
        spent: on all surveys, by every report decided, sent or not.
        carried: what states of this device that were lost had reserved; it stays spent.
        reserved: what all accepted surveys may spend, what is carried included.
        lifetime: the most that may ever be reserved; None if only the app knows.
        recent: spent within the sliding period.
        recent_most: the most within it; None for no such ceiling, or if only the app knows.
        recent_days: its length in days of use.
    """

    spent: int = 0
    carried: int = 0
    reserved: int = 0
    lifetime: int | None = None
    recent: int = 0
    recent_most: int | None = None
    recent_days: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "spent_nano_epsilon": self.spent,
            "carried_nano_epsilon": self.carried,
            "reserved_nano_epsilon": self.reserved,
            "lifetime_nano_epsilon": self.lifetime,
            "recent_nano_epsilon": self.recent,
            "recent_most_nano_epsilon": self.recent_most,
            "recent_days": self.recent_days,
        }


@dataclass(frozen=True, slots=True)
class SurveyExplanation:
    """One survey, as its user should be told.

    Attributes:
        name: the survey's lasting name.
        question: what is asked.
        categories: every possible answer.
        collector: the origin to which reports go.
        terms: of the signed survey that is held, or that came with the app and would be taken up
            after consent; None if there is neither.
        standing: why nothing is reported at present: no survey is held, it has not begun, it is
            over; empty if it runs.
        accepts: the most that one report may cost, by the app's declaration; None if only the app
            knows.
        reports: how many were decided under the name.
        spent, reserved: by them, and by all accepted surveys of the name, in units of 1e-9 epsilon;
            None if the state cannot be read.
        ceiling: the most that may be reserved under the name; None for no such ceiling, or if only
            the app knows.
        pinned: whether the app accepts only surveys whose ids it was shipped with; None if only the
            app knows.
        kept: whether any of the reports were of kept responses, by this survey or one before it.
        enrols: whether the app asks an issuer to vouch for this device where a survey demands it;
            None if only the app knows.
    """

    name: str
    question: str
    categories: tuple[str, ...]
    collector: str
    terms: Terms | None
    standing: str
    accepts: int | None
    reports: int | None
    spent: int | None
    reserved: int | None
    ceiling: int | None
    pinned: bool | None
    kept: bool
    enrols: bool | None

    def to_dict(self) -> dict[str, Any]:
        """Return the survey for JSON."""
        return {
            "name": self.name,
            "question": self.question,
            "categories": list(self.categories),
            "collector": self.collector,
            "terms": None if self.terms is None else self.terms.to_dict(),
            "standing": self.standing,
            "accepts_nano_epsilon": self.accepts,
            "reports": self.reports,
            "spent_nano_epsilon": self.spent,
            "reserved_nano_epsilon": self.reserved,
            "ceiling_nano_epsilon": self.ceiling,
            "pinned": self.pinned,
            "kept": self.kept,
            "enrols": self.enrols,
        }

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        lines = [*wrapped(self.question), *labelled("Name", self.name)]
        lines += labelled("Answers", _listed(self.categories))
        terms = self.terms
        if terms is not None:
            lines += labelled("Protection", terms.guarantee)
            lines += labelled("Truth", terms.truthfulness)
            lines += labelled("How often", terms.schedule)
            for number, sentence in enumerate(terms.repetition):
                lines += labelled("" if number else "Repetition", sentence)
            lines += _vouching_lines(terms)
            lines += self._sent_lines(terms)
        elif self.accepts is not None:
            odds = times_likelier(self.accepts)
            lines += labelled(
                "Protection",
                "The app refuses whatever makes a response more than "
                f"{odds} times likelier than with any other answer.",
            )
        lines += self._perhaps_vouched()
        if self.pinned:
            lines += labelled("Pinned", "The app takes no survey but those that it was built for.")
        if self.standing:
            lines += labelled("At present", self.standing)
        return lines + self._spent_lines()

    def brief_lines(self) -> list[str]:
        """Return what somebody needs to know who is asked for consent, at 80 columns."""
        lines = [*wrapped(self.question), *labelled("Answers", _listed(self.categories))]
        if self.terms is None:
            lines += self._perhaps_vouched()
            return lines + (labelled("At present", self.standing) if self.standing else [])
        lines += labelled("Truth", self.terms.truthfulness)
        lines += labelled("How often", self.terms.schedule)
        # What is not protected belongs to the decision.
        for number, sentence in enumerate(self.terms.repetition[:2]):
            lines += labelled("" if number else "Repetition", sentence)
        return lines + _vouching_lines(self.terms)

    def _perhaps_vouched(self) -> list[str]:
        """Return what an issuer may learn, where nobody knows yet whether one is asked."""
        if self.terms is not None or not self.enrols:
            return []
        return labelled("Vouching", _PERHAPS_VOUCHED)

    def _sent_lines(self, terms: Terms) -> list[str]:
        size = _bytes(*terms.sent_bytes)
        lines = labelled("What is sent", f"One report of {size} to {self.collector}:")
        for part in terms.sent:
            line = f"{part.name}, {_bytes(part.least, part.most)}: {part.meaning}"
            lines += wrapped(line, first=" " * 16 + "- ")
        return lines

    def _spent_lines(self) -> list[str]:
        if self.spent is None or self.reserved is None or self.reports is None:
            return []
        text = (
            f"{counted(self.reports, 'report')} made, epsilon {format_nano(self.spent)} of the "
            f"{format_nano(self.reserved)} set aside for this question"
        )
        if self.ceiling is not None:
            text += f", which may never be more than {format_nano(self.ceiling)}"
        if self.spent:
            text += (
                f". All of them together are at most {times_likelier(self.spent)} times likelier "
                f"than with any other answers{self._at_the_same_times()}"
            )
        return labelled("Spent", f"{text}.")

    def _at_the_same_times(self) -> str:
        return " that change at the same times" if self.kept else ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What this app may ask, on what terms, and what it has cost so far.

    ``str()`` gives plain text for a settings page, at 80 columns; ``brief()`` for a consent prompt.

    Attributes:
        consent: the user's decision, and what holds; None if the state cannot be read.
        problem: why the state cannot be read; empty if it can.
        surveys: what may be asked.
        budget: of all surveys together; None if the state cannot be read.
        delivery_seconds: reports are sent at a random time within so many seconds; None if only the
            app knows.
        linkable_batches: whether several reports may share a request, which shows that they come
            from one device; None if only the app knows.
    """

    consent: ConsentRecord | None
    problem: str
    surveys: tuple[SurveyExplanation, ...]
    budget: BudgetExplanation | None
    delivery_seconds: int | None = None
    linkable_batches: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON; costs are in units of 1e-9 epsilon."""
        return {
            "consent": None if self.consent is None else consent_dict(self.consent),
            "problem": self.problem,
            "surveys": [survey.to_dict() for survey in self.surveys],
            "budget": None if self.budget is None else self.budget.to_dict(),
            "delivery_seconds": self.delivery_seconds,
            "linkable_batches": self.linkable_batches,
        }

    def brief(self) -> str:
        """Return plain text for a consent prompt, at 80 columns: a few lines a survey."""
        lines = [*self._problem_lines(), *self._in_general(brief=True)]
        for survey in self.surveys:
            lines += ["", *survey.brief_lines()]
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = []
        if self.consent is not None:
            lines += consent_lines(self.consent)
        lines += [*self._problem_lines(), *self._in_general()]
        for survey in self.surveys:
            lines += ["", *survey.lines()]
        return "\n".join([*lines, "", *self._budget_lines()]).rstrip("\n")

    def _problem_lines(self) -> list[str]:
        if not self.problem:
            return []
        return labelled(
            "Problem",
            f"{self.problem}. Until it can be used again, nothing is drawn, stored or sent.",
            indent=0,
        )

    def _in_general(self, *, brief: bool = False) -> list[str]:
        if not self.surveys:
            return labelled("Questions", "none so far", indent=0)
        whom = ", ".join(sorted({survey.collector for survey in self.surveys}))
        when = (
            "at a random later time"
            if self.delivery_seconds is None
            else f"at a random time within {shown_duration(self.delivery_seconds)}"
        )
        to_whom = (
            f"{whom}, by POST /v1/reports, {when}. What is being asked is fetched from there by "
            "GET /v1/surveys/NAME/manifest, and new keys of who signs it by GET /v1/authority."
        )
        return [
            *labelled(
                "How it works",
                "Your answer to a question never leaves this device and is not stored. A response "
                "is drawn at random, which may or may not be your answer, and only the response is "
                "sent.",
                indent=0,
            ),
            *labelled("To whom", f"{whom}, {when}." if brief else to_whom, indent=0),
            *labelled(
                "Not hidden",
                "That you take part, your network address and the time of sending: the network and "
                f"the collector see them.{self._batches()}",
                indent=0,
            ),
        ]

    def _batches(self) -> str:
        if self.linkable_batches is None:
            return ""
        if self.linkable_batches:
            return " Several reports may go together, which shows that they come from one device."
        return " Each report goes by itself, on a connection of its own."

    def _budget_lines(self) -> list[str]:
        budget = self.budget
        if budget is None:
            return []
        text = (
            "Each report costs some privacy; the measure is called epsilon, and costs add up. For "
            f"all questions together {format_nano(budget.spent)} is spent and "
            f"{format_nano(budget.reserved)} set aside"
        )
        if budget.carried:
            text += f", {format_nano(budget.carried)} of it by a lost state of this device"
        if budget.lifetime is not None:
            text += f"; more than {format_nano(budget.lifetime)} is never set aside"
        if budget.recent_most is not None:
            text += (
                f". In the last {budget.recent_days} days of use {format_nano(budget.recent)} of "
                f"at most {format_nano(budget.recent_most)} is spent"
            )
        return labelled("Budget", f"{text}.", indent=0)


def _vouching_lines(terms: Terms) -> list[str]:
    lines: list[str] = []
    for number, sentence in enumerate(terms.vouching):
        lines += labelled("" if number else "Vouching", sentence)
    return lines


def consent_lines(record: ConsentRecord) -> list[str]:
    """Return who decided what and when, and what holds now, at 80 columns."""
    lines = labelled("Consent", f"{record.effective}: {_MEANING[record.effective]}", indent=0)
    if record.effective is not record.decided:
        lines += labelled(
            "",
            f"The decision was {record.decided}; DO_NOT_TRACK or DENIABLE_CONSENT, set in the "
            "environment, lowers it.",
            indent=0,
        )
    if record.since is not None:
        whence = f"Decided on {shown_time(record.since)}; origin: {record.origin}"
        lines += labelled("", whence, indent=0)
    return lines


def consent_dict(record: ConsentRecord) -> dict[str, Any]:
    """Return a consent record for JSON."""
    return {
        "decided": record.decided.value,
        "effective": record.effective.value,
        "since": record.since,
        "origin": record.origin,
    }


def _listed(categories: tuple[str, ...]) -> str:
    if len(categories) <= _MOST_SHOWN:
        return " / ".join(map(printable, categories))
    return f"{' / '.join(categories[:3])} / … / {categories[-1]} ({len(categories):,} in all)"


def _bytes(least: int, most: int) -> str:
    return counted(most, "byte") if least == most else f"{least:,} to {counted(most, 'byte')}"
