"""A source of figures: a collector's own directory."""

import asyncio
import math
import time
from asyncio import to_thread
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Any

from deniable.directory.authority_keys import authority_chain
from deniable.directory.collector_directory import check_store, signed_surveys
from deniable.directory.settings import Config
from deniable.messages import Manifest, Refusal, open_manifest
from deniable.messages.schedule import MAX_EPOCHS
from deniable.reading import EpochCounts, ListedEpoch, Source, added_up, alone
from deniable.reading.epochs import epoch_standing
from deniable.stores import Note, Store, open_store
from deniable.stores.rules import Result
from deniable.stores.values import Counts, Seal

if TYPE_CHECKING:
    from deniable.messages.bundle import Bundle


async def shown_epochs(
    store: Store, manifest: Manifest, now: float, most: int = MAX_EPOCHS
) -> list[ListedEpoch]:
    """Return the epochs that have figures or a seal, among this many newest ones."""
    survey_id, schedule = manifest.survey_id, manifest.schedule
    newest = await store.newest_epoch(survey_id)
    # Before the counts: counts read after a seal never change.
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
    """Return the epochs before ``first``, from the oldest with figures; if None, all of them.

    Some in between may have none: checking them would take long.
    """
    oldest = await store.oldest_epoch(manifest.survey_id)
    newest = await store.newest_epoch(manifest.survey_id)
    if oldest is None or newest is None:
        return range(0)
    return range(oldest, newest + 1 if first is None else first)


