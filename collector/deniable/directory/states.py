"""States of published surveys, and the health of a collector: of its epochs and reports."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from deniable.documents import Fact
from deniable.intake import Action, Due, due
from deniable.messages import Manifest, Schedule
from deniable.reading import EpochCounts, EpochState, instant_text
from deniable.stores import Store

AGREEMENT_SECONDS: Final = 60.0
"""By how much a collector's clock and its store's may differ."""
_OVERDUE_SECONDS: Final = 3_600.0


def running(surveys: Iterable[Manifest], ended: Collection[bytes], now: float) -> list[Manifest]:
    """Return the surveys that devices may follow: neither over nor, by these ids, ended."""
    return [
        survey for survey in surveys if survey.survey_id not in ended and now < survey.schedule.end
    ]


def current(surveys: Iterable[Manifest]) -> list[Manifest]:
    """Return the first of each name: the newest, of surveys by name and the newest first."""
    newest: dict[str, Manifest] = {}
    for manifest in surveys:
        newest.setdefault(manifest.name, manifest)
    return list(newest.values())


def state_of(
    manifest: Manifest, surveys: Sequence[Manifest], ended: Collection[bytes], now: float
) -> str:
    """Return in a few words whether a survey is still to be answered.

    A survey supersedes those of the same name, question and categories. Apps that declare others go
    on with their own.
    """
    newest = max(
        survey.sequence for survey in surveys if _declaration(survey) == _declaration(manifest)
    )
    if newest > manifest.sequence:
        return f"superseded by {newest}"
    if manifest.survey_id in ended:
        return "ended"
    if now >= manifest.schedule.end:
        return "over"
    return "open" if now >= manifest.schedule.start else "not begun"


def _declaration(manifest: Manifest) -> tuple[object, ...]:
    return manifest.name, manifest.question, manifest.all_answers, manifest.dimensions


async def all_overdue(
    store: Store, surveys: Iterable[Manifest], now: float
) -> list[tuple[Manifest, Due]]:
    """Return which epochs of these surveys have a seal that is an hour late, or more."""
    ended, past = await store.ended(), now - _OVERDUE_SECONDS
    return [
        (survey, action)
        for survey in surveys
        if (ended_at := ended.get(survey.survey_id)) is None or ended_at <= past
        for action in due(
            survey,
            await store.seals(survey.survey_id),
            ended_at,
            await store.newest_counted(survey.survey_id),
            past,
        )
        if action.action in {Action.SEAL, Action.ASK}
    ]


def epoch_health(schedule: Schedule, epoch: EpochCounts) -> Iterator[Fact]:
    """Yield the state of an epoch."""
    state = epoch.standing.state
    yield Fact(f"epoch {epoch.epoch}", state.words)
    if state in {EpochState.OPEN, EpochState.GRACE}:
        yield Fact("late reports until", instant_text(schedule.closes(epoch.epoch)))


def collector_health(totals: Mapping[str, Mapping[tuple[str, ...], float]]) -> Iterator[Fact]:
    """Yield the reports since a collector started, of all surveys, by its meters and labels."""
    accepted, repeated, last = (
        sum(totals[name].values())
        for name in ("reports_accepted", "reports_duplicate", "last_report_timestamp_seconds")
    )
    refused = {code: n for (code,), n in totals["reports_refused"].items() if n}
    yield Fact("received", f"{accepted + repeated + sum(refused.values()):,.0f}")
    yield Fact("accepted", f"{accepted:,.0f}")
    if repeated:
        yield Fact("repeated", f"{repeated:,.0f}")
    for code, number in sorted(refused.items(), key=lambda item: -item[1]):
        yield Fact(f"refused: {code}", f"{number:,.0f}")
    yield Fact("last report", instant_text(last) if last else "none yet")
