"""Seals that are overdue, and how far clocks may differ for epochs to be sealed at all."""

from collections.abc import Iterable
from typing import Final

from deniable.intake import Action, Due, due
from deniable.messages import Manifest
from deniable.stores import Store

AGREEMENT_SECONDS: Final = 60.0
"""By how much a collector's clock and its store's may differ."""
_OVERDUE_SECONDS: Final = 3_600.0


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
