"""What may be shown of a survey's epoch, whoever vouched for its reports."""

from dataclasses import dataclass

from deniable.messages import Manifest
from deniable.stores.store import Store


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of one epoch, as they may be shown."""

    epoch: int
    counts: list[int]  # how often each response was counted; at least one report in all
    distrusted: int  # how many of these reports issuers vouched for that are distrusted now
    seal: bytes | None = None  # the seal's digest, if these figures are final


async def shown_figures(store: Store, manifest: Manifest, epoch: int | None) -> Figures | None:
    """Return the figures of an epoch, by default of the newest that has any.

    None while too few reports have come. Manifests of the same name are never pooled.
    """
    shown = await store.newest_epoch(manifest.survey_id) if epoch is None else epoch
    if shown is None:
        return None
    # Before the counts: those that are read once there is a seal never change.
    seal = await store.standing_seal(manifest.survey_id, shown)
    by_issuer = await store.counts(manifest.survey_id, shown, manifest.mechanism.responses)
    if not by_issuer:
        return None
    distrusted = await store.distrusted()
    return Figures(
        shown,
        [sum(column) for column in zip(*by_issuer.values(), strict=True)],
        sum(sum(row) for issuer, row in by_issuer.items() if issuer in distrusted),
        None if seal is None else seal.digest,
    )