async def default_epoch(store: Store, manifest: Manifest, now: float) -> int | None:
    """Return the newest epoch with figures that is over; if none is over, the newest with figures.

    This is :func:`deniable.reading.newest_over`, but reads only as many epochs as needed.
    """
    survey_id, schedule = manifest.survey_id, manifest.schedule
    oldest, newest = await store.oldest_epoch(survey_id), await store.newest_epoch(survey_id)
    if oldest is None or newest is None:
        return None
    last_over = int((now - schedule.start) // schedule.epoch_seconds) - 1
    for epoch in range(min(newest, last_over), oldest - 1, -1):
        if await store.reports(survey_id, epoch):
            return epoch
    return newest


async def shown_counts(
    store: Store,
    manifest: Manifest,
    epochs: range | None,
    now: float,
    relayed_from: float = math.inf,
    hidden: Collection[str] = (),
) -> list[EpochCounts]:
    """Return the counts of the given epochs with figures; by default, of :func:`default_epoch`.

    Manifests of the same name are never pooled. From ``relayed_from`` on, reports are accepted only
    through relays; this is stated for epochs whose reports cannot have come before.
    """
    newest = await store.newest_epoch(manifest.survey_id)
    if newest is None:
        return []
    if epochs is None:
        epochs = alone(await default_epoch(store, manifest, now)) or range(0)
    chosen = (epoch for epoch in epochs if epoch <= newest)
    distrusted = await store.distrusted()
    figures = []
    for epoch in chosen:
        # Before the counts: counts read after a seal never change.
        seal = await store.standing_seal(manifest.survey_id, epoch)
        by_issuer = await store.counts(manifest.survey_id, epoch)
        if not by_issuer:
            continue
        doubtful = sum(
            sum(vouched.values()) for issuer, vouched in by_issuer.items() if issuer in distrusted
        )
        # In a thread: there may be a million for each issuer.
        counts = await to_thread(added_up, list(by_issuer.values()))
        whole = by_issuer if _is_whole(manifest, by_issuer, seal) else None
        standing = epoch_standing(
            manifest.schedule,
            epoch,
            now,
            None if seal is None else seal.digest if whole else b"",
        )
        relayed = relayed_from <= manifest.schedule.opens(epoch)
        about = manifest.survey_id, epoch, counts, doubtful, standing, whole, relayed, hidden
        figures.append(EpochCounts(*about))
    return figures


async def shown_seal(
    store: Store, manifest: Manifest, seal: Seal, shown_reports: int | None = None
) -> Seal:
    """Return a seal, with its digest only if everything that it covers may be shown.

    A few withheld counts could be found by hashing guesses.
    """
    survey_id, epoch = manifest.survey_id, seal.epoch
    if shown_reports is None:
        shown_reports = await store.reports(survey_id, epoch)
    whole = shown_reports == seal.reports
    if whole and len(manifest.enrolment.issuer_ids) > 1:
        whole = _is_whole(manifest, await store.counts(survey_id, epoch), seal)
    return seal if whole else replace(seal, digest=b"")


def _is_whole(manifest: Manifest, by_issuer: Counts, seal: Seal | None) -> bool:
    """Return whether figures may be split by issuer, and are all that the seal covers.

    An issuer's part is a figure, too: it needs the same minimum of reports.
    """
    parts = [sum(vouched.values()) for vouched in by_issuer.values()]
    least = max(1, manifest.minimum_reports)
    if seal is None or sum(parts) != seal.reports:
        return False
    return len(parts) == 1 or all(part >= least for part in parts)


class StoreSource(Source):
    """The store of a collector's directory; the server may be running.

    A thread runs the store's event loop, so that a notebook, which has its own, can use it.

    Raises:
        InvalidConfig: if there is no store.
        UnknownSchema: if another version of deniable wrote it.
        StoreError: if it cannot be opened.
    """

    def __init__(self, config: Config) -> None:
        check_store(config)
        self._config = config
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="deniable-store", daemon=True)
        self._thread.start()
        try:
            self._store = self._done(open_store(config.store))
        except BaseException:
            self._stop()
            raise

    def names(self) -> tuple[str, ...]:
        """Return the names of the surveys that the authority signed."""
        return tuple(dict.fromkeys(survey.name for survey in self._signed()[0]))

    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """Return all surveys of a name that the authority signed."""
        return tuple(survey for survey in self._signed()[0] if survey.name == name)

    def unsigned(self) -> int:
        """Return the number of stored surveys that the authority did not sign; none is listed."""
        return self._signed()[1]

    def ended(self, name: str) -> Mapping[bytes, int]:  # noqa: ARG002 - of all, more than asked
        """Return the ids of ended surveys."""
        return self._done(self._store.ended())

    def published(self, name: str) -> Mapping[bytes, int]:  # noqa: ARG002 - of all, likewise
        """Return the times at which surveys were published."""
        return self._done(self._store.published_at())

    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return the survey's issuers that are no longer trusted."""
        return self._done(self._store.distrusted()).intersection(manifest.enrolment.issuer_ids)

    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures or a seal."""
        return tuple(self._done(shown_epochs(self._store, manifest, time.time())))

    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return the counts that figures may show."""
        given = time.time(), self._config.relayed_from, self._config.hidden_texts
        return tuple(self._done(shown_counts(self._store, manifest, epochs, *given)))

    def counted(self, manifest: Manifest, epoch: int) -> int:
        """Return the reports of an epoch; the holder of the store may know them."""
        return self._done(self._store.counted(manifest.survey_id, epoch))

    def notes(self, name: str) -> tuple[Note, ...]:
        """Return the notes about the surveys of a name."""
        return tuple(self._done(self._store.notes(name)))

    def bundle(self, manifests: Sequence[Manifest]) -> "Bundle":
        """Return the bundle of an app."""
        # Reading figures needs no gateway and no log.
        from deniable.directory.gateway_file import read_gateway_file
        from deniable.messages.bundle import make_bundle
        from deniable.public_log.publish.public_log import PublicLog

        envelopes = self._done(self._store.surveys())
        signer = self._done(authority_chain(self._store, self._config.authority))[-1]
        signed = {}
        for envelope in envelopes:
            with suppress(Refusal):
                signed[open_manifest(envelope, signer).survey_id] = envelope
        gateway = None
        with suppress(FileNotFoundError):
            gateway = read_gateway_file(self._config.gateway_keys).signed
        log = PublicLog(self._done(self._store.log()))
        bundled = [signed[survey.survey_id] for survey in manifests]
        return make_bundle(
            bundled,
            signer,
            gateway,
            proofs=[log.proof(envelope) for envelope in bundled],
            gateway_proof=b"" if gateway is None else log.proof(gateway),
        )

    def close(self) -> None:
        """Close the store."""
        try:
            self._done(self._store.close())
        finally:
            self._stop()

    def _signed(self) -> tuple[list[Manifest], int]:
        return self._done(signed_surveys(self._store, self._config))

    def _done(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
