"""A digest: the newest closed epoch of every survey, and what changed since the one before."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final

from deniable.documents import Document, Fact, Level
from deniable.documents.html import documents_page
from deniable.documents.terminal import documents_text
from deniable.estimates.comparison import compare
from deniable.estimates.histogram import Histogram
from deniable.estimates.rows import largest_shares
from deniable.estimates.surveys import SurveyFigures, Surveys
from deniable.messages import is_simulated
from deniable.reading import TooFewReports, appear_text, epoch_before, instant_text
from deniable.reading.epochs import epochs_text

_MOST: Final = 10
"""Of more answers the largest."""
_LEVELS: Final = tuple(Level)
_WIDTH: Final = 76
"""Of text: lines that mail programs leave as they are."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The epochs of all surveys that have closed since a day, in documents.

    Attributes:
        since: the day with whose begin, in UTC, it begins.
        documents: of surveys with a newly closed epoch, by name; of the others together; and then
            of rehearsals.
    """

    since: date
    documents: tuple[Document, ...]

    @property
    def title(self) -> str:
        """Return the title, for a subject line."""
        return f"Surveys since {self.since.isoformat()}"

    @property
    def text(self) -> str:
        """Return the documents as plain text, for the body of a mail."""
        return f"{self.title}\n\n{documents_text(self.documents, _WIDTH)}"

    @property
    def html(self) -> str:
        """Return the documents as a page without scripts, pictures, and what is elsewhere."""
        return documents_page(self.documents, self.title)


def digest_of(surveys: Surveys, since: date, *, level: float = 0.95) -> Digest:
    """Return the digest of all surveys since a day, UTC; the same data give the same."""
    begin = datetime(since.year, since.month, since.day, tzinfo=UTC).timestamp()
    fresh: list[Document] = []
    rehearsed: list[Document] = []
    quiet: list[str] = []
    for name in surveys:
        newest = surveys[name]
        documents = [_document(*closed, level) for closed in _closed(newest, begin)]
        (rehearsed if is_simulated(name) else fresh).extend(documents)
        if not documents:
            quiet.append(_nothing_new(newest))
    if quiet:
        fresh.append(Document(heading="Nothing new", notes=quiet))
    return Digest(since, (*fresh, *rehearsed))


def _closed(newest: SurveyFigures, begin: float) -> Iterator[tuple[SurveyFigures, int]]:
    """Yield the surveys of a name whose newest closed epoch closed since, with that epoch."""
    for survey in (newest, *newest.older):
        for epoch in survey.closed()[-1:]:
            closed = survey.manifest.schedule.closes(epoch.number)
            if epoch.seal is not None:  # perhaps before the time
                closed = min(closed, epoch.seal.sealed_at)
            if closed >= begin:
                yield survey, epoch.number


def _document(survey: SurveyFigures, epoch: int, level: float) -> Document:
    now = survey.histogram(epoch, level=level)
    many = now.values is None and len(now.categories) > _MOST
    document = now.document(top=_MOST if many else None, raw=False)
    try:
        earlier = epoch_before(survey.epochs(), epoch, survey.manifest)
    except TooFewReports as error:
        return replace(document, notes=[*document.notes, f"Not compared: {error}."])
    before = survey.histogram(earlier, level=level)
    changes = _comparison(now, before)
    return replace(
        document,
        facts=[*document.facts, Fact("compared", _place(before))],
        sentence=changes.sentence,
        tables=[*document.tables, *changes.tables],
        notes=[*dict.fromkeys((*document.notes, *changes.notes))],
        cautions=sorted(
            dict.fromkeys((*document.cautions, *changes.cautions)),
            key=lambda caution: _LEVELS.index(caution.level),
        ),
    )


def _comparison(now: Histogram, before: Histogram) -> Document:
    among = None
    if now.values is None and len(now.categories) > _MOST:
        largest = {*largest_shares((before, now), everywhere=True)[:_MOST]}
        among = [name for name in now.categories if name in largest]
    return compare(now, None, before, among).document()


def _place(histogram: Histogram) -> str:
    ended = "" if histogram.end is None else f", which ended {instant_text(histogram.end)}"
    return f"with {epochs_text(histogram.epochs)}{ended}: {histogram.n:,} reports"


def _nothing_new(survey: SurveyFigures) -> str:
    manifest = survey.manifest
    for epoch in survey.closed()[-1:]:
        end = instant_text(manifest.schedule.epoch_start(epoch.number + 1))
        return f"{manifest.name}: its newest closed epoch, {epoch.number}, ended {end}."
    return f"{manifest.name}: no closed epoch has figures; they {appear_text(manifest)}."
