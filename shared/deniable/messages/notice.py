"""The notice of a survey: what is collected and on which terms, in words that need no schooling.

Devices and collectors say the same. Each sentence is a message id of gettext, in English, which a
translation of the app's own may replace: ``xgettext`` finds them here, in ``coalitions``, and as
the ``likeness`` and ``sent`` of the kinds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from deniable.mechanisms import odds_text
from deniable.messages.coalitions import Coalitions, Translate
from deniable.messages.manifest import Manifest

_MOST_SHOWN: Final = 12
_VAST: Final = 10**6
_UNITS: Final = ((604_800, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"))


def summary(manifest: Manifest, translate: Translate = str) -> tuple[str, str, str]:
    """Return the notice in three lines: the dice, what a response says, and who decides."""
    return _dice(manifest, translate), _promise(manifest, translate), _consent(manifest, translate)


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice of one survey: three lines first, sentences under headings, and then a table."""

    title: str
    summary: tuple[str, str, str]
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    coalitions: Coalitions

    @classmethod
    def of(
        cls, manifest: Manifest, translate: Translate = str, *, relayed: bool = False
    ) -> "Notice":
        """Return the notice of a survey, in a language.

        Nothing in a survey tells whether its reports go through a relay.
        """
        title = translate("What {name} collects, in plain words").format(name=manifest.name)
        sections = (
            (translate("What is asked"), _question(manifest, translate)),
            (translate("What leaves your device"), _leaves(manifest, translate)),
            (translate("Who sees it"), _seen(manifest, relayed, translate)),
            (translate("What can be learnt"), _learnt(manifest, translate)),
            (translate("How to stop"), _stop(translate)),
        )
        sentences = tuple((heading, tuple(said)) for heading, said in sections)
        mode = manifest.enrolment.mode
        learnt = Coalitions.of(mode, relayed=relayed, translate=translate)
        return cls(title, summary(manifest, translate), sentences, learnt)

    def markdown(self) -> str:
        """Return the notice as Markdown, in which no text of the survey is markup."""
        lines = [f"# {_plain(self.title)}", "", *(f"- {_plain(line)}" for line in self.summary)]
        for heading, sentences in self.sections:
            lines += ["", f"## {_plain(heading)}", "", *(_plain(" ".join(sentences)),)]
        learnt = self.coalitions
        rows = [f"| {' | '.join(map(_plain, row))} |" for row in (learnt.heads, *learnt.rows)]
        lines += ["", f"## {_plain(learnt.title)}", "", rows[0], "|---|---|", *rows[1:]]
        lines += ["", _plain(learnt.condition)] * bool(learnt.condition)
        return "\n".join(lines) + "\n"


def _dice(manifest: Manifest, _: Translate) -> str:
    """Return how chance stands between an answer and what is sent."""
    mechanism, kind = manifest.mechanism, manifest.kind
    if mechanism.truth is not None:
        lies = _times(1 - mechanism.truth, _)
        if kind.symmetric:
            text = _(
                "About {lies}, dice choose another answer, and that is sent instead of yours; "
                "nobody can tell when."
            )
            return text.format(lies=lies)
        text = _(
            "Up to about {lies}, dice choose another answer, {likeness}, and that is sent instead "
            "of yours; nobody can tell when."
        )
        return text.format(lies=lies, likeness=_(kind.likeness))
    if mechanism.hit is None:
        text = _(
            "Dice choose which of {count} responses is sent: your answer makes some of them "
            "likelier and none impossible, so that nobody can tell it."
        )
        return text.format(count=f"{mechanism.responses:,}")
    sent, hit = _(kind.sent), _times(mechanism.hit, _)
    if mechanism.miss is None:
        text = _(
            "Dice choose what is sent: {sent}. Yours is among them about {hit}; nobody can tell "
            "when."
        )
        return text.format(sent=sent, hit=hit)
    text = _(
        "Dice choose what is sent: {sent}. Yours is among them about {hit}, any other about {miss};"
        " nobody can tell when."
    )
    return text.format(sent=sent, hit=hit, miss=_times(mechanism.miss, _))


def _promise(manifest: Manifest, _: Translate) -> str:
    """Return how much likelier a response is with the answer than with another."""
    odds = manifest.mechanism.privacy.odds
    assert odds is not None, "every mechanism of a survey is pure"
    if odds > _VAST:
        return _(
            "What is sent may be more than a million times likelier with your answer than with "
            "another: it hides nearly nothing."
        )
    text = _("What is sent is at most {odds} times likelier with your answer than with any other.")
    return text.format(odds=odds_text(odds))


def _consent(manifest: Manifest, _: Translate) -> str:
    """Return when a device reports, and that its user decides."""
    schedule = manifest.schedule
    if schedule.epochs == 1:
        return _("Nothing is sent unless you agree, and then only once; you can stop before.")
    text = _(
        "Nothing is sent unless you agree, and then at most one response in each {length}, {count} "
        "in all; you can stop at any time."
    )
    length = _length(schedule.epoch_seconds, _)
    return text.format(length=length, count=f"{schedule.epochs:,}")


