"""The figures of a survey's epochs that may be shown, whoever vouched for their reports."""

import math
from asyncio import to_thread
from dataclasses import replace

from deniable.messages import MAX_EPOCHS, Manifest
from deniable.reading import EpochCounts, ListedEpoch, added_up
from deniable.reading.epochs import epoch_standing
from deniable.stores import Store
from deniable.stores.seals import Counts, Seal


async def shown_epochs(
    store: Store, manifest: Manifest, now: float, most: int = MAX_EPOCHS
) -> list[ListedEpoch]:
    """Return the epochs that have figures or a seal; of so many newest ones."""
    survey_id, schedule = manifest.survey_id, manifest.schedule
    newest = await store.newest_epoch(survey_id)
    # Before the counts: those that are read once there is a seal never change.
    seals = {seal.epoch: seal for seal in await store.seals(survey_id)}
    listed = []
    for epoch in sorted({*range(0 if newest is None else newest + 1), *seals})[-most:]:
        seal = seals.get(epoch)
        n = await store.reports(survey_id, epoch)
        if n or seal is not None:
            if seal is not None:
                seal = await shown_seal(store, manifest, seal, n)
            digest = None if seal is None else seal.digest
            state = epoch_standing(schedule, epoch, now, digest).state
            listed.append(ListedEpoch(epoch, n, state, seal))
    return listed


async def older_epochs(store: Store, manifest: Manifest, first: int | None) -> range:
    """Return the epochs before ``first``, from the oldest that has figures; if None, all of them.

    Some between may have none: it would take long to look.
    """
    oldest = await store.oldest_epoch(manifest.survey_id)
    newest = await store.newest_epoch(manifest.survey_id)
    if oldest is None or newest is None:
        return range(0)
    return range(oldest, newest + 1 if first is None else first)


async def shown_counts(
    store: Store,
    manifest: Manifest,
    epochs: range | None,
    now: float,
    relayed_from: float = math.inf,
) -> list[EpochCounts]:
    """Return the counts of those of the epochs that have figures; of the newest by default.

    Manifests of the same name are never pooled. Since ``relayed_from`` reports are taken only by
    way of relays, which is told of epochs none of whose reports can have come before.
    """
    newest = await store.newest_epoch(manifest.survey_id)
    if newest is None:
        return []
    chosen = range(newest, newest + 1) if epochs is None else (e for e in epochs if e <= newest)
    distrusted = await store.distrusted()
    figures = []
    for epoch in chosen:
        # Before the counts: those that are read once there is a seal never change.
        seal = await store.standing_seal(manifest.survey_id, epoch)
        by_issuer = await store.counts(manifest.survey_id, epoch)
        if not by_issuer:
            continue
        doubtful = sum(
            sum(vouched.values()) for issuer, vouched in by_issuer.items() if issuer in distrusted
        )
        # In a thread: there may be a million of each issuer.
        counts = await to_thread(added_up, list(by_issuer.values()))
        whole = by_issuer if _is_whole(manifest, by_issuer, seal) else None
        standing = epoch_standing(
            manifest.schedule,
            epoch,
            now,
            None if seal is None else seal.digest if whole else b"",
        )
        relayed = relayed_from <= manifest.schedule.opens(epoch)
        figures.append(
            EpochCounts(manifest.survey_id, epoch, counts, doubtful, standing, whole, relayed)
        )
    return figures


async def shown_seal(
    store: Store, manifest: Manifest, seal: Seal, shown_reports: int | None = None
) -> Seal:
    """Return a seal, with its digest only if all that it is over may be shown.

    Few counts that are held back could be searched for by hashing.
    """
    survey_id, epoch = manifest.survey_id, seal.epoch
    if shown_reports is None:
        shown_reports = await store.reports(survey_id, epoch)
    whole = shown_reports == seal.reports
    if whole and len(manifest.enrolment.issuer_ids) > 1:
        whole = _is_whole(manifest, await store.counts(survey_id, epoch), seal)
    return seal if whole else replace(seal, digest=b"")


def _is_whole(manifest: Manifest, by_issuer: Counts, seal: Seal | None) -> bool:
    """Tell whether figures may be told apart by issuer, and are all that the seal is over.

    An issuer's part is figures, too: it takes as many reports.
    """
    parts = [sum(vouched.values()) for vouched in by_issuer.values()]
    least = max(1, manifest.minimum_reports)
    if seal is None or sum(parts) != seal.reports:
        return False
    return len(parts) == 1 or all(part >= least for part in parts)
