"""The notice of a survey: the data collected and the terms, in words that need no schooling.

A device explains its surveys with the same sentences, from ``deniable.terms.sentences``, which also
has translations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from deniable.messages import Manifest
from deniable.terms.sentences import (
    Coalitions,
    Translate,
    learnt,
    leaves,
    period,
    possible_answers,
    seen,
    summary,
)
from deniable.terms.text import listed


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice of one survey: three lines, then sentences under headings, and a table."""

    title: str
    summary: tuple[str, str, str]
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    coalitions: Coalitions

    @classmethod
    def of(
        cls, manifest: Manifest, translate: Translate = str, *, relayed: bool = False
    ) -> "Notice":
        """Return the notice of a survey, in a language.

        A survey does not show whether its reports go through a relay.
        """
        title = translate("What {name} collects, in plain words").format(name=manifest.name)
        sections = (
            (translate("What is asked"), _question(manifest, translate)),
            (translate("What leaves your device"), leaves(manifest, translate)),
            (
                translate("Who sees it"),
                (*_way(manifest, relayed, translate), *seen(manifest, translate)),
            ),
            (translate("What can be learned"), learnt(manifest, translate)),
            (translate("How to stop"), _stop(translate)),
        )
        sentences = tuple((heading, tuple(said)) for heading, said in sections)
        mode = manifest.enrolment.mode
        learners = Coalitions.of(mode, relayed=relayed, translate=translate)
        return cls(title, summary(manifest, translate), sentences, learners)

    def markdown(self) -> str:
        """Return the notice as Markdown, in which no text of the survey is markup."""
        lines = [f"# {_plain(self.title)}", "", *(f"- {_plain(line)}" for line in self.summary)]
        for heading, sentences in self.sections:
            lines += ["", f"## {_plain(heading)}", "", *(_plain(" ".join(sentences)),)]
        table = self.coalitions
        rows = [f"| {' | '.join(map(_plain, row))} |" for row in (table.heads, *table.rows)]
        lines += ["", f"## {_plain(table.title)}", "", rows[0], "|---|---|", *rows[1:]]
        return "\n".join([*lines, "", _plain(table.condition)]) + "\n"


def _question(manifest: Manifest, _: Translate) -> Iterator[str]:
    yield f"“{manifest.question}”"
    answers = possible_answers(manifest.all_answers, _, texts=manifest.kind.texts)
    yield _("The answers are: {answers}.").format(answers=listed(answers))
    yield period(manifest, _)


def _way(manifest: Manifest, relayed: bool, _: Translate) -> Iterator[str]:
    text = _("The collector at {origin} receives each response separately.")
    yield text.format(origin=manifest.origin)
    if relayed:
        yield _(
            "The response passes through a relay, which sees your network address but cannot read "
            "the response; the collector does not see the address."
        )


def _stop(_: Translate) -> Iterator[str]:
    yield _(
        "Stop the survey in the app. From then on, nothing is drawn or sent, and waiting reports "
        "are erased."
    )
    yield _("Responses already sent do not show who sent them, so they cannot be withdrawn.")


def _plain(text: str) -> str:
    """Return a text escaped for Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|&~" else c for c in text)
