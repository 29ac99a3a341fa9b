"""What an app can show its users about what it asks: figures, and text that needs no schooling."""

from dataclasses import dataclass
from typing import ClassVar

from deniable.budget import format_nano
from deniable.client.consent import Consent, ConsentRecord
from deniable.client.transparency.figures import Figures
from deniable.client.transparency.plain_text import (
    SAME_TIMES,
    counted,
    labelled,
    odds_of,
    printable,
    shown_duration,
    shown_time,
    times_likelier,
    wrapped,
)
from deniable.client.transparency.promise import Promise
from deniable.client.transparency.terms import Terms, beyond

__all__ = [
    "BudgetExplanation",
    "Explanation",
    "SurveyExplanation",
    "consent_lines",
]

_MOST_SHOWN = 12
_STAYS = (
    "Your answer stays on this device and is not stored. A response, drawn at random, which may or "
    "may not be your answer, "
)
_PERHAPS_VOUCHED = (
    "An issuer, as a rule the app's own backend, may be asked to vouch for this device. It then "
    "sees account and key together, and with the collector can tell which response came from which "
    "account."
)
_MEANING = {
    Consent.UNSET: "nobody has decided yet; nothing is drawn, stored or sent",
    Consent.OFF: "nothing is drawn, stored or sent",
    Consent.LOCAL: "responses are drawn and kept here for you to see, and never sent",
    Consent.ON: "responses are drawn and sent",
}


@dataclass(frozen=True, slots=True)
class BudgetExplanation(Figures):
    """What has been spent of the privacy budget, in units of 1e-9 epsilon.

    Attributes:
        spent: on all surveys, by every report decided, sent or not.
        carried: of it, by states of this device that are gone.
        reserved: what all accepted surveys may spend, what is carried included.
        lifetime: the most that may ever be reserved; None if only the app knows.
        recent: spent within the sliding period.
        recent_most: the most within it; None for no such ceiling, or if only the app knows.
        recent_days: its length in days of use.
    """

    _costs: ClassVar = ("spent", "carried", "reserved", "lifetime", "recent", "recent_most")

    spent: int = 0
    carried: int = 0
    reserved: int = 0
    lifetime: int | None = None
    recent: int = 0
    recent_most: int | None = None
    recent_days: int | None = None


@dataclass(frozen=True, slots=True)
class SurveyExplanation(Figures):
    """One survey, as its user should be told.

    Attributes:
        name: the survey's lasting name.
        question: what is asked.
        categories: every possible answer.
        collector: the origin to which reports go.
        promise: what the app holds every collector to, whatever it publishes; None if only the app
            knows.
        terms: today's, of the signed survey that is held, or that came with the app and would be
            taken up after consent; None if there is neither. They may change within the promise.
        standing: why nothing is reported at present: no survey is held, it has not begun, it is
            over; empty if it runs.
        reports: how many were decided under the name.
        spent, reserved: by them, and by all accepted surveys of the name, in units of 1e-9 epsilon;
            None if the state cannot be read.
        kept: whether any of the reports were of kept responses, by this survey or one before it.
            What is spent then covers other answers that equal each other in the same epochs.
        spent_any: what covers any other answers; None if nothing does, or the state cannot be read.
    """

    _costs: ClassVar = ("spent", "reserved", "spent_any")

    name: str
    question: str
    categories: tuple[str, ...]
    collector: str
    promise: Promise | None
    terms: Terms | None
    standing: str
    reports: int | None
    spent: int | None
    reserved: int | None
    kept: bool
    spent_any: int | None

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        lines = [*wrapped(self.question), *labelled("Name", self.name)]
        lines += labelled("Answers", _listed(self.categories))
        if self.promise is not None:
            lines += _paragraphs("Promise", self.promise.sentences())
            if self.promise.enrols and not (self.terms and self.terms.issuers):
                lines += labelled("Vouching", _PERHAPS_VOUCHED)
        terms = self.terms
        lines += self._present([] if terms is None else ["The terms below hold."])
        if terms is not None:
            lines += labelled("Protection", terms.guarantee)
            lines += labelled("Truth", terms.truthfulness)
            lines += labelled("How often", terms.schedule)
            lines += _paragraphs("Repetition", terms.repetition)
            lines += _paragraphs("Vouching", terms.vouching)
            lines += self._sent_lines(terms)
        return lines + self._spent_lines()

    def brief_lines(self) -> list[str]:
        """Return what somebody needs to know who is asked for consent, at 80 columns."""
        lines = [*wrapped(self.question), *labelled("Answers", _listed(self.categories))]
        promise, terms, said = self.promise, self.terms, []
        if promise is not None:
            lines += labelled("Promise", " ".join(promise.brief()))
            if promise.enrols:
                lines += labelled("Vouching", _PERHAPS_VOUCHED)
        if terms is not None:
            said = [terms.truthfulness, terms.schedule]
            if terms.range_epochs is not None:  # what is not protected belongs to the decision
                said += terms.repetition[:2]
            if terms.issuers:
                said.append("Only devices for which an issuer vouches can take part.")
        return lines + self._present(said)

    def _present(self, said: list[str]) -> list[str]:
        """Return what holds today, and that it may change."""
        said = [self.standing, *said] if self.standing else said
        if self.terms is not None and self.promise is not None and not self.promise.pinned:
            said = [*said, "It may change within the promise."]
        return labelled("At present", " ".join(said)) if said else []

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
        if self.spent:
            text += (
                f". All of them together are {times_likelier(odds_of(self.spent))} than with any "
                "other answers"
            )
        if self.spent != self.spent_any:
            text += f"{SAME_TIMES}; {beyond(self.spent_any)}"
        return labelled("Spent", f"{text}.")


