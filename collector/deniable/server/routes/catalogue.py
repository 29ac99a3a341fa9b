"""The published surveys in the server's memory, read again when needed.

An unavailable database delays nobody: known surveys are served as last read. Only requests for
unknown surveys get the database's failure, since these surveys may have been published.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from time import monotonic
from typing import Final

from deniable.directory.collector_directory import running
from deniable.logs import TransparencyLogError
from deniable.messages import (
    Manifest,
    Refusal,
    follow_rotations,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.public_log.publish.public_log import PublicLog
from deniable.stores import Store, StoredLog, StoreError, Unreachable

_LOG = logging.getLogger("deniable.collector")

_SECONDS_BETWEEN_READS: Final = 1.0
_MOST_SECONDS: Final = 2.0
"""Seconds from the start of a read: no request waits longer if it can be answered without it."""


class Catalogue:
    """Surveys by id and by name, signed by the authority's keys.

    Another process may publish into the store while the server runs, so it is read again: at most
    once a second and one read at a time, whatever the requests.
    """

    def __init__(
        self,
        store: Store,
        authority: bytes,
        clock: Callable[[], float],
        public: Collection[str] = (),
    ) -> None:
        self._store = store
        self.chain: tuple[bytes, ...] = (authority,)  # the authority's keys, the current one last
        self.rotations: list[bytes] = []  # envelopes, oldest first
        self.log = PublicLog(StoredLog((), "", ""))
        self._unsound = self.log.stored  # the last text that was not a valid log
        self._clock = clock
        self._opened: dict[bytes, Manifest] = {}
        self._by_id: dict[bytes, Manifest] = {}
        self._by_name: dict[str, list[Manifest]] = {}
        self._names: dict[str, set[str]] = {}  # of the newest surveys with a question
        self._envelopes: dict[bytes, bytes] = {}
        self._ended: dict[bytes, int] = {}
        self._published: dict[bytes, int] = {}
        self._public = public
        self._read_last: tuple[list[bytes], tuple[bytes, ...]] | None = None
        self.changes = 0  # increases whenever the published data may have changed
        self._began_at = 0.0
        self._waited_until = 0.0
        self._reading: asyncio.Task[None] | None = None
        self._away = False

    async def read(self) -> None:
        """Read the store, or wait for the current read."""
        await asyncio.shield(self._begin())

    async def reread(self) -> None:
        """Read the store, unless a read began within the last second; return soon in any case."""
        reading = self._reading
        recently = abs(self._clock() - self._began_at) < _SECONDS_BETWEEN_READS
        if reading is None or (reading.done() and not recently):
            reading = self._begin()
        if not reading.done():
            # The deadline is the read's: later callers get the present content at once.
            await asyncio.wait({reading}, timeout=self._waited_until - monotonic())

    def check(self) -> None:
        """Return if an unknown survey is not published; raise if that cannot be determined."""
        if self._reading is None or not self._reading.done():
            raise Unreachable("the store does not respond")
        self._reading.result()

    def _begin(self) -> "asyncio.Task[None]":
        if self._reading is None or self._reading.done():
            self._began_at = self._clock()
            self._waited_until = monotonic() + _MOST_SECONDS
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._tell)
        return self._reading

    def _tell(self, reading: "asyncio.Task[None]") -> None:
        """Log the first of several consecutive failures."""
        error = None if reading.cancelled() else reading.exception()
        if error is not None and not self._away:
            reason = error if isinstance(error, StoreError) else type(error).__name__
            _LOG.error("still serving the surveys that were read earlier: %s", reason)
        self._away = error is not None

    async def _read(self) -> None:
        envelopes = await self._store.surveys()
        # After the surveys, so that every key that signed them is known.
        self._follow(await self._store.rotations())
        await self._read_log()
        self._published = await self._store.published_at()
        ended = await self._store.ended()
        if ended != self._ended:
            self._ended = ended
            self.changes += 1
        # Envelopes that could not be opened are tried again only with a different chain.
        if (envelopes, self.chain) == self._read_last:
            return
        by_name: dict[str, list[Manifest]] = {}
        for envelope in envelopes:
            manifest = await asyncio.to_thread(self._open, envelope)
            if manifest is not None:
                by_name.setdefault(manifest.name, []).append(manifest)
                self._by_id[manifest.survey_id] = manifest
                self._envelopes[manifest.survey_id] = envelope
        self._by_name, self._names = by_name, {}
        for name, (newest, *_) in by_name.items():
            self._names.setdefault(newest.question, set()).add(name)
        self.changes += 1
        self._read_last = envelopes, self.chain

    def _follow(self, rotations: list[bytes]) -> None:
        if rotations != self.rotations:
            try:
                self.chain = follow_rotations(self.chain[0], map(open_rotation, rotations))
                self.rotations = rotations
            except Refusal as refusal:
                _LOG.error("the stored rotations are not offered: %s", refusal)

    async def _read_log(self) -> None:
        """Read the public log's new entries, or all if it is not the same log as before."""
        known = self.log.stored
        for entries in (known.entries, ()) if known.entries else ((),):
            stored = await self._store.log(len(entries))
            stored = stored._replace(entries=entries + stored.entries)
            if stored in (known, self._unsound):
                return
            try:
                self.log = await asyncio.to_thread(PublicLog, stored)
            except TransparencyLogError as error:
                if not entries:
                    self._unsound = stored
                    _LOG.error("still serving the public log that was read earlier: %s", error)
            else:
                return

    def by_id(self, survey_id: bytes) -> Manifest | None:
        """Return the survey with this id, if it is published here."""
        return self._by_id.get(survey_id)

    def surely(self, survey_id: bytes) -> Manifest | None:
        """Return the survey with this id; StoreError if an unknown survey may be published."""
        survey = self.by_id(survey_id)
        if survey is None:
            self.check()
        return survey

    def named(self, name: str) -> list[Manifest]:
        """Return the surveys of this name, newest first."""
        return self._by_name.get(name, [])

    def running(self, name: str, now: float) -> list[Manifest]:
        """Return, newest first, the surveys of this name that are neither over nor ended."""
        return running(self.named(name), self._ended, now)

    def ended_at(self, manifest: Manifest) -> int | None:
        """Return the time at which a survey was ended, in Unix seconds; None if it was not."""
        return self._ended.get(manifest.survey_id)

    def published_at(self, manifest: Manifest) -> int | None:
        """Return the time at which a survey was published, in Unix seconds; None if unknown."""
        return self._published.get(manifest.survey_id)

    def is_public(self, name: str) -> bool:
        """Return whether anyone may read a name's figures."""
        return name in self._public

    def all(self) -> list[Manifest]:
        """Return every survey, by name and newest first."""
        return [manifest for _, named in sorted(self._by_name.items()) for manifest in named]

    def newest(self) -> list[Manifest]:
        """Return the newest survey of each name, by name."""
        return [manifests[0] for _, manifests in sorted(self._by_name.items())]

    def shares_question(self, manifest: Manifest) -> bool:
        """Return whether the newest survey of another name asks the same question."""
        return not self._names.get(manifest.question, set()) <= {manifest.name}

    def envelope(self, manifest: Manifest) -> bytes:
        """Return the signed bytes of a survey of this catalogue."""
        return self._envelopes[manifest.survey_id]

    def _open(self, envelope: bytes) -> Manifest | None:
        if envelope not in self._opened:
            try:
                self._opened[envelope], _ = open_manifest_of_chain(envelope, self.chain)
            except Refusal as refusal:
                _LOG.error("a stored survey is not offered: %s", refusal)
        return self._opened.get(envelope)
