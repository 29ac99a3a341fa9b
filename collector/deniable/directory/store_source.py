"""A collector read from its own directory, by the contract of every source of figures."""

import asyncio
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any

from deniable.directory.authority_keys import authority_chain
from deniable.directory.collector_directory import (
    Result,
    check_store,
    opened_surveys,
    stored_surveys,
)
from deniable.directory.epoch_figures import shown_counts, shown_epochs
from deniable.directory.gateway_file import read_gateway_file
from deniable.directory.settings import Config
from deniable.messages import Manifest, Refusal, open_manifest
from deniable.messages.bundle import Bundle, make_bundle
from deniable.public_log.publish import PublicLog
from deniable.reading import EpochCounts, ListedEpoch, Source
from deniable.stores import Note, open_store


class StoreSource(Source):
    """The store of a collector's directory; the server may be running.

    A thread runs the store's event loop, so that a notebook, which has one of its own, may ask.

    Raises:
        InvalidConfig: if there is no store.
        UnknownSchema: if another version of deniable wrote it.
        StoreError: if it cannot be opened.
    """

    def __init__(self, config: Config) -> None:
        check_store(config)
        self._config = config
        self._opened = lru_cache(maxsize=1)(opened_surveys)  # a notebook asks often
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
        """Return how many stored surveys the authority did not sign: they are not told of."""
        return self._signed()[1]

    def ended(self, name: str) -> Mapping[bytes, int]:  # noqa: ARG002 - of all, more than asked
        """Return the ids of ended surveys."""
        return self._done(self._store.ended())

    def distrusted(self, manifest: Manifest) -> frozenset[bytes]:
        """Return which of the survey's issuers are not trusted any more."""
        return self._done(self._store.distrusted()).intersection(manifest.enrolment.issuer_ids)

    def epochs(self, manifest: Manifest) -> tuple[ListedEpoch, ...]:
        """Return the epochs that have figures or a seal."""
        return tuple(self._done(shown_epochs(self._store, manifest, time.time())))

    def counts(self, manifest: Manifest, epochs: range | None = None) -> tuple[EpochCounts, ...]:
        """Return the counts that figures may show."""
        since = self._config.relayed_from
        return tuple(self._done(shown_counts(self._store, manifest, epochs, time.time(), since)))

    def notes(self, name: str) -> tuple[Note, ...]:
        """Return the notes about the surveys of a name."""
        return tuple(self._done(self._store.notes(name)))

    def bundle(self, manifests: Sequence[Manifest]) -> Bundle:
        """Return the bundle of an app."""
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

    def check_unmoved(self) -> None:
        """Raise StoreMoved if the store was moved away: what it holds may be out of date."""
        self._done(self._store.check_unmoved())

    def close(self) -> None:
        """Close the store."""
        try:
            self._done(self._store.close())
        finally:
            self._stop()

    def _signed(self) -> tuple[list[Manifest], int]:
        return self._opened(*self._done(stored_surveys(self._store, self._config)))

    def _done(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