@dataclass(frozen=True, slots=True)
class Explanation(Figures):
    """What this app may ask, on what terms, and what it has cost so far.

    ``str()`` gives plain text for a settings page, at 80 columns; ``brief()`` for a consent prompt.

    Attributes:
        consent: the user's decision, and what holds; None if the state cannot be read.
        problem: why the state cannot be read; empty if it can.
        surveys: what may be asked.
        budget: of all surveys together; None if the state cannot be read.
        background: whether reports are sent in the background, or when the app sends them; None if
            only the app knows.
        delivery_seconds: in the background, reports are sent at a random time within so many
            seconds; None if only the app knows.
        linkable_batches: whether several reports may share a request, which shows that they come
            from one device; None if only the app knows.
    """

    consent: ConsentRecord | None
    problem: str
    surveys: tuple[SurveyExplanation, ...]
    budget: BudgetExplanation | None
    background: bool | None = None
    delivery_seconds: int | None = None
    linkable_batches: bool | None = None

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
        whom = f"{', '.join(sorted({each.collector for each in self.surveys}))}, {self._when()}."
        if brief:
            return [
                *labelled("How it works", f"{_STAYS}is sent to {whom}", indent=0),
                *labelled(
                    "Not hidden", "That you take part, when, and your network address.", indent=0
                ),
            ]
        return [
            *labelled("How it works", f"{_STAYS}is all that is sent.", indent=0),
            *labelled(
                "To whom",
                f"By POST /v1/reports to {whom} What is being asked is fetched from there by GET "
                "/v1/surveys/NAME/manifests, and new keys of who signs it by GET /v1/authority.",
                indent=0,
            ),
            *labelled(
                "Not hidden",
                "That you take part, your network address and the time of sending: the network and "
                f"the collector see them.{self._batches()}",
                indent=0,
            ),
        ]

    def _when(self) -> str:
        if self.background is None or self.delivery_seconds is None:
            return "at a time that the app chooses"
        if not self.background:
            return "as soon as the app sends it"
        within = shown_duration(self.delivery_seconds)
        return f"at a random time within {within}, or when the app sends it"

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
            f"all questions together {format_nano(budget.spent)} is spent"
        )
        if budget.carried:
            text += f" ({format_nano(budget.carried)} of it by a lost state of this device)"
        text += f" and {format_nano(budget.reserved)} set aside"
        if budget.lifetime is not None:
            text += f"; more than {format_nano(budget.lifetime)} is never set aside"
        if budget.recent_most is not None:
            text += (
                f". In the last {budget.recent_days} days of use {format_nano(budget.recent)} of "
                f"at most {format_nano(budget.recent_most)} is spent"
            )
        if any(survey.kept for survey in self.surveys):
            text += f". Of kept responses, that covers other answers{SAME_TIMES}"
        return labelled("Budget", f"{text}.", indent=0)


def _paragraphs(label: str, sentences: tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    for sentence in sentences:
        lines += labelled("" if lines else label, sentence)
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


def _listed(categories: tuple[str, ...]) -> str:
    if len(categories) <= _MOST_SHOWN:
        return " / ".join(map(printable, categories))
    return f"{' / '.join(categories[:3])} / … / {categories[-1]} ({len(categories):,} in all)"


def _bytes(least: int, most: int) -> str:
    return counted(most, "byte") if least == most else f"{least:,} to {counted(most, 'byte')}"
