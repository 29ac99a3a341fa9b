"""Which counts may be shown of a survey: the rule of ``minimum_reports``, in one place."""

from dataclasses import dataclass

from deniable.messages import Manifest
from deniable.stores.store import Store

__all__ = ["Figures", "shown_figures"]


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of one epoch, as they may be shown.

    Attributes:
        epoch: which.
        counts: how often each response was counted; at least one report in all.
    """

    epoch: int
    counts: list[int]


async def shown_figures(store: Store, manifest: Manifest, epoch: int | None) -> Figures | None:
    """Return the figures of an epoch, by default of the newest that has any.

    Args:
        store: where they are counted.
        manifest: the survey; others of the same name are never pooled with it.
        epoch: which, or None.

    Returns:
        None while too few reports have come.

    Raises:
        StoreError: if the store cannot be read.
    """
    shown = await store.newest_epoch(manifest.survey_id) if epoch is None else epoch
    if shown is None:
        return None
    counts = await store.counts(manifest.survey_id, shown, manifest.mechanism.responses)
    return Figures(shown, counts) if any(counts) else None
