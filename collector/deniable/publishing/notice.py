"""The notice of a survey: what is collected and on which terms, in words that need no schooling.

It begins with the device's own summary. Each sentence is a message id of gettext, in English:
``deniable.terms.sentences.catalogue`` has them in other languages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable.budget import NANO
from deniable.documents import upper_text
from deniable.mechanisms import odds_text, promise_text
from deniable.messages import Manifest, day_text
from deniable.planning.words import survey_terms
from deniable.terms import pure_odds, whole_cost
from deniable.terms.sentences import Coalitions, Translate, summary

_MOST_SHOWN: Final = 12
_VAST: Final = 10**6


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


def privacy_terms(manifest: Manifest, *, relayed: bool) -> Iterator[tuple[str, str]]:
    """Yield the promises of a device to its user, as headings and texts.

    The collector may take reports only by way of a relay.
    """
    terms = survey_terms(manifest)
    yield "Randomised by", terms or manifest.kind.name.replace("-", " ")
    yield (
        "One report",
        f"Whatever is answered, {promise_text(pure_odds(manifest))}. {summary(manifest)[0]}",
    )
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    epochs = manifest.schedule.epochs
    yield (
        "Epsilon",
        f"{manifest.epsilon}{delta} a report; one device is charged "
        f"{upper_text(Fraction(whole_cost(manifest), NANO), 4)} at most, for "
        f"{f'all {epochs:,} epochs' if epochs > 1 else 'the one epoch'}.",
    )
    if manifest.repeat.epochs is not None:
        kept = "its response" if manifest.mechanism.rounds is None else "the first round"
        yield (
            "Repetition",
            f"A device keeps {kept} to an answer for {manifest.repeat.epochs} epochs, so that "
            "these share noise.",
        )
    issuers = len(manifest.enrolment.issuer_ids)
    yield (
        "Vouching",
        f"Only devices for which {'an issuer' if issuers == 1 else f'one of {issuers} issuers'} "
        "vouches."
        if issuers
        else "Nobody vouches that each report comes from another device.",
    )
    learnt = Coalitions.of(manifest.enrolment.mode, relayed=relayed)
    yield learnt.title, learnt.text(learnt.linking)


def _question(manifest: Manifest, _: Translate) -> Iterator[str]:
    answers = manifest.all_answers
    if len(answers) > _MOST_SHOWN:
        answers = (*answers[:3], "…", answers[-1])
    yield f"“{manifest.question}”"
    yield _("The answers are: {answers}.").format(answers=" / ".join(answers))
    start, end = (day_text(manifest.schedule.start), day_text(manifest.schedule.end))
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
        "With it go the numbers of the survey and the time slice, a key made for this report, and "
        "a signature: no name, no account, no number of your device."
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
                "times as likely with your answers as with any others."
            )
            yield text.format(count=f"{epochs:,}", odds=odds_text(together))


def _stop(_: Translate) -> Iterator[str]:
    yield _(
        "Say so in the app. From then on nothing is drawn or sent, and what still waits is erased."
    )
    yield _("What was sent bears nothing by which it could be found and withdrawn.")


def _plain(text: str) -> str:
    """Return a text that Markdown takes for text."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|&~" else c for c in text)
