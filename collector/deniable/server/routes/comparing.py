"""Comparisons: the two sides that a query names, and the counts of both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deniable.directory.store_source import shown_counts, shown_epochs
from deniable.messages import Manifest, Refusal, RefusalCode
from deniable.reading import (
    PREVIOUS,
    EpochCounts,
    ListedEpoch,
    ReadingError,
    TooFewReports,
    epoch_before,
    find_against,
    newest_closed_of,
)
from deniable.reading.wire import most_epochs
from deniable.server.routes.figures import FigureService, Subject
from deniable.server.routes.parameters import epochs_of

if TYPE_CHECKING:
    from aiohttp import web

    from deniable.estimates import Histogram


class NothingBefore(Refusal):
    """There are figures, but none before them to compare them with."""


@dataclass(slots=True)
class Sides:
    """The two sides of a comparison: a subject, and what it is compared with.

    Attributes:
        subject: both surveys, and the epochs of the first; None: its newest closed.
        epochs: of the other; None: its newest closed; or those before.
        before: how many of the counts that were read are of the other.
    """

    subject: Subject
    epochs: range | None
    previous: bool
    before: int = 0

    async def read(self, figures: FigureService) -> Sequence[EpochCounts]:
        """Return the counts of the other side, then of the subject; none, if either has none.

        Raises:
            Refusal: too-few-reports, if there is no epoch before.
        """
        ours, other = self.subject.surveys
        epochs, others = self.subject.epochs, self.epochs
        if epochs is None or self.previous:
            listed = await self._listed(figures, ours)
            epochs = epochs or _alone(newest_closed_of(listed, with_before=self.previous))
            if self.previous and epochs:
                try:
                    others = _alone(epoch_before(listed, epochs[0], ours))
                except TooFewReports as error:
                    raise NothingBefore(RefusalCode.TOO_FEW_REPORTS, str(error)) from error
        if others is None:
            others = _alone(newest_closed_of(await self._listed(figures, other)))
        if not epochs or not others:
            return ()
        now = figures.clock()
        before = await shown_counts(figures.store, other, others, now)
        counts = await shown_counts(figures.store, ours, epochs, now)
        self.before = len(before)
        return [*before, *counts] if before and counts else ()

    async def _listed(self, figures: FigureService, manifest: Manifest) -> Sequence[ListedEpoch]:
        most = most_epochs(manifest)
        return await shown_epochs(figures.store, manifest, figures.clock(), most)

    def histograms(
        self, counts: Sequence[EpochCounts], level: float
    ) -> "tuple[Histogram, Histogram]":
        """Return the histogram of the subject, and that of the other side."""
        from deniable.presenting import histogram_of

        ours, other = self.subject.surveys
        now = histogram_of(ours, counts[self.before :], level)
        return now, histogram_of(other, counts[: self.before], level)


def _alone(epoch: int | None) -> range | None:
    return None if epoch is None else range(epoch, epoch + 1)


async def asked_sides(
    figures: FigureService, request: "web.BaseRequest", subject: Subject
) -> Sides:
    """Return the sides of ``?epoch=`` and ``?against=``, by default the epoch before.

    Raises:
        Refusal: if there is no such survey, whoever asks may not see it, or has named no epochs.
    """
    manifest, text = subject.newest, request.query.get("against", PREVIOUS)
    try:
        other, epochs = find_against(text, manifest, figures.catalogue.named)
    except ReadingError:
        raise Refusal(
            RefusalCode.BAD_QUERY,
            "against must be previous, epochs such as 0-3, older, or a survey that is published",
        ) from None
    if other.name != manifest.name:
        await figures.queue(request, other.name)
    both = replace(subject, surveys=(manifest, other))
    if epochs in (None, PREVIOUS):
        return Sides(both, None, epochs is not None)
    return Sides(both, epochs_of("against", epochs, other, most_epochs(other)), False)
