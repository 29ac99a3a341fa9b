"""What may be shown of a survey's epoch, whoever vouched for its reports."""

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deniable.messages import Manifest
from deniable.stores.store import Store


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of one epoch, as they may be shown."""

    epoch: int
    counts: Mapping[int, int]  # how often each response was counted, of those that were
    distrusted: int  # how many of these reports issuers vouched for that are distrusted now
    seal: bytes | None = None  # the seal's digest, if these figures are final

    @property
    def reports(self) -> int:
        """Return how many reports they tell of, at least one."""
        return sum(self.counts.values())


async def shown_figures(store: Store, manifest: Manifest, epoch: int | None) -> Figures | None:
    """Return the figures of an epoch, by default of the newest that has any.

    None while too few reports have come. Manifests of the same name are never pooled.
    """
    shown = await store.newest_epoch(manifest.survey_id) if epoch is None else epoch
    if shown is None:
        return None
    # Before the counts: those that are read once there is a seal never change.
    seal = await store.standing_seal(manifest.survey_id, shown)
    by_issuer = await store.counts(manifest.survey_id, shown)
    if not by_issuer:
        return None
    distrusted = await store.distrusted()
    doubtful = sum(
        sum(vouched.values()) for issuer, vouched in by_issuer.items() if issuer in distrusted
    )
    # In a thread: there may be a million of each issuer.
    counts = await to_thread(_added_up, list(by_issuer.values()))
    return Figures(shown, counts, doubtful, None if seal is None else seal.digest)


def _added_up(counts: Sequence[Mapping[int, int]]) -> Mapping[int, int]:
    if len(counts) == 1:
        return counts[0]
    total: dict[int, int] = {}
    for each in counts:
        for response, reports in each.items():
            total[response] = total.get(response, 0) + reports
    return total