def _question(manifest: Manifest, _: Translate) -> Iterator[str]:
    answers = manifest.all_answers
    if len(answers) > _MOST_SHOWN:
        answers = (*answers[:3], "…", answers[-1])
    yield f"“{manifest.question}”"
    yield _("The answers are: {answers}.").format(answers=" / ".join(answers))
    start, end = (_day(manifest.schedule.start), _day(manifest.schedule.end))
    text = (
        _("It is asked on {start} alone; an app may ask less often, or end earlier.")
        if start == end
        else _("It is asked from {start} to {end}; an app may ask less often, or end earlier.")
    )
    yield text.format(start=start, end=end)


def _leaves(manifest: Manifest, _: Translate) -> Iterator[str]:
    yield _(
        "One response at a time, which dice have chosen. Your answer itself is not stored, and "
        "nothing else about you is sent."
    )
    yield _(
        "With it go the survey's number, that of the time slice, a key that is made for this one "
        "report, and a signature: no name, no account, no number of your device."
    )
    if manifest.enrolment.mode == "blind":
        yield _("A token goes with them, too, which an issuer signed without seeing it.")
    elif manifest.enrolment.mode == "certificate":
        yield _("An issuer's signature of that key goes with them, too.")
    if manifest.repeat.epochs is not None:
        count = f"{manifest.repeat.epochs:,}"
        if manifest.mechanism.rounds is None:
            text = _(
                "The same answer gets the same response for {count} reports in a row, so that "
                "repeating it tells nothing more."
            )
        else:
            text = _(
                "What dice chose first for an answer is kept for {count} reports in a row, and "
                "each of them throws new dice on top, so that repeating it tells little more."
            )
        yield text.format(count=count)


def _seen(manifest: Manifest, relayed: bool, _: Translate) -> Iterator[str]:
    text = _("The collector at {origin} receives each response by itself.")
    yield text.format(origin=manifest.origin)
    if relayed:
        yield _(
            "It comes by way of a relay, which sees your network address and cannot read the "
            "response; the collector does not see the address."
        )
    if manifest.minimum_reports > 1:
        text = _("Others see estimates for all devices together, from {count} reports on.")
        yield text.format(count=f"{manifest.minimum_reports:,}")
    else:
        yield _("Others see estimates for all devices together.")
    if manifest.enrolment.mode != "open":
        yield _("An issuer, as a rule the maker of your app, vouches that you take part once.")
    if manifest.enrolment.mode == "blind":
        yield _("It does so by that token, and cannot tell whose report has it.")


def _learnt(manifest: Manifest, _: Translate) -> Iterator[str]:
    yield _("About how many devices gave which answer, and of yours no more than is said above.")
    mechanism, epochs = manifest.mechanism, manifest.schedule.epochs
    if manifest.repeat.epochs is not None:
        yield _("If your answer changes, another response may show that it did, and when.")
        if epochs > manifest.repeat.epochs:
            yield _("Later the dice are thrown anew: all responses together tell more than one.")
    elif epochs > 1 and mechanism.privacy.odds is not None:
        together = mechanism.privacy.odds**epochs if epochs < _VAST.bit_length() * 64 else None
        if together is None or together > _VAST:
            text = _("All {count} responses together may reveal your answer, if it stays the same.")
            yield text.format(count=f"{epochs:,}")
        else:
            text = _(
                "Several responses tell more than one: all {count} together are at most {odds} "
                "times likelier with your answers than with any others."
            )
            yield text.format(count=f"{epochs:,}", odds=odds_text(together))
    yield _("That you take part is not hidden.")


def _stop(_: Translate) -> Iterator[str]:
    yield _(
        "Say so in the app. From then on nothing is drawn or sent, and what still waits is erased."
    )
    yield _("What was sent bears nothing by which it could be found and taken back.")


def _times(share: Fraction, _: Translate) -> str:
    """Return a probability as a number of times in 10, 100, 1,000 and so on: within a tenth."""
    base = 10
    while base < _VAST:
        error = abs(Fraction(round(share * base), base) - share)
        if error * 10 <= min(share, 1 - share):
            break
        base *= 10
    count = round(share * base)
    return _("{count} times in {base}").format(count=f"{count:,}", base=f"{base:,}").strip()


def _length(seconds: int, _: Translate) -> str:
    """Return a length of time for "in each": "week", "2 weeks"."""
    for length, unit in _UNITS:
        if seconds % length == 0:
            count = seconds // length
            return _(unit) if count == 1 else f"{count:,} {_(f'{unit}s')}"
    return f"{seconds:,} {_('seconds')}"


def _day(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"Unix second {seconds:,}"


def _plain(text: str) -> str:
    """Return a text that Markdown takes for text."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|&~" else c for c in text)
